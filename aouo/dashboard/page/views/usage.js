// What was used and what it cost, what is left of the limits, and what everything costs.

import { get, query } from "/page/api.js";
import { bars, before, today } from "/page/bars.js";
import { el } from "/page/dom.js";
import { count, money } from "/page/format.js";
import { card, choices, costCell, figures, line, person, redrawn, table } from "/page/parts.js";
import { turnCards } from "/page/views/usage/turns.js";
import { pricesCard } from "/page/views/usage/prices.js";
import { leftCard } from "/page/views/usage/left.js";

const RANGES = [["1", "Today"], ["7", "7 days"], ["30", "30 days"], ["365", "A year"]];
const MEASURES = {
  cost: ["Money", (row) => row.cost_usd, money],
  tokens: ["Tokens", (row) => row.input_tokens + row.output_tokens, count],
};
const TABLES = [
  ["by_pack", "By pack", (row) => row.pack, "no pack"],
  ["by_model", "By model", (row) => `${row.provider} ${row.model}`, ""],
  ["by_person", "By person", (row) => row.person, "nobody", person],
  ["by_scope", "By use", (row) => row.scope, ""],
];
let measure = "cost";

// The address says the range: #/usage?days=30, or #/usage?from=2026-01-01&to=2026-01-31.
export async function show(root, place) {
  const range = rangeOf(place.query);
  const body = el("div");
  let facts = null;

  function draw() {
    root.replaceChildren(line(el("h2", {}, "Usage"), choices("Time range", RANGES, range.days, (days) => { location.hash = `#/usage?days=${days}`; })),
      line(between(range), choices("What the picture shows", Object.entries(MEASURES).map(([key, [text]]) => [key, text]), measure,
        (chosen) => { measure = chosen; draw(); pressed(root, MEASURES[chosen][0])?.focus(); })), body);
    if (facts) body.replaceChildren(...parts(facts, range));
  }

  draw();
  await place.follow(redrawn(body, async () => {
    const [used, prices, left, turns, people] = await Promise.all([
      get(`/api/usage${query(range)}`), get(`/api/usage/prices${query(range)}`), get("/api/usage/left"),
      get(`/api/usage/turns${query(range)}`), get("/api/people")]);
    facts = { used, prices, left, turns, people };
    return facts;
  }, () => parts(facts, range)));
}

const pressed = (root, text) => [...root.querySelectorAll("button[aria-pressed=true]")].find((button) => button.textContent === text);

function rangeOf(asked) {
  const [from, to] = [asked.get("from"), asked.get("to")];
  return from || to ? { from: from ?? "", to: to ?? "" } : { days: asked.get("days") ?? "7" };
}

function between({ days, from, to }) {
  const [first, last] = [el("input", { type: "date", value: from ?? before(today(), (Number(days) || 1) - 1), required: true, "aria-label": "First day" }),
    el("input", { type: "date", value: to ?? today(), required: true, "aria-label": "Last day" })];
  return el("form", { class: "line", onsubmit: (event) => {
    event.preventDefault();
    location.hash = `#/usage${query({ from: first.value, to: last.value })}`;
  } }, el("span", {}, "From"), first, el("span", {}, "to"), last, el("button", { type: "submit" }, "Show"));
}

function unpricedOf(prices, key, name, row) {
  if (key !== "by_model") return prices.unpriced[key]?.[name] ?? 0;
  return prices.prices.filter((one) => one.provider === row.provider && one.name === row.model)
    .reduce((sum, one) => sum + one.unpriced_calls, 0);
}

function parts({ used, prices, left, turns, people }, range) {
  const { totals } = used;
  const unpriced = prices.unpriced.totals ?? 0;
  if (!totals.calls) return [el("p", { class: "empty" }, "Nothing was used on these days. A message to the bot is the first that shows here."), leftCard(left, people), pricesCard(prices)];
  const [name, of, told] = MEASURES[measure];
  const [first, last] = daysOf(used, range);
  return [
    figures([
      ["Money", unpriced && !totals.cost_usd ? "not known" : money(totals.cost_usd)],
      ...(unpriced ? [["Calls without a known price", count(unpriced)]] : []), ["Model calls", count(totals.calls)],
      ["Tokens in", count(totals.input_tokens)], ["of them cached", count(totals.cached_tokens)],
      ["Tokens out", count(totals.output_tokens)],
    ]),
    el("figure", {}, bars(`${name} by day`, first, last, used.by_day, of, told)),
    exports(range),
    el("div", { class: "grid" }, ...TABLES.filter(([key]) => used[key].length).map(([key, title, named, none, shown = (_, name) => name]) =>
      card(title, table(title, [
        [title[3].toUpperCase() + title.slice(4), (row) => (named(row) ? shown(people, named(row)) : none)],
        ["Cost", (row) => costCell(row.cost_usd, unpricedOf(prices, key, named(row), row)), "number"], ["Model calls", (row) => count(row.calls), "number"],
        ["In", (row) => count(row.input_tokens), "number"], ["Cached", (row) => count(row.cached_tokens), "number"],
        ["Out", (row) => count(row.output_tokens), "number"],
      ], used[key])))),
    leftCard(left, people),
    ...turnCards(turns),
    pricesCard(prices),
  ];
}

function daysOf(used, { days, from, to }) {
  if (from) return [from, to];
  const last = [today(), ...used.by_day.map((row) => row.day)].sort().pop();
  const first = before(today(), Number(days) - 1);
  return [used.by_day.length && used.by_day[0].day < first ? used.by_day[0].day : first, last];
}

function exports(range) {
  const link = (format) => el("a", { href: `/api/usage/export${query({ ...range, format })}`, download: "" }, format.toUpperCase());
  return el("p", {}, "Save these rows as ", link("csv"), " or ", link("json"), ".");
}
