// Parts that several views are made of.

import { query } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, money } from "/page/format.js";

// What may begin a turn.
export const ORIGINS = ["chat", "web", "cli", "command", "api", "cron", "heartbeat", "watch", "journal", "consolidate"]
  .map((origin) => [origin, origin]);

// Buttons of which one is pressed: `rows` are [value, text]; `chose` is told the value.
export function choices(label, rows, chosen, chose) {
  return el("div", { class: "choices", role: "group", "aria-label": label }, ...rows.map(([value, text]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => chose(value) }, text)));
}

// `columns` are [head, cell of a row, class]; a cell is a text or a node.
export function table(label, columns, rows, empty = "") {
  if (!rows.length) return el("p", { class: "empty" }, empty);
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, el("table", {},
    ...(columns.some(([head]) => head) ? [el("thead", {}, el("tr", {}, ...columns.map(([head, , kind]) => el("th", { scope: "col", class: kind }, head))))] : []),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...columns.map(([, cell, kind]) =>
      el("td", { class: kind }, cell(row))))))));
}

export const card = (title, ...children) =>
  el("section", { class: "card" }, ...(title ? [el("h3", {}, title)] : []), ...children);

export const figures = (rows) => el("dl", { class: "figures" }, ...rows.map(([name, value]) =>
  el("div", {}, el("dt", {}, name), el("dd", {}, value))));

// Links of which one is where we are: `rows` are [address, text].
export const tabs = (label, rows, here) => el("nav", { class: "tabs", "aria-label": label }, el("ul", {},
  ...rows.map(([href, text]) => el("li", {}, el("a", { href, "aria-current": href === here ? "page" : null }, text)))));

// How a person is named: `people` is what /api/people says; whose name is not known has an id.
export const person = ({ labels }, id) => el("bdi", {}, Object.hasOwn(labels, id) ? labels[id] : id);

export const line = (...children) => el("div", { class: "line" }, ...children);

// What calls cost, in a cell; those without a known price are never shown as free.
export const costCell = (usd, unpriced) => (!unpriced ? money(usd, 4) : el("span", {},
  ...(usd ? [money(usd, 4), el("br")] : []),
  el("span", { class: "muted" }, `${count(unpriced)} without`, el("br"), "a price")));

// A button with an id, by which `redrawn` finds it again.
export const key = (id, text, onclick, attributes = {}) =>
  el("button", { type: "button", id, onclick, ...attributes }, text);

// A form whose values become those of an address: `fields` are [name, label, type of the input or rows of
// [value, text] to choose from], `wanted` their values now.
export function filters(label, fields, wanted, address) {
  const field = ([name, text, kind]) => el("label", {}, el("span", {}, text), Array.isArray(kind)
    ? el("select", { name }, ...[["", "any"], ...kind].map(([value, said]) =>
      el("option", { value, selected: value === wanted[name] ? "" : null }, said)))
    : el("input", { name, type: kind, value: wanted[name], maxlength: 300, autocomplete: "off", list: `known-${name}` }));
  return el("form", { class: "filters", role: "search", "aria-label": label, onsubmit: (event) => {
    event.preventDefault();
    location.hash = address + query(Object.fromEntries(new FormData(event.target)));
  } }, ...fields.map(field), el("button", { type: "submit", class: "main" }, "Show"), el("a", { href: address }, "Clear"));
}

// What is pressed shows what it changed, whatever was marked.
document.addEventListener("click", ({ target }) => { if (target.closest("button")) getSelection().removeAllRanges(); }, true);

const isMarked = (root) => {
  const marked = getSelection();
  return !marked.isCollapsed && root.contains(marked.anchorNode);
};

// Returns what reads facts and draws them in `root`, but only if they changed; the focus stays where it was,
// what was unfolded stays so, and what was written stays written. Facts that are null change nothing, and while
// something in `root` is marked, to copy it, nothing moves.
export function redrawn(root, read, draw) {
  let before = "";
  let waits = false;
  return async function drawn() {
    const facts = await read();
    const now = JSON.stringify(facts);
    if (facts === null || now === before) return;
    if (isMarked(root)) {
      if (!waits) document.addEventListener("selectionchange", () => { waits = false; if (root.isConnected) drawn().catch(() => {}); }, { once: true });
      waits = true;
      return;
    }
    before = now;
    const focused = root.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : "";
    const unfolded = [...root.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const written = [...root.querySelectorAll("input[id]")].map(({ id, value }) => [id, value]);
    const aside = [...root.querySelectorAll(".scroll")].map(({ ariaLabel, scrollLeft }) => [ariaLabel, scrollLeft]);
    root.replaceChildren(...draw(facts));
    for (const [id, value] of written) if (document.getElementById(id)) document.getElementById(id).value = value;
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    for (const node of root.querySelectorAll(".scroll")) node.scrollLeft = aside.find(([label]) => label === node.ariaLabel)?.[1] ?? 0;
    if (focused && root.contains(document.getElementById(focused))) document.getElementById(focused).focus({ preventScroll: true });
  };
}
