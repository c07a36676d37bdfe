// The list of changes, and the one button that saves them all.

import { el } from "/page/dom.js";
import { told } from "/page/views/settings/inputs.js";

export function saving(found, { save, discard }) {
  const said = el("p", { role: "status" });
  const list = el("div");
  const root = el("div", { class: "saving" }, said, list);

  let busy = false;

  async function press(anyway) {
    if (busy) return;
    busy = true;
    said.textContent = "Saving…";
    const { done, why, losses } = await save(anyway);
    busy = false;
    said.replaceChildren(...(done ? words(done) : []));
    if (!why) return;
    draw();
    list.querySelector(".savebar").append(
      el("p", { class: "problem", role: "alert" }, why),
      ...(losses ? [el("ul", {}, ...losses.map((one) => el("li", {}, one))),
        el("button", { type: "button", class: "alarm", onclick: () => press(true) }, "Save anyway")] : []));
    if (losses) list.querySelector("button.alarm").focus();
  }

  function draw() {
    const { edits, unread } = found;
    if (!edits.size && !unread.size) {
      list.replaceChildren();
      return;
    }
    if (said.textContent.startsWith("Saved.")) said.textContent = "";
    list.replaceChildren(el("section", { class: "savebar", "aria-label": "Changes" },
      el("ul", {}, ...[...edits].filter(([key]) => !unread.has(key)).map(([key, value]) => el("li", {}, `${key}: ${change(found.facts, key, value)}`)),
        ...[...unread].map(([key, why]) => el("li", { class: "problem" }, `${key}: ${why}`))),
      el("div", { class: "line" },
        el("button", { type: "submit", class: "main", disabled: unread.size ? "" : null },
          unread.size ? "Save" : edits.size === 1 ? "Save this change" : `Save these ${edits.size} changes`),
        el("button", { type: "button", onclick: () => { said.textContent = ""; discard(); } }, "Discard"))));
  }

  const submit = () => { if (found.edits.size && !found.unread.size) press(false); };
  return { root, draw, submit };
}

const keyOf = (facts, name) => facts.sections.flatMap((one) => one.keys).find((one) => one.key === name);

function change(facts, name, value) {
  const key = keyOf(facts, name);
  if (key?.kind === "secret") return value === null ? "taken out of the file" : "a new one";
  if (value === null) return `the default${key && "default" in key ? `, ${told(key.default)}` : ""}`;
  return `${told(key?.value)} → ${told(value)}`;
}

function words({ changed, after_restart: later }) {
  const made = ["Saved."];
  if (changed.length) made.push(`In force now: ${changed.join(", ")}.`);
  if (later.length) made.push(`With the next start: ${later.join(", ")}.`);
  return [made.join(" ")];
}
