// The turns, newest first, found by what they were; and one of them in time.

import { at, get, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, milliseconds, moment, WITH_SECONDS } from "/page/format.js";
import { card, costCell, filters, line, ORIGINS, person, redrawn, table } from "/page/parts.js";

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
  await place.follow(redrawn(body, async () => {
    const [found, people] = await Promise.all([get(`/api/turns${query(wanted)}`), get("/api/people")]);
    return { ...found, people };
  }, (facts) => rows(facts, wanted)));
}

// What has been used lately may be meant; without it the fields are as good.
async function suggest(form) {
  const [facts, people] = await Promise.all([get("/api/usage?days=365"), get("/api/people")]).catch(() => []);
  if (!facts) return;
  const known = {
    pack: facts.by_pack.map((row) => row.pack), person: facts.by_person.map((row) => row.person),
    model: facts.by_model.map((row) => `${row.provider}/${row.model}`),
  };
  for (const [name, values] of Object.entries(known)) {
    form.append(el("datalist", { id: `known-${name}` }, ...values.filter(Boolean).map((value) =>
      el("option", { value }, name === "person" ? person(people, value).textContent : ""))));
  }
}

function rows({ turns, older, people }, wanted) {
  const paged = line();
  if (wanted.older) paged.append(el("a", { href: `#/turns${query({ ...wanted, older: "" })}` }, "Newest"));
  if (older) paged.append(el("a", { href: `#/turns${query({ ...wanted, older })}` }, "Older"));
  return [card("", table("Turns", [
    ["Began", (turn) => el("a", { href: at`#/turns/${turn.id}` }, moment(turn.started_at, WITH_SECONDS)), "whole narrow"],
    ["Cost", told((turn) => costCell(turn.cost_usd, turn.unpriced_calls)), "number"],
    ["Words", told((turn) => el("bdi", {}, turn.wrote || "–")), "told"],
    ["Ended", ended, "whole"],
    ["Pack", (turn) => turn.pack || "–", "whole"],
    ["Person", (turn) => (turn.person ? person(people, turn.person) : "–"), "short lesser"],
    ["By", (turn) => turn.origin || "–", "whole lesser"],
    ["Model", (turn) => turn.models.join(", ") || "–", "name lesser"],
    ["Took", (turn) => (turn.settled_at ? milliseconds(turn.ms) : "–"), "number lesser"],
    ["Model calls", told((turn) => count(turn.calls)), "number lesser"],
    ["Tools", told((turn) => count(turn.tools)), "number lesser"],
    ["In", told((turn) => count(turn.input_tokens)), "number lesser"],
    ["Out", told((turn) => count(turn.output_tokens)), "number lesser"],
  ], turns, "No turn is like that. Each message that the bot answers makes one.")), paged];
}

// What is not known of a turn off the record is not shown as none.
const told = (of) => (turn) => (turn.off_record ? "–" : of(turn));

function ended(turn) {
  const text = STATES[turn.status] ?? turn.status;
  if (turn.off_record) return el("span", { class: "muted" }, "off the record");
  return el("span", { class: turn.status === "nack" ? "problem" : null, title: turn.reason || null }, text);
}
