// The configuration, how the bot is, and what the checks find.

import { el } from "/page/dom.js";
import { line, tabs } from "/page/parts.js";

// A tab is views/settings/<name>.js and shows itself as a view does.
const TABS = [["keys", "Configuration"], ["services", "Services"], ["state", "State"], ["doctor", "Doctor"]];

export async function show(root, place) {
  const [tab = TABS[0][0]] = place.rest;
  const body = el("div");
  root.append(line(el("h2", {}, "Settings")),
    tabs("Parts of the settings", TABS.map(([name, text]) => [`#/settings/${name}`, text]), `#/settings/${tab}`), body);
  if (!TABS.some(([name]) => name === tab)) {
    body.append(el("p", {}, "There is no such part of the settings."));
    return;
  }
  const module = await import(`/page/views/settings/${tab}.js`);
  if (!place.signal.aborted) await module.show(body, place);
}
