// What a pack is.

import { at, get } from "/page/api.js";
import { card } from "/page/parts.js";
import { el } from "/page/dom.js";

export async function show(root, place) {
  await place.follow(async () => {
    const pack = await get(at`/api/packs/${place.pack}`);
    root.replaceChildren(card(pack.display_name, el("p", {}, pack.description),
      el("p", { class: "muted" }, `version ${pack.version}`)));
  });
}
