// Keeps the focus where it is when what has it is drawn anew.

import { $ } from "/page/dom.js";

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";

const looks = (node) => [node.tagName, node.type, node.name, node.getAttribute("href"),
  node.getAttribute("aria-label"), /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) ? "" : node.textContent].join("\n");

const alike = (look) => [...$("view").querySelectorAll(CONTROLS)].filter((node) => looks(node) === look);

// Calls `draw`; gives the focus to what then looks like what had it, and is at the same place among its like.
export async function keepingFocus(draw) {
  const had = document.activeElement;
  const inside = had !== $("view") && $("view").contains(had);
  const look = inside && looks(had);
  const index = inside && alike(look).indexOf(had);
  await draw();
  if (!inside || had.isConnected || document.activeElement !== document.body) return;
  const now = alike(look);
  (now[index] ?? now.at(-1) ?? $("main")).focus({ preventScroll: true });
}
