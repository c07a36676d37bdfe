// Chooses whose data is shown.

import { el } from "/page/dom.js";

// `people` are rows of the API; `href` makes an address of one; `told` adds to its name.
export function chooser(people, here, href, told = () => "") {
  const named = (one) => `${one.label}${one.is_owner ? ", you" : ""}${told(one)}`;
  if (people.length === 1) return el("p", { class: "muted" }, "Of ", el("bdi", {}, named(people[0])));
  const select = el("select", { onchange: () => { location.hash = href(people[select.selectedIndex]); } },
    ...people.map((one) => el("option", {}, named(one))));
  select.selectedIndex = Math.max(0, people.findIndex((one) => one.tenant === here));
  return el("label", { class: "field" }, "Whose ", select);
}
