// A bar for each day, as SVG.

import { el, svg } from "/page/dom.js";

const WIDE = 1000;
const HIGH = 180;
const FLOOR = 160;

// `rows` are the days that have something; `of` gives a row's value, `told` says it.
export function bars(title, days, rows, of, told) {
  const last = [today(), ...rows.map((row) => row.day)].sort().pop();
  const values = new Map(rows.map((row) => [row.day, of(row)]));
  const names = datesTo(last, days);
  const most = Math.max(...values.values(), 0);
  const step = WIDE / names.length;
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", preserveAspectRatio: "none" });
  picture.append(svg("title", {}, `${title}: at most ${told(most)} a day`));
  names.forEach((name, index) => {
    const value = values.get(name) ?? 0;
    const high = most ? (value / most) * (FLOOR - 10) : 0;
    picture.append(svg("rect", {
      x: index * step + step * 0.1, y: FLOOR - high, width: step * 0.8, height: Math.max(high, value ? 1 : 0),
    }, svg("title", {}, `${name}: ${told(value)}`)));
  });
  picture.append(svg("line", { x1: 0, x2: WIDE, y1: FLOOR, y2: FLOOR }));
  const fragment = document.createDocumentFragment();
  fragment.append(el("figcaption", {}, `${title}, ${names[0]} to ${last}, at most ${told(most)}`), picture);
  return fragment;
}

function today() {
  const now = new Date();
  return new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
}

function datesTo(last, days) {
  const end = Date.parse(`${last}T00:00:00Z`);
  return Array.from({ length: days }, (_, index) =>
    new Date(end - (days - 1 - index) * 86400000).toISOString().slice(0, 10));
}
