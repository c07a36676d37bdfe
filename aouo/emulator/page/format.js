// Text and entities as Telegram shows them. Offsets are UTF-16 units, as in JavaScript strings.

import { el } from "/page/dom.js";

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code",
};

export function formatted(text, entities, onCommand) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  const fragment = document.createDocumentFragment();
  fragment.append(...pieces(text, 0, text.length, sorted, onCommand));
  return fragment;
}

function pieces(text, start, end, entities, onCommand) {
  const nodes = [];
  let at = start;
  let rest = entities;
  while (rest.length) {
    const [entity, ...later] = rest;
    const stop = Math.min(entity.offset + entity.length, end);
    if (entity.offset > at) nodes.push(text.slice(at, entity.offset));
    const inside = [];
    const outside = [];
    for (const other of later) {
      const otherEnd = other.offset + other.length;
      if (other.offset >= stop) { outside.push(other); continue; }
      inside.push({ ...other, length: Math.min(otherEnd, stop) - other.offset });
      if (otherEnd > stop) outside.push({ ...other, offset: stop, length: otherEnd - stop });
    }
    const content = pieces(text, entity.offset, stop, inside, onCommand);
    nodes.push(wrapped(entity, text.slice(entity.offset, stop), content, onCommand));
    at = stop;
    rest = outside;
    if (isBlock(entity) && text[at] === "\n") at += 1;
  }
  if (at < end) nodes.push(text.slice(at, end));
  return nodes;
}

function isBlock(entity) {
  return entity.type === "pre" || entity.type.endsWith("blockquote");
}

function wrapped(entity, text, content, onCommand) {
  const tag = TAGS[entity.type];
  if (tag) return el(tag, {}, ...content);
  switch (entity.type) {
    case "pre": {
      const label = entity.language ? el("figcaption", {}, entity.language) : null;
      return el("figure", { class: "pre" }, label, el("pre", {}, el("code", {}, ...content)));
    }
    case "blockquote": return el("blockquote", {}, ...content);
    case "expandable_blockquote": {
      const quote = el("blockquote", { class: "folded", tabindex: "0" }, ...content);
      quote.addEventListener("click", () => quote.classList.toggle("folded"));
      return quote;
    }
    case "spoiler": {
      const spoiler = el("span", { class: "spoiler", tabindex: "0", role: "button" }, ...content);
      spoiler.addEventListener("click", () => spoiler.classList.add("shown"));
      return spoiler;
    }
    case "text_link": return link(entity.url, content);
    case "url": return link(text.includes("://") ? text : `http://${text}`, content);
    case "email": return link(`mailto:${text}`, content);
    case "bot_command":
      return el("button", { type: "button", class: "link", onclick: () => onCommand(text) }, ...content);
    case "mention": case "hashtag": case "cashtag": case "text_mention": case "phone_number":
      return el("span", { class: "link" }, ...content);
    default: return el("span", {}, ...content);
  }
}

function link(address, content) {
  const safe = /^(https?|tg|mailto):/i.test(address);
  const target = safe ? { href: address, target: "_blank", rel: "noopener noreferrer", title: address } : {};
  return el("a", target, ...content);
}
