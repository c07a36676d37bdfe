// The turns, newest first, found by what they were; and one of them in time.

import { at, get, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, milliseconds, moment, money } from "/page/format.js";
import { card, line, table } from "/page/parts.js";

export const STATES = { ack: "answered", nack: "failed", aborted: "ended early", open: "at work" };
const ORIGINS = ["chat", "web", "cli", "command", "api", "cron", "heartbeat", "watch", "journal", "consolidate"];
const WITH_SECONDS = { dateStyle: "medium", timeStyle: "medium" };

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
  ["since", "From day", day], ["until", "To day", day],
  ["status", "Ended", (name) => select(name, Object.entries(STATES))],
  ["origin", "Began by", (name) => select(name, ORIGINS.map((origin) => [origin, origin]))],
  ["pack", "Pack", word], ["person", "Person", word], ["model", "Model", word],
  ["session", "Session", word], ["reason", "Why it has no answer", word],
];

function day(name) {
  return el("input", { type: "date", name });
}

function select(name, rows) {
  return el("select", { name }, el("option", { value: "" }, "all"),
    ...rows.map(([value, text]) => el("option", { value }, text)));
}

function word(name) {
  return el("input", { type: "text", name, maxlength: "300", autocomplete: "off", list: `known-${name}` });
}

async function list(root, place) {
  const body = el("div");
  root.append(line(el("h2", {}, "Turns")), filters(place), body);
  let shown = "";
  await place.follow(async () => {
    const wanted = Object.fromEntries([...FILTERS.map(([name]) => name), "older"].map((name) => [name, place.query.get(name) ?? ""]));
    const facts = await get(`/api/turns${query(wanted)}`);
    if (JSON.stringify(facts) === shown) return;  // what is read, or marked, stays as it is
    shown = JSON.stringify(facts);
    body.replaceChildren(...rows(facts, wanted));
  });
}

function filters(place) {
  const form = el("form", { class: "filters", "aria-label": "Which turns" });
  for (const [name, text, made] of FILTERS) {
    const field = made(name);
    field.value = place.query.get(name) ?? "";
    form.append(el("label", {}, el("span", {}, text), field));
  }
  form.append(el("button", { type: "submit", class: "main" }, "Show"), el("a", { href: "#/turns" }, "All turns"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#/turns${query(Object.fromEntries(new FormData(form)))}`;
  });
  suggest(form);
  return form;
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
  if (older) paged.append(el("a", { href: `#/turns${query({ ...wanted, older })}` }, "Older turns"));
  return [card("", table("Turns", [
    ["Began", (turn) => el("a", { href: at`#/turns/${turn.id}` }, moment(turn.started_at, WITH_SECONDS)), "whole"],
    ["Ended", ended, "whole"],
    ["Pack", (turn) => turn.pack || "–", "whole"],
    ["Person", (turn) => turn.person || "–", "whole"],
    ["By", (turn) => turn.origin || "–", "whole"],
    ["Model", (turn) => turn.models.join(", ") || "–", "name"],
    ["Took", (turn) => (turn.settled_at ? milliseconds(turn.ms) : "–"), "number"],
    ["Calls", (turn) => count(turn.calls), "number"],
    ["Tools", (turn) => count(turn.tools), "number"],
    ["In", (turn) => count(turn.input_tokens), "number"],
    ["Out", (turn) => count(turn.output_tokens), "number"],
    ["USD", (turn) => money(turn.cost_usd, 4), "number"],
  ], turns, "No turn is so. Each message that the bot answers makes one.")), paged];
}

function ended(turn) {
  const text = STATES[turn.status] ?? turn.status;
  if (turn.off_record) return el("span", { class: "muted" }, `${text}, off the record`);
  return el("span", { class: turn.status === "nack" ? "problem" : null, title: turn.reason || null }, text);
}
