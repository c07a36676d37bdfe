// What waits for the owner, what tools did, what is allowed, and when nothing was kept.

import { at, get, inWords, post, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, moment, WITH_SECONDS } from "/page/format.js";
import { card, filters, line, ORIGINS, redrawn, table, tabs } from "/page/parts.js";
import { excerpt, grants, isolated, turn } from "/page/views/security/parts.js";

// The parts in their order; a part draws itself from what its address answers.
const PARTS = [
  ["approvals", "Waiting", waiting], ["audit", "Audit", audit], ["allowed", "Fence and grants", allowed],
  ["packs", "Packs", packs], ["off", "Off the record", off],
];

const NONE = "Nothing waits. What a tool may do only with your yes, and what people are asked, stands here until it is answered.";

export async function show(root, place) {
  const [part = PARTS[0][0]] = place.rest;
  const body = el("div");
  root.append(line(el("h2", {}, "Security")),
    tabs("Parts of Security", PARTS.map(([name, text]) => [`#/security/${name}`, text]), `#/security/${part}`), body);
  const found = PARTS.find(([name]) => name === part);
  if (found) await found[2](body, place);
  else body.append(el("p", {}, "There is no such part."));
}

// Draws what waits for an answer; `none` is said where nothing does.
export async function waiting(root, place, none = NONE) {
  const told = el("p", { role: "status", tabindex: "-1" });
  const list = el("div");
  root.append(told, list);
  const read = redrawn(list, () => get("/api/approvals"), (facts) => [
    ...facts.open.map((one) => question(one, async (answer) => {
      try {
        const { outcome } = await post(at`/api/approvals/${one.id}`, answer);
        told.textContent = `Decided: ${outcome}.`;
      } catch (error) {
        told.textContent = inWords(error);
      }
      await place.follow(read);
      told.focus();  // its button is gone
    })),
    ...(facts.number > facts.open.length
      ? [el("p", { class: "muted" }, `${count(facts.number - facts.open.length)} more wait.`)] : []),
    ...(facts.number ? [] : [el("p", { class: "empty" }, none)]),
  ]);
  await place.follow(read);
}

function question(one, decide) {
  const until = `since ${moment(one.since)}, until ${moment(one.until)}`;
  if (one.off_record) {
    return card("Something off the record", el("p", {}, one.why_not), el("p", { class: "muted" }, until));
  }
  const title = one.kind === "approval" ? "Your yes is needed" : `A question to ${one.why_not ? one.asked : "you"}`;
  const buttons = one.choices.map(({ value, label }) => el("button", {
    type: "button", id: `choice-${one.id}-${value}`, onclick: async (event) => {
      for (const button of event.target.parentElement.children) button.disabled = true;
      await decide({ choice: value });
      for (const button of event.target.parentElement?.children ?? []) button.disabled = false;
    },
  }, isolated(label)));
  return card(title, excerpt(one.question),
    el("details", { id: `call-${one.id}` }, el("summary", {}, `The call of ${one.tool}`), excerpt(one.arguments, "pre")),
    el("p", { class: "muted" }, one.pack ? `${one.pack}, ` : "", "from ", isolated(one.place), `, ${until}, in turn `, turn(one.turn_id)),
    ...(buttons.length ? [el("div", { class: "line", role: "group", "aria-label": title }, ...buttons)] : []),
    ...(one.why_not ? [el("p", {}, one.why_not)] : one.kind === "question" ? [answerInWords(one, decide)] : []));
}

function answerInWords(one, decide) {
  return el("form", { class: "filters", onsubmit: async (event) => {
    event.preventDefault();
    await decide({ words: event.target.elements.words.value });
  } }, el("label", {}, "Answer in words",
    el("input", { name: "words", id: `words-${one.id}`, required: "", maxlength: 4096, autocomplete: "off" })),
  el("button", { type: "submit" }, "Send"));
}

const STAGES = ["PROPOSED", "EVALUATED", "EXECUTED", "FAILED", "BLOCKED"].map((stage) => [stage, stage.toLowerCase()]);
const FIELDS = [
  ["text", "Text", "search"], ["tool", "Tool", "text"], ["pack", "Pack", "text"], ["stage", "Stage", STAGES],
  ["origin", "Origin", ORIGINS], ["turn", "Turn", "text"], ["since", "From", "date"], ["until", "To", "date"],
];

async function audit(root, place) {
  const sought = Object.fromEntries(FIELDS.map(([name]) => [name, place.query.get(name) ?? ""]));
  const list = el("div");
  const more = el("div", { class: "line" });
  root.append(filters("Which calls", FIELDS, sought, "#/security/audit"), list, more);
  const older = [];

  const read = redrawn(list, async () => {
    const newest = await get(`/api/audit${query(sought)}`);
    return older.length ? null : newest;  // who reads on is not moved by what is new
  }, (page) => drawn([page]));

  function drawn(pages) {
    const last = pages.at(-1).older;
    more.replaceChildren(...(last ? [el("button", { type: "button", id: "older", onclick: async () => {
      older.push(...(older.length ? [] : pages), await get(`/api/audit${query({ ...sought, before: last })}`));
      list.replaceChildren(...drawn(older));
    } }, "Older")] : []));
    return [card("", table("Audit", [
      ["When", (row) => moment(row.at, WITH_SECONDS), "whole"],
      ["Tool", (row) => (row.off_record ? "off the record" : isolated(row.tool)), "short"],
      ["Stage", (row) => row.stage.toLowerCase(), "short"], ["Pack", (row) => isolated(row.pack), "short"],
      ["Does", (row) => row.sink, "short"], ["Had read", (row) => isolated(row.labels), "short"],
      ["Tier", (row) => (row.judge ? `${row.tier} (${row.judge})` : ""), "short"],
      ["Reason", (row) => excerpt(row.reason), "words"], ["Origin", (row) => row.origin], ["Turn", (row) => turn(row.turn_id), "short"],
    ], pages.flatMap(({ rows }) => rows), Object.values(sought).some(Boolean)
      ? `Nothing is like that${last ? " among the newest" : ""}.` : "No tool was called yet."))];
  }

  await place.follow(read);
}

const MODES = {
  ask: "You are asked about any other path that a pack asks for.", deny: "Any other path is refused.",
  allow: "So is any other path that a pack asks for.",
};

async function allowed(root, place) {
  const told = el("p", { role: "status", tabindex: "-1" });
  const list = el("div");
  root.append(told, list);
  const read = redrawn(list, () => get("/api/security"), (facts) => [
    card("Fence", el("p", {}, "Open to packs that ask for it, besides the folder of their own:"),
      el("ul", {}, ...(facts.fence.allowed_paths.length ? facts.fence.allowed_paths.map((path) => el("li", {}, isolated(path)))
        : [el("li", { class: "empty" }, "nothing; security.allowed_paths opens some")])),
      el("p", {}, MODES[facts.fence.mode]),
      el("p", { class: "muted" }, `A question waits ${facts.asking.wait_s} s, then it is a no; at most ${facts.asking.per_hour} are asked within an hour.`)),
    card("Allowed for good", grants(facts.grants, told, () => place.follow(read))),
  ]);
  await place.follow(read);
}

async function packs(root, place) {
  await place.follow(redrawn(root, () => get("/api/security"), (facts) => [card("", table("Calls by pack", [
    ["Pack", (row) => (row.installed ? el("a", { href: at`#/packs/${row.pack}/permissions` }, row.pack)
      : isolated(row.pack ? `${row.pack} (not installed)` : "no pack"))],
    ["Done", (row) => count(row.done), "number"], ["Failed", (row) => count(row.failed), "number"],
    ["Refused", (row) => count(row.refused), "number"], ["Last", (row) => (row.last ? moment(row.last) : "never"), "short"],
  ], facts.packs, "No pack is installed, and no tool was called yet."))]));
}

async function off(root, place) {
  await place.follow(redrawn(root, () => get("/api/security"), ({ off_record: { now, times } }) => [
    ...(now.length ? [card("Off the record now", el("ul", {}, ...now.map((where) => el("li", {}, where))))] : []),
    card("", table("Times off the record", [
      ["Where", (row) => row.where], ["From", (row) => moment(row.since)],
      ["To", (row) => (row.until ? moment(row.until) : "still going on")],
    ], times, "Nothing was off the record. /otr in a chat begins it, and keeps nothing but the times here.")),
  ]));
}
