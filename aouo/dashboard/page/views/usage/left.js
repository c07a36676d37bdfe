// What is left of each limit, as bars with numbers.

import { el } from "/page/dom.js";
import { count, money } from "/page/format.js";
import { card, person, table } from "/page/parts.js";

const OF = {
  day: () => ["Everybody, today"], pack: (name) => [`Pack ${name}, today`], person: (name, people) => ["Person ", person(people, name), ", today"],
  session: (name) => [`Session ${name}`], origin: (name) => [`${ORIGINS[name] ?? name}, today`],
};
const ORIGINS = { heartbeat: "Heartbeat", journal: "Journal", consolidate: "Memory at work" };
const UNITS = { tokens: (number) => `${count(Math.round(number))} tokens`, usd: (number) => money(number) };

export function leftCard({ limits }, people) {
  return card("What is left", table("What is left", [
    ["Limit", (one) => el("span", {}, ...OF[one.of](one.name, people), " ", el("span", { class: "muted" }, one.key)), "told"],
    ["Used", (one) => el("span", {}, bar(one), ` ${UNITS[one.unit](one.used)} of ${UNITS[one.unit](one.cap)}${
      one.reserved ? `, ${UNITS[one.unit](one.reserved)} at work` : ""}`), "told"],
    ["Left", (one) => (one.left ? UNITS[one.unit](one.left) : el("strong", { class: "problem" }, ends(one))), "number"],
  ], limits, "No limit is set. `aouo config set budgets.daily_usd 5` sets one in money, `advanced.daily_tokens_max` one in tokens."));
}

const ends = (one) => (one.of === "session" ? "goes on in a fresh one" : "used up until midnight");

const bar = (one) => el("progress", {
  max: 1, value: Math.min(1, (one.used + one.reserved) / one.cap), "aria-label": `${Math.round(100 * (one.used + one.reserved) / one.cap)} % used`,
});
