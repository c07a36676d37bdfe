// What a pack remembers of each person: read, edit, look at changes and take them back.

import { at, get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes, moment } from "/page/format.js";
import { card, line } from "/page/parts.js";
import { chooser } from "/page/views/pack/whose.js";

const drafts = new Map();  // address of a file → what was written and not saved, and the version that was read

window.addEventListener("beforeunload", (event) => { if ([...drafts.values()].some((one) => one.text !== one.read)) event.preventDefault(); });

export async function show(root, place) {
  const { people } = await get(at`/api/packs/${place.pack}/memory`);
  const [, , tenant = people[0].tenant] = place.rest;
  const base = at`/api/packs/${place.pack}/memory/${tenant}`;
  const files = new Map();
  const rows = el("div");
  const note = el("p", { class: "muted", role: "status" });
  const boxes = el("div", { class: "grid" });
  root.append(chooser(people, tenant, (one) => at`#/packs/${place.pack}/memory/${one.tenant}`), boxes,
    card("Changes", note, rows));
  const changes = changesOf(base, rows, note, () => read());

  async function read() {
    const found = await get(base);
    for (const file of found.files) {
      if (!files.has(file.name)) {
        files.set(file.name, fileOf(base, file.name, () => read()));
        boxes.append(files.get(file.name).node);
      }
      files.get(file.name).draw(file, found.editable);
    }
    changes.draw(found);
  }

  await place.follow(read);
}

function fileOf(base, name, again) {
  const address = base + at`/files/${name}`;
  const head = line();
  const body = el("div");
  const problem = el("p", { class: "problem", role: "alert", hidden: "" });
  const tell = (text) => { problem.textContent = text; problem.hidden = !text; };
  const node = card(name, head, problem, body);
  let shown = null;  // what is drawn
  let file = null;

  function draw(found, editable) {
    file = found;
    const draft = drafts.get(address);
    const now = JSON.stringify([found, editable, Boolean(draft)]);
    if (now === shown) return;
    if (draft && shown && JSON.parse(shown)[2]) {  // they are writing: leave their text alone
      if (draft.version !== found.version) meanwhile();
      return;
    }
    shown = now;
    if (draft) write(draft);
    else look(editable);
  }

  function look(editable) {
    const size = el("span", { class: "muted" }, `${bytes(file.bytes)} of ${bytes(file.max_bytes)}`);
    const why = file.locked || (editable ? "" : "No bot runs; it can be read only.");
    head.replaceChildren(size, ...(why ? [] : [el("button", { type: "button", "aria-label": `Edit ${name}`, onclick: begin }, "Edit")]));
    body.replaceChildren(
      file.text.trim() ? el("pre", { dir: "auto" }, file.text.trimEnd())
        : el("p", { class: "empty" }, "Nothing yet. It fills when the pack remembers something, or you write it."),
      ...(file.by_hand ? [el("p", { class: "muted" }, "Edited by hand since its newest change below.")] : []),
      ...(why ? [el("p", { class: "muted" }, why)] : []));
    tell("");
  }

  function begin() {
    const draft = { text: file.text, read: file.text, version: file.version };
    drafts.set(address, draft);
    write(draft);
    shown = JSON.stringify([file, true, true]);
    body.querySelector("textarea").focus();
  }

  function write(draft) {
    const text = el("textarea", { rows: "14", dir: "auto", spellcheck: "false", "aria-label": `Text of ${name}`,
      oninput: () => { draft.text = text.value; } });
    text.value = draft.text;
    head.replaceChildren(
      el("button", { type: "button", class: "main", onclick: save }, "Save"),
      el("button", { type: "button", onclick: () => end() }, "Discard"));
    body.replaceChildren(text);
    if (draft.version !== file.version) meanwhile();
  }

  function meanwhile() {
    tell(`${name} was changed meanwhile. Your text is still here; what is there now stands below it.`);
    const there = el("pre", { class: "there", dir: "auto" }, file.text.trimEnd() || "(nothing)");
    body.replaceChildren(body.firstChild, el("h4", {}, "What is there now"), there);
    head.replaceChildren(
      el("button", { type: "button", class: "alarm", onclick: () => { drafts.get(address).version = file.version; save(); } },
        "Save mine over it"),
      el("button", { type: "button", onclick: () => end() }, "Discard mine"));
  }

  async function save() {
    const draft = drafts.get(address);
    const buttons = head.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    try {
      await post(address, { text: draft.text, version: draft.version });
      await end();
    } catch (error) {
      tell(inWords(error));
      if (error.status === 409) await again().catch(() => {});
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  async function end() {
    drafts.delete(address);
    shown = null;
    await again();
    head.querySelector("button")?.focus();
  }

  return { node, draw };
}

const ORIGINS = {
  tool: () => "remembered in a turn",
  summary: () => "kept when older messages were summarised",
  consolidate: () => "gathered from the journal",
  hand: (change) => (change.by_page ? "edited on this page" : change.person ? "emptied in the chat" : "edited by hand"),
  undo: (change) => `change ${change.undoes} taken back`,
};

function changesOf(base, root, note, again) {
  let shown = "";
  const open = new Map();  // change → what it holds

  function draw(found) {
    const now = JSON.stringify([found.changes, found.editable]);
    if (now === shown) return;
    shown = now;
    const newest = found.changes.find((change) => change.id === found.undo);
    root.replaceChildren(
      ...(newest && found.editable ? [line(el("button", { type: "button", onclick: () => undo(newest) },
        `Take change ${newest.id} of ${newest.file} back`))] : []),
      ...(found.changes.length ? [el("ol", { class: "changes" }, ...found.changes.map(item))]
        : [el("p", { class: "empty" }, "None yet. Each change is kept here, with where it came from.")]));
  }

  function item(change) {
    const details = el("details", { ontoggle: () => { if (details.open) look(); } },
      el("summary", {}, `${change.id} · ${moment(change.at)} · ${change.file} · ${ORIGINS[change.origin]?.(change) ?? change.origin}`,
        ...(change.person ? [", ", el("bdi", {}, change.person)] : []),
        ...(change.undone ? [el("span", { class: "muted" }, " (taken back)")] : [])));

    async function look() {
      if (!open.has(change.id)) {
        open.set(change.id, el("div", {}, el("p", { class: "muted" }, "…")));
        try {
          open.get(change.id).replaceChildren(...inside(await get(base + at`/versions/${change.id}`)));
        } catch (error) {
          open.get(change.id).replaceChildren(el("p", { class: "problem" }, inWords(error)));
        }
      }
      details.append(open.get(change.id));
    }

    if (open.has(change.id)) details.open = true;
    return el("li", {}, details);
  }

  async function undo(change) {
    note.className = "muted";
    try {
      await post(`${base}/undo`, { version: change.id });
      note.textContent = `Change ${change.id} of ${change.file} was taken back.`;
    } catch (error) {
      note.className = "problem";
      note.textContent = inWords(error);
    }
    await again().catch(() => {});
  }

  return { draw };
}

const SIGNS = { same: " ", gone: "−", new: "+" };

function inside(version) {
  const lines = version.lines.map(({ kind, text }) => (kind === "skipped"
    ? el("div", { class: "skipped" }, `… ${text === "1" ? "1 line" : `${text} lines`} as before`)
    : el("div", { class: kind, dir: "auto" }, el("span", { "aria-label": { gone: "gone: ", new: "new: " }[kind] ?? null }, `${SIGNS[kind]} `), text)));
  return [
    ...(version.words ? [el("p", {}, "From: ", el("q", { dir: "auto" }, version.words))] : []),
    ...version.sources.map((source) => el("p", {}, el("bdi", {}, source.line),
      source.basis === "said" ? ", said: " : ", concluded from: ",
      source.words ? el("q", { dir: "auto" }, source.words) : "words that are not kept any more")),
    ...(version.turn ? [el("p", { class: "muted" }, `Turn ${version.turn}`)] : []),
    el("div", { class: "difference" }, ...(lines.length ? lines : [el("div", { class: "skipped" }, "The texts are the same.")])),
  ];
}
