// What `aouo doctor` finds, when somebody presses for it.

import { get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { moment } from "/page/format.js";
import { card } from "/page/parts.js";

const KINDS = { fail: "problem", warn: "", ok: "good", skip: "muted" };

export async function show(root, place) {
  const said = el("p", { role: "status" });
  const found = el("div");
  const press = (fast) => async () => {
    said.textContent = fast ? "Looking…" : "Asking; this may take a minute or two…";
    for (const button of root.querySelectorAll("button")) button.disabled = true;
    try {
      draw(await post("/api/doctor", { fast }));
      said.textContent = "";
    } catch (error) {
      said.textContent = inWords(error);
    }
    for (const button of root.querySelectorAll("button")) button.disabled = false;
  };

  function draw(last) {
    found.replaceChildren(...(last ? results(last) : [el("p", { class: "empty" }, "Nothing has been looked at yet.")]));
  }

  const facts = await get("/api/doctor");
  if (place.signal.aborted) return;
  root.append(
    card("Look without asking anybody", el("p", {}, "The home, the configuration, packs, the sandbox and the disk of this machine."),
      el("button", { type: "button", onclick: press(true) }, "Look")),
    card("Look and ask", el("p", {}, facts.asks.length ? "Also asks, over the network:" : "There is nobody to ask yet."),
      el("ul", {}, ...facts.asks.map((one) => el("li", {}, one))),
      el("button", { type: "button", onclick: press(false) }, "Look and ask")),
    said, found);
  draw(facts.last);
}

function results({ ok, checks, fast, at }) {
  return [card(ok ? "Nothing fails" : "Something fails",
    el("p", { class: "muted" }, `${moment(at)}${fast ? ", nobody was asked" : ""}`),
    ...checks.map(checked))];
}

export const checked = (check) => el("div", { class: "key check" },
  el("p", {}, el("span", { class: `mark ${KINDS[check.status]}` }, check.status), el("span", { class: "name" }, check.name)),
  el("div", {}, el("p", {}, check.detail), ...(check.fix ? [el("p", { class: "muted" }, check.fix)] : [])));
