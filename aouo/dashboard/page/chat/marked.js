// Turns a message's text and entities into nodes; nothing of it is ever read as markup.

import { el } from "/page/dom.js";

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code", blockquote: "blockquote",
  expandable_blockquote: "blockquote",
};
const SAFE = /^(https?:\/\/|mailto:)/i;
const ADDRESS = /https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]]/gi;

// Offsets and lengths are in UTF-16 units, as those of strings here.
export function marked(text, entities) {
  const sorted = entities.filter((one) => one.length > 0)
    .sort((one, other) => one.offset - other.offset || other.length - one.length);
  return between(text, 0, text.length, sorted, false);
}

function between(text, from, to, entities, literal) {
  const nodes = [];
  let at = from;
  for (let index = 0; index < entities.length; index += 1) {
    const one = entities[index];
    if (one.offset < at || one.offset >= to) continue;
    const end = Math.min(one.offset + one.length, to);
    const inner = entities.slice(index + 1).filter((other) => other.offset < end);
    nodes.push(...plain(text.slice(at, one.offset), literal));
    nodes.push(wrapped(one, between(text, one.offset, end, inner, literal || isLiteral(one)), text.slice(one.offset, end)));
    at = end + Number(isBlock(one) && text[end] === "\n" && end < to);  // a block ends its line itself
  }
  nodes.push(...plain(text.slice(at, to), literal));
  return nodes;
}

const isLiteral = (one) => ["code", "pre", "text_link", "url"].includes(one.type);

const isBlock = (one) => one.type === "pre" || one.type.endsWith("blockquote");

function wrapped(one, nodes, words) {
  if (one.type === "pre") return el("pre", { tabindex: "0" }, el("code", {}, ...nodes));
  if (one.type === "spoiler") {
    return el("button", { type: "button", class: "spoiler", "aria-expanded": "false", "aria-label": "Hidden words: show them", onclick: reveal }, ...nodes);
  }
  const address = one.type === "text_link" ? one.url : one.type === "url" ? words : "";
  if (address) return SAFE.test(address) ? link(address, nodes) : el("span", {}, ...nodes);
  return el(TAGS[one.type] ?? "span", {}, ...nodes);
}

function reveal(event) {
  event.currentTarget.setAttribute("aria-expanded", "true");
  event.currentTarget.removeAttribute("aria-label");
}

export const link = (href, nodes) => el("a", { href, target: "_blank", rel: "noreferrer noopener" }, ...nodes);

function plain(text, literal) {
  if (!text) return [];
  if (literal) return [text];
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(ADDRESS)) {
    nodes.push(text.slice(at, found.index), link(found[0], [found[0]]));
    at = found.index + found[0].length;
  }
  return [...nodes, text.slice(at)];
}
