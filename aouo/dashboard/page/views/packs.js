// The packs as cards, and each as a workspace with tabs.

import { at, get } from "/page/api.js";
import { el } from "/page/dom.js";
import { card, tabs } from "/page/parts.js";

// The tabs in their order; a tab is views/pack/<name>.js and shows itself as a view does, with `place.pack`.
const TABS = [["about", "About"]];

export async function show(root, place) {
  const [pack, tab = TABS[0][0]] = place.rest;
  if (pack) await workspace(root, place, pack, tab);
  else await place.follow(async () => root.replaceChildren(...all(await get("/api/packs"))));
}

function all({ packs }) {
  const cards = packs.map((pack) => card("",
    el("h3", {}, el("a", { href: at`#/packs/${pack.name}` }, pack.display_name)), el("p", {}, pack.description),
    el("p", { class: "muted" }, `version ${pack.version}`)));
  return [el("h2", {}, "Packs"), cards.length ? el("div", { class: "grid" }, ...cards)
    : el("p", { class: "empty" }, "No pack is installed. `aouo pack install` installs one.")];
}

async function workspace(root, place, pack, tab) {
  const body = el("div");
  root.append(el("h2", {}, pack),
    tabs(`Parts of ${pack}`, TABS.map(([name, text]) => [at`#/packs/${pack}/${name}`, text]), at`#/packs/${pack}/${tab}`), body);
  if (!TABS.some(([name]) => name === tab)) {
    body.append(el("p", {}, "There is no such part of a pack."));
    return;
  }
  const module = await import(`/page/views/pack/${tab}.js`);
  if (!place.signal.aborted) await module.show(body, { ...place, pack });
}
