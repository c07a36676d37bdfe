// What a pack asks for, what it used of that, and what it was refused.

import { at, get } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, moment } from "/page/format.js";
import { card, redrawn, table } from "/page/parts.js";
import { excerpt, grants, isolated, turn } from "/page/views/security/parts.js";

export async function show(root, place) {
  const told = el("p", { role: "status", tabindex: "-1" });
  const body = el("div");
  root.append(told, body);
  const read = redrawn(body, () => get(at`/api/packs/${place.pack}/permissions`), (facts) => [
    card("Asked", el("div", { class: "quoted", dir: "auto" }, facts.card)),
    card("Used", table("Used tools", [
      ["Tool", (row) => isolated(row.tool)], ["Asked for", (row) => (row.asked ? "yes" : "no")],
      ["Done", (row) => count(row.done), "number"], ["Failed", (row) => count(row.failed), "number"],
      ["Refused", (row) => count(row.refused), "number"], ["Last", (row) => (row.last ? moment(row.last) : "never"), "whole"],
    ], facts.uses, "It asks for no tool, and called none.")),
    card("Refused", table("Refused calls", [
      ["Tool", (row) => isolated(row.tool)], ["Why", (row) => excerpt(row.reason), "words"],
      ["Times", (row) => count(row.times), "number"], ["Last", (row) => moment(row.last), "short"],
      ["In turn", (row) => turn(row.turn_id), "short"],
    ], facts.refusals, "No call was refused.")),
    card("Allowed for good", grants(facts.grants, told, () => place.follow(read))),
  ]);
  await place.follow(read);
}
