// How the turns of some days fared: what /api/usage/turns says, as cards.

import { at } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, milliseconds, moment } from "/page/format.js";
import { card, figures, table } from "/page/parts.js";

export const triesCard = (tries) => card("Models that gave no answer", table("Models that gave no answer", [
  ["Model", (one) => one.failed], ["Why", (one) => one.why],
  ["Then", (one) => (one.failed === one.asked ? "asked again" : one.asked || "–")], ["Times", (one) => count(one.times), "number"],
], tries, "Each answered when it was first asked."));

export function turnCards(turns) {
  if (!turns.turns) return [];
  const perThousand = turns.edited_tokens ? (1000 * turns.edits) / turns.edited_tokens : 0;
  return [
    figures([
      ["Turns", count(turns.turns)], ["Failed", count(turns.failed)], ["Ended early", count(turns.aborted)],
      ["Taken up after a restart", count(turns.resumed)], ["Stale routes", count(turns.stale_routes)],
      ["Live edits", count(turns.edits)],
      ["per 1,000 tokens shown so", perThousand.toLocaleString("en", { maximumFractionDigits: 1 })],
    ]),
    card("Slowest turns, without waits for people", table("Slowest turns", [
      ["Began", (turn) => el("a", { href: at`#/turns/${turn.id}` }, moment(turn.started_at)), "whole"],
      ["Pack", (turn) => turn.pack || "–", "name"], ["Model", (turn) => turn.models.join(", ") || "–", "name"],
      ["Took", (turn) => milliseconds(turn.ms - turn.waited_ms), "number"],
    ], turns.slowest, "No turn has ended on these days.")),
    el("div", { class: "grid" }, triesCard(turns.tries),
    card("Tool calls that were refused", table("Tool calls that were refused", [
      ["Tool", (one) => one.tool], ["Pack", (one) => one.pack || "–"], ["By", (one) => one.judge || "–"],
      ["Why", (one) => one.reason || "–"], ["Times", (one) => count(one.times), "number"],
    ], turns.refused, "None was refused."))),
  ];
}
