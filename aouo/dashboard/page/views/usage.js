// What was used and what it cost.

import { get } from "/page/api.js";
import { bars } from "/page/bars.js";
import { el } from "/page/dom.js";
import { count, money } from "/page/format.js";
import { card, choices, figures, line, table } from "/page/parts.js";

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
const chosen = { days: 7, measure: "cost" };

export async function show(root, place) {
  const head = line();
  const body = el("div");
  root.append(head, body);
  let facts = null;

  function draw() {
    head.replaceChildren(el("h2", {}, "Usage"),
      choices("Time range", RANGES, chosen.days, (days) => { chosen.days = days; draw(); place.follow(read); }),
      choices("What the picture shows", Object.entries(MEASURES).map(([key, [text]]) => [key, text]), chosen.measure,
        (measure) => { chosen.measure = measure; draw(); }));
    if (facts) body.replaceChildren(...parts(facts));
  }

  async function read() {
    const { days } = chosen;
    const found = await get(`/api/usage?days=${days}`);
    if (days !== chosen.days) return;  // another range was chosen meanwhile
    facts = found;
    draw();
  }

  draw();
  await place.follow(read);
}

function parts(facts) {
  const { totals } = facts;
  const [name, of, told] = MEASURES[chosen.measure];
  return [
    figures([
      ["Money", money(totals.cost_usd)], ["Calls", count(totals.calls)],
      ["Tokens in", count(totals.input_tokens)], ["of them cached", count(totals.cached_tokens)],
      ["Tokens out", count(totals.output_tokens)],
    ]),
    el("figure", {}, bars(`${name} by day`, facts.days, facts.by_day, of, told)),
    el("div", { class: "grid" }, ...TABLES.filter(([key]) => facts[key].length).map(([key, title, named]) =>
      card(title, table(title, [
        ["", named], ["Calls", (row) => count(row.calls), "number"],
        ["In", (row) => count(row.input_tokens), "number"], ["Cached", (row) => count(row.cached_tokens), "number"],
        ["Out", (row) => count(row.output_tokens), "number"], ["USD", (row) => money(row.cost_usd, 4), "number"],
      ], facts[key])))),
  ];
}
