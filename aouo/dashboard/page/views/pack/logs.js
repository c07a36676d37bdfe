// The log: of a pack with what names no pack, or all of it. The newest line is on top.

import { at, get, inWords, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes, moment, WITH_SECONDS } from "/page/format.js";
import { choices, line } from "/page/parts.js";

const EVERY_MS = 1000;
const SHOWN_MAX = 2000;
const ENOUGH = 50;
const TYPED_MS = 300;
const LEVELS = [["debug", "All"], ["info", "From info"], ["warning", "From warning"], ["error", "Errors"]];

export async function show(root, place) {
  const chosen = { level: "debug", whose: "and general", text: "", follows: true };
  const controls = line();
  const list = el("div", { class: "log", role: "log", "aria-label": "Lines of the log, the newest first", "aria-live": "off" });
  const told = el("p", { class: "muted", role: "status" });
  const more = el("button", { type: "button", id: "older", onclick: () => older() }, "Older");
  const search = el("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search the log", maxlength: 300, oninput: typed });
  let asked = 0;  // counts what was chosen, so that an answer that comes late is left out
  let before = "";
  let after = "";
  let typing = null;

  const lines = (spot) => get(`/api/logs${query({
    level: chosen.level, text: chosen.text, ...spot,
    ...(place.pack ? { pack: place.pack, whose: chosen.whose } : {}),
  })}`);

  function typed() {
    clearTimeout(typing);
    typing = setTimeout(() => choose({ text: search.value }), TYPED_MS);
  }

  function choose(what) {
    Object.assign(chosen, what);
    draw();
    anew();
  }

  function draw() {
    const at = document.activeElement?.textContent;
    const here = controls.contains(document.activeElement) && document.activeElement !== search;
    parts.replaceChildren(
      choices("Level", LEVELS, chosen.level, (level) => choose({ level })),
      ...(place.pack ? [choices("Whose lines", [["and general", "With general lines"], ["only", `Only of ${place.pack}`]],
        chosen.whose, (whose) => choose({ whose }))] : []),
      choices("New lines", [[true, "Follow"], [false, "Stand still"]], chosen.follows, (follows) => {
        chosen.follows = follows;
        draw();
      }));
    if (here) [...parts.querySelectorAll("button")].find((one) => one.textContent === at)?.focus();
  }

  const parts = el("div", { class: "line" });

  async function anew() {
    asked += 1;
    before = after = "";
    list.replaceChildren();
    await older();
  }

  // Looks back until enough is found: each answer looks through a part only.
  async function older() {
    const mine = asked;
    more.disabled = true;
    try {
      for (let found = 0, first = true; !place.signal.aborted && (first || (before && found < ENOUGH)); first = false) {
        told.textContent = "Looking…";
        const piece = await lines(before ? { before } : {});
        if (mine !== asked) return;
        list.append(...piece.lines.reverse().map(shown));
        found += piece.lines.length;
        after ||= piece.after;
        before = piece.before;
        told.textContent = piece.lost ? "What came before is not in the log any more." : "";
      }
      told.textContent ||= before ? "" : list.childElementCount ? "The log begins here."
        : "No line is like that. The bot writes here what it does.";
    } catch (error) {
      told.textContent = inWords(error);
    } finally {
      if (mine === asked) {
        more.disabled = false;
        more.hidden = !before;
      }
    }
  }

  async function newer() {
    const mine = asked;
    for (let all = false; !all;) {
      const piece = await lines(after ? { after } : {});
      if (mine !== asked || place.signal.aborted) return;
      if (piece.lost || list.childElementCount + piece.lines.length > SHOWN_MAX) {
        list.replaceChildren();
        before = piece.before;
        more.hidden = !before;
      }
      if (piece.lines.length) told.textContent = before ? "" : "The log begins here.";
      list.prepend(...piece.lines.reverse().map(shown));
      after = piece.after;
      all = !piece.more;
    }
  }

  async function followed() {
    if (chosen.follows && !document.hidden) {
      try {
        await newer();
      } catch (error) {
        told.textContent = inWords(error);
      }
    }
    if (!place.signal.aborted) setTimeout(followed, EVERY_MS);
  }

  controls.append(...(place.pack ? [] : [el("h2", {}, "Logs")]), search, parts);
  root.append(controls, list, told, line(more));
  draw();
  await anew();
  setTimeout(followed, EVERY_MS);
}

function shown(said) {
  const rest = Object.entries(said.fields).map(([name, value]) => `${name}=${value}`).join(" ");
  const size = said.is_cut ? ` (${bytes(said.size)}; its beginning is shown)` : "";
  return el("details", { class: ["error", "critical"].includes(said.level) ? "problem" : null },
    el("summary", {},
      el("time", {}, moment(said.timestamp, WITH_SECONDS)), " ", el("span", { class: "level" }, said.level), " ",
      el("strong", {}, said.event), `${size} `, el("span", { class: "rest" }, rest || said.text.slice(0, 500))),
    el("dl", {}, ...Object.entries(said.fields).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    ...[said.exception, said.text].filter(Boolean).map((text) => el("pre", {}, text)),
    ...(said.turn ? [el("p", {}, el("a", { href: at`#/turns/${said.turn}` }, "Its turn"))] : []));
}
