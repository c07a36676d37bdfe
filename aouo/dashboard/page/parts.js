// Parts that several views are made of.

import { el } from "/page/dom.js";

// Buttons of which one is pressed: `rows` are [value, text]; `chose` is told the value.
export function choices(label, rows, chosen, chose) {
  return el("div", { class: "choices", role: "group", "aria-label": label }, ...rows.map(([value, text]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => chose(value) }, text)));
}

// `columns` are [head, cell of a row, class]; a cell is a text or a node.
export function table(label, columns, rows, empty = "") {
  if (!rows.length) return el("p", { class: "empty" }, empty);
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, el("table", {},
    el("thead", {}, el("tr", {}, ...columns.map(([head, , kind]) => el("th", { scope: "col", class: kind }, head)))),
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

export const line = (...children) => el("div", { class: "line" }, ...children);
