// Every key of the configuration by section: find, change, and save all changes at once.

import { get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { card, choices } from "/page/parts.js";
import { row } from "/page/views/settings/row.js";
import { saving } from "/page/views/settings/saving.js";

const WHICH = [["all", "All"], ["file", "In the file"], ["other", "Not in force"]];
const KEPT = {
  all: () => true,
  file: (key) => key.in_file || key.from === "file" || key.from === "reference",
  other: (key) => "why" in key,
};
const isChanged = (key) => key.in_file && JSON.stringify(key.value) !== JSON.stringify(key.default);

// The rows that are like that, then the others, each in their order.
const first = (rows, like) => [...rows.filter(like), ...rows.filter((one) => !like(one))];
const chosen = { words: "", which: "all", open: new Set() };

export async function show(root, place) {
  const found = { facts: null, newer: null, edits: new Map(), wrong: new Map(), unread: new Map() };
  const body = el("div");
  const about = el("div");
  const bar = saving(found, { save, discard: () => { forget(); draw(); } });
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); bar.submit(); }, novalidate: "" }, body, bar.root);
  root.append(about, finding(() => filter(body)), form);

  function forget() {
    if (found.newer) [found.facts, found.newer] = [found.newer, null];
    for (const one of [found.edits, found.wrong, found.unread]) one.clear();
  }

  function draw() {
    const { facts } = found;
    tell();
    body.replaceChildren(...first(facts.sections, ({ keys }) => keys.some(isChanged)).map((one) => section(one, facts, found, bar.draw)),
      el("p", { class: "empty", hidden: "" }, "No key is like that."));
    filter(body);
    bar.draw();
  }

  function tell() {
    about.replaceChildren(...notices(found, () => {
      [found.facts, found.newer] = [found.newer, null];
      draw();
    }));
  }

  async function read() {
    const facts = await get("/api/settings");
    const soon = facts.sections.some((one) => one.keys.some((key) => key.why === "soon"));
    if (soon) setTimeout(() => { if (!place.signal.aborted) read().catch(() => {}); }, 2000);  // taken up by then
    if (found.edits.size || found.unread.size) {  // what is typed stays as it is
      found.newer = found.facts.version === facts.version ? null : facts;
      tell();
    } else if (JSON.stringify(facts) !== JSON.stringify(found.facts)) {
      [found.facts, found.newer] = [facts, null];
      draw();
    }
  }

  async function save(anyway) {
    const changes = Object.fromEntries(found.edits);
    let done;
    try {
      done = await post("/api/settings", { version: found.facts.version, changes, anyway });
    } catch (error) {
      found.wrong = new Map((error.told?.problems ?? []).map((one) => [one.key, one.text]));
      draw();
      show_first(body, found.wrong);
      return { why: inWords(error), losses: error.told?.losses };
    }
    forget();
    await read().catch(() => {});  // what is open is read anew in any case
    return { done };
  }

  await place.follow(read);
}

function show_first(body, wrong) {
  const first = [...body.querySelectorAll(".key")].find((node) => wrong.has(node.dataset.key));
  if (!first) return;
  first.closest("details").open = true;
  first.querySelector("input, select, textarea, button")?.focus();
}

function finding(changed) {
  const input = el("input", {
    type: "search", id: "find-key", value: chosen.words, placeholder: "such as tokens", autocomplete: "off",
    oninput: () => { chosen.words = input.value; changed(); },
  });
  const which = el("div");
  const draw = () => which.replaceChildren(choices("Which keys", WHICH, chosen.which, (value) => {
    chosen.which = value;
    draw();
    changed();
    which.querySelector("[aria-pressed=true]").focus();
  }));
  draw();
  return el("div", { class: "line", role: "search" }, el("label", { for: "find-key" }, "Find a key"), input, which);
}

function notices({ facts, newer }, take) {
  const made = [];
  if (!facts.running) made.push(card("No bot runs", el("p", {}, "This is what is stored. `aouo config set KEY VALUE` changes it.")));
  if (newer) {
    made.push(card("config.json has changed meanwhile",
      el("p", {}, "You still see what it was when you began. Your changes are kept."),
      el("button", { type: "button", onclick: take }, "Show it as it is now")));
  }
  if (facts.problems.length) {
    made.push(card("config.json has problems",
      el("p", {}, "What it said before them is in force. What has no place below is mended by `aouo config edit`."),
      el("ul", { class: "problem" }, ...facts.problems.map((one) => el("li", {}, one.key ? `${one.key}: ${one.text}` : one.text)))));
  }
  return [...made, ...facts.notes.map((note) => el("p", { class: "muted" }, note))];
}

function section({ name, about, keys }, facts, found, edited) {
  const changed = keys.filter(isChanged).length;
  const details = el("details", {
    class: "card section", open: chosen.open.has(name) ? "" : null,
    ontoggle: () => { if (!details.dataset.found) chosen.open[details.open ? "add" : "delete"](name); },
  }, el("summary", {}, el("h3", {}, name), el("span", { class: "muted" }, about),
    ...(changed ? [el("span", { class: "tag" }, `${changed} changed`)] : [])),
  ...first(keys, isChanged).map((key) => row(key, facts, found, edited)));
  details.dataset.name = name;
  return details;
}

// Shows the keys that are asked for; while words are sought their sections stand open.
function filter(body) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  let any = false;
  for (const details of body.querySelectorAll("details.section")) {
    let some = false;
    for (const node of details.querySelectorAll(".key")) {
      const shown = KEPT[chosen.which](node.about) && words.every((word) => node.sought.includes(word));
      node.hidden = !shown;
      some ||= shown;
    }
    details.hidden = !some;
    const seeks = words.length > 0 || chosen.which !== "all";
    if (seeks) details.dataset.found = "yes"; else delete details.dataset.found;
    details.open = seeks || chosen.open.has(details.dataset.name);
    any ||= some;
  }
  body.querySelector(".empty").hidden = any;
}
