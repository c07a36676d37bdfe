// The turns, newest first, found by what they were; and one of them in time.

import { at, get, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { cost, count, milliseconds, moment, WITH_SECONDS } from "/page/format.js";
import { card, filters, line, ORIGINS, redrawn, table } from "/page/parts.js";

export const STATES = { ack: "answered", nack: "failed", aborted: "ended early", open: "at work" };

export async function show(root, place) {
  const [turn] = place.rest;
  if (!turn) {
    await list(root, place);
    return;
  }
  const module = await import("/page/views/turns/one.js");
  if (!place.signal.aborted) await module.show(root, { ...place, turn });
}

const FILTERS = [
  ["since", "From", "date"], ["until", "To", "date"], ["status", "Ended", Object.entries(STATES)], ["origin", "Began by", ORIGINS],
  ["pack", "Pack", "text"], ["person", "Person", "text"], ["model", "Model", "text"], ["session", "Session", "text"],
  ["reason", "Why it failed", "text"],
];

async function list(root, place) {
  const body = el("div");
  const wanted = Object.fromEntries([...FILTERS.map(([name]) => name), "older"].map((name) => [name, place.query.get(name) ?? ""]));
  const form = filters("Which turns", FILTERS, wanted, "#/turns");
  root.append(line(el("h2", {}, "Turns")), form, body);
  suggest(form);
  await place.follow(redrawn(body, () => get(`/api/turns${query(wanted)}`), (facts) => rows(facts, wanted)));
}

// What has been used lately may be meant; without it the fields are as good.
async function suggest(form) {
  const facts = await get("/api/usage?days=365").catch(() => null);
  if (!facts) return;
  const known = {
    pack: facts.by_pack.map((row) => row.pack), person: facts.by_person.map((row) => row.person),
    model: facts.by_model.map((row) => `${row.provider}/${row.model}`),
  };
  for (const [name, values] of Object.entries(known)) {
    form.append(el("datalist", { id: `known-${name}` }, ...values.filter(Boolean).map((value) => el("option", { value }))));
  }
}

function rows({ turns, older }, wanted) {
  const paged = line();
  if (wanted.older) paged.append(el("a", { href: `#/turns${query({ ...wanted, older: "" })}` }, "Newest"));
  if (older) paged.append(el("a", { href: `#/turns${query({ ...wanted, older })}` }, "Older"));
  return [card("", table("Turns", [
    ["Began", (turn) => el("a", { href: at`#/turns/${turn.id}` }, moment(turn.started_at, WITH_SECONDS)), "whole"],
    ["Ended", ended, "whole"],
    ["Pack", (turn) => turn.pack || "–", "name"],
    ["Person", (turn) => turn.person || "–", "whole"],
    ["By", (turn) => turn.origin || "–", "whole"],
    ["Model", (turn) => turn.models.join(", ") || "–", "name"],
    ["Took", (turn) => (turn.settled_at ? milliseconds(turn.ms) : "–"), "number"],
    ["Calls", told((turn) => count(turn.calls)), "number"],
    ["Tools", told((turn) => count(turn.tools)), "number"],
    ["In", told((turn) => count(turn.input_tokens)), "number"],
    ["Out", told((turn) => count(turn.output_tokens)), "number"],
    ["Cost", told((turn) => cost(turn.cost_usd, turn.unpriced_calls)), "number"],
  ], turns, "No turn is like that. Each message that the bot answers makes one.")), paged];
}

// What is not known of a turn off the record is not shown as none.
const told = (of) => (turn) => (turn.off_record ? "–" : of(turn));

function ended(turn) {
  const text = STATES[turn.status] ?? turn.status;
  if (turn.off_record) return el("span", { class: "muted" }, "off the record");
  return el("span", { class: turn.status === "nack" ? "problem" : null, title: turn.reason || null }, text);
}
