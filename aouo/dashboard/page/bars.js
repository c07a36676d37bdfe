// A bar for each day, as SVG.

import { el, svg } from "/page/dom.js";

const WIDE = 1000;
const HIGH = 162;
const FLOOR = 160;
const DAY_MS = 86400000;

// `rows` are the days that have something, from `first` to `last`; `of` gives a row's value, `told` says it.
export function bars(title, first, last, rows, of, told) {
  const values = new Map(rows.map((row) => [row.day, of(row)]));
  const names = datesBetween(first, last);
  const most = Math.max(...values.values(), 0);
  const step = WIDE / names.length;
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", preserveAspectRatio: "none" });
  const caption = `${title}, ${first === last ? first : `${first} to ${last}`}, at most ${told(most)} a day`;
  picture.append(svg("title", {}, caption));
  names.forEach((name, index) => {
    const value = values.get(name) ?? 0;
    if (!value && names.length > 100) return;
    const high = most ? (value / most) * (FLOOR - 10) : 0;
    picture.append(svg("rect", {
      x: index * step + step * 0.1, y: FLOOR - Math.max(high, value ? 1 : 0), width: step * 0.8, height: Math.max(high, value ? 1 : 0),
    }, svg("title", {}, `${name}: ${told(value)}`)));
  });
  picture.append(svg("line", { x1: 0, x2: WIDE, y1: FLOOR, y2: FLOOR }));
  const fragment = document.createDocumentFragment();
  fragment.append(el("figcaption", {}, caption), picture);
  return fragment;
}

export function today() {
  const now = new Date();
  return new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
}

// "2026-11-17", 6 → "2026-11-11"
export const before = (day, days) =>
  new Date(Math.max(Date.parse(`${day}T00:00:00Z`) - days * DAY_MS, Date.parse("0001-01-01T00:00:00Z"))).toISOString().slice(0, 10);

function datesBetween(first, last) {
  const start = Date.parse(`${first}T00:00:00Z`);
  const days = Math.min(Math.round((Date.parse(`${last}T00:00:00Z`) - start) / DAY_MS) + 1, 4000);
  return Array.from({ length: Math.max(days, 1) }, (_, index) =>
    new Date(start + index * DAY_MS).toISOString().slice(0, 10));
}
