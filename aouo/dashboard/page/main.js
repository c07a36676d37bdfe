// Shows what was used, and reads it anew while somebody looks.

import { $, el } from "/page/dom.js";
import { bars } from "/page/bars.js";

const RANGES = [[1, "Today"], [7, "7 days"], [30, "30 days"], [365, "A year"]];
const MEASURES = {
  cost: ["Money", (row) => row.cost_usd, money],
  tokens: ["Tokens", (row) => row.input_tokens + row.output_tokens, count],
};
const TABLES = [
  ["by_pack", "By pack", (row) => row.pack || "no pack"],
  ["by_model", "By model", (row) => `${row.provider} ${row.model}`],
  ["by_person", "By person", (row) => row.person || "nobody"],
  ["by_scope", "By use", (row) => row.scope],
];
const EVERY_MS = 5000;
const chosen = { days: 7, measure: "cost" };
let facts = null;

function money(usd, digits = usd && Math.abs(usd) < 1 ? 4 : 2) {
  return `$${usd.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function count(number) {
  return number.toLocaleString("en");
}

function choices(group, rows, name) {
  group.replaceChildren(...rows.map(([value, text]) => el("button", {
    type: "button", "aria-pressed": String(chosen[name] === value),
    onclick: () => { chosen[name] = value; show(); read(); },
  }, text)));
}

function show() {
  choices($("ranges"), RANGES, "days");
  choices($("measures"), Object.entries(MEASURES).map(([key, [text]]) => [key, text]), "measure");
  if (!facts) return;
  const { totals } = facts;
  $("totals").replaceChildren(...[
    ["Money", money(totals.cost_usd)], ["Calls", count(totals.calls)],
    ["Tokens in", count(totals.input_tokens)], ["of them cached", count(totals.cached_tokens)],
    ["Tokens out", count(totals.output_tokens)],
  ].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  const [name, of, told] = MEASURES[chosen.measure];
  $("picture").replaceChildren(bars(`${name} by day`, facts.days, facts.by_day, of, told));
  $("tables").replaceChildren(...TABLES.filter(([key]) => facts[key].length).map(
    ([key, title, named]) => table(title, facts[key], named)));
}

function table(title, rows, named) {
  const heads = ["", "Calls", "In", "Cached", "Out", "USD"];
  return el("div", { class: "table" }, el("h3", {}, title), el("table", { "aria-label": title },
    el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...[
      named(row), count(row.calls), count(row.input_tokens), count(row.cached_tokens),
      count(row.output_tokens), money(row.cost_usd, 4),
    ].map((text) => el("td", {}, text)))))));
}

async function asked(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  const told = await response.json();
  if (!response.ok && !("ok" in told)) throw new Error(told.error);
  return told;
}

async function read() {
  const { days } = chosen;
  try {
    const found = await asked(`/api/usage?days=${days}`);
    if (days !== chosen.days) return;  // another range was chosen meanwhile
    facts = found;
    $("problem").hidden = true;
    const health = await asked("/healthz");
    $("state").textContent = health.ok ? "running, and well" : health.reasons.join(" ");
  } catch (error) {
    $("problem").textContent = error instanceof TypeError ? "aouo does not answer. Trying again…" : error.message;
    $("problem").hidden = false;
  }
  show();
}

async function follow() {
  for (;;) {
    if (!document.hidden) await read();
    await new Promise((resolve) => { setTimeout(resolve, EVERY_MS); });
  }
}

show();
follow();
