// Elements from data: texts only ever become text nodes.

export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const COLORS = 7;

export function avatar(name, id, extra = "") {
  const letters = name.split(/\s+/).slice(0, 2).map((word) => [...word][0] ?? "").join("");
  const node = el("span", { class: `avatar ${extra}`, "aria-hidden": "true" }, letters.toUpperCase());
  node.dataset.color = Math.abs(id) % COLORS;
  return node;
}

export function clockTime(seconds) {
  const date = new Date(seconds * 1000);
  return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

let toastTimer = 0;

export function toast(text) {
  const node = $("toast");
  node.textContent = text;
  node.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { node.hidden = true; }, 4000);
}

export function alertBox(text) {
  const dialog = $("alert");
  dialog.querySelector("p").textContent = text;
  dialog.showModal();
}

// Ask for one line; `choices` are [value, label] pairs. Resolves to null when cancelled.
export function ask(title, { value = "", choices = [], label = "Name" } = {}) {
  const dialog = $("ask");
  const form = dialog.querySelector("form");
  dialog.querySelector("h2").textContent = title;
  const input = form.elements.value;
  input.value = value;
  input.setAttribute("aria-label", label);
  input.placeholder = label;
  dialog.querySelector(".choices").replaceChildren(
    ...choices.map(([one, text], index) =>
      el("label", {}, el("input", { type: "radio", name: "choice", value: one, checked: index === 0 }), text)),
  );
  dialog.querySelector("[value=no]").onclick = () => dialog.close("no");
  dialog.returnValue = "";
  dialog.showModal();
  input.select();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      const chosen = { value: input.value.trim(), choice: new FormData(form).get("choice") };
      resolve(dialog.returnValue === "ok" && chosen.value ? chosen : null);
    };
  });
}
