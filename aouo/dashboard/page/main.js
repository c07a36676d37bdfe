// Shows the view that the address names, and keeps it true while somebody looks.

import { get, inWords, whileTrying } from "/page/api.js";
import { $, el } from "/page/dom.js";
import { keepingFocus } from "/page/focus.js";
import { follow } from "/page/live.js";
import { tellWaiting } from "/page/waiting.js";

// The views in the order of the navigation; a view is views/<name>.js.
const VIEWS = [
  ["today", "Today"],
  ["usage", "Usage"],
  ["packs", "Packs"],
  ["chat", "Chat"],
  ["turns", "Turns"],
  ["schedules", "Schedules"],
  ["logs", "Logs"],
  ["security", "Security"],
  ["settings", "Settings"],
];
let leaving = new AbortController();

// What a view is given: where it is, and how it shows what it reads.
//   rest   the parts of the address after the view's name
//   query  the values after "?"
//   signal aborted when the view is left
//   follow calls a function now, and when something has changed; what it throws is shown
function placeOf(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decoded);
  return { name: name || VIEWS[0][0], rest, query: new URLSearchParams(search) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function problem(text) {
  if ($("problem").textContent !== text) $("problem").textContent = text;
  $("problem").hidden = !text;
}

async function open() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const place = placeOf(location.hash);
  const reading = (read) => async () => {
    try {
      await keepingFocus(read);
      if (!signal.aborted) problem("");
    } catch (error) {
      if (!signal.aborted) problem(whileTrying(error));
    }
  };
  place.signal = signal;
  const followed = new Map();
  place.follow = (read) => {
    if (!followed.has(read)) {
      followed.set(read, reading(read));
      follow(followed.get(read), signal);
    }
    return followed.get(read)();
  };
  problem("");
  navigation(place);
  const root = el("div");
  const view = $("view");
  const { hash } = location;
  view.replaceChildren(root);
  view.setAttribute("aria-busy", "true");
  delete view.dataset.shows;
  try {
    await filled(root, place);
  } catch (error) {
    if (!signal.aborted) problem(inWords(error));
  }
  if (signal.aborted) return;
  view.removeAttribute("aria-busy");
  view.dataset.shows = hash;
}

async function filled(root, place) {
  if (!VIEWS.some(([name]) => name === place.name)) {
    root.append(el("p", {}, "There is no such page."));
    return;
  }
  const { show } = await import(`/page/views/${place.name}.js`);
  if (!place.signal.aborted) await show(root, place);
}

function navigation(place) {
  $("nav").replaceChildren(...VIEWS.map(([name, text]) =>
    el("li", {}, el("a", { href: `#/${name}`, "aria-current": name === place.name ? "page" : null }, text))));
  const named = VIEWS.find(([name]) => name === place.name)?.[1] ?? "No such page";
  document.title = [...place.rest.filter(Boolean).slice(0, 1), named, "aouo"].join(" · ");
}

async function state() {
  try {
    const health = await get("/healthz");
    $("state").textContent = health.ok ? "Running" : health.reasons.join(" ");
  } catch (error) {
    $("state").textContent = error instanceof TypeError ? "Not reachable" : inWords(error);
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();  // the address after "#" names a view
  $("main").focus();
});
window.addEventListener("hashchange", async () => {
  await open();
  $("main").focus({ preventScroll: true });
});
follow(state, new AbortController().signal);
state();
setInterval(() => { if (!document.hidden) state(); }, 10000);
open();
tellWaiting();
