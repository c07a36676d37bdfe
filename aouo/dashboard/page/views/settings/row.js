// One key: its meaning, its value, and what is in force instead.

import { el } from "/page/dom.js";
import { control, NotReadable, told } from "/page/views/settings/inputs.js";

const TAKES = { start: "next start" };
const FROM = { file: "Set in the file.", "": "Not set." };
let number = 0;

export function row(key, facts, found, edited) {
  number += 1;
  const id = `key-${number}`;
  const changes = key.on_page && facts.running;
  const node = el("div", { class: "key" });
  const value = el("div");
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "alert" });

  function take(read) {
    try {
      const wanted = read();
      if (wanted === undefined || same(wanted, now(key))) found.edits.delete(key.key);
      else found.edits.set(key.key, wanted);
      found.wrong.delete(key.key);
      found.unread.delete(key.key);
    } catch (error) {
      if (!(error instanceof NotReadable)) throw error;
      found.unread.set(key.key, error.message);
    }
    mark();
    edited();
  }

  function mark() {
    node.classList.toggle("edited", found.edits.has(key.key) || found.unread.has(key.key));
    problem.textContent = found.unread.get(key.key) ?? found.wrong.get(key.key) ?? wrongInFile(key, facts);
    problem.hidden = !problem.textContent;
  }

  function draw() {
    const attributes = { id, "aria-describedby": `${id}-about ${id}-problem` };
    const shown = found.edits.has(key.key) ? found.edits.get(key.key) ?? key.default : key.value;
    value.replaceChildren(
      changes ? control(key, shown, attributes, take) : el("code", { id }, key.kind === "secret" ? (key.set ? "••••" : "") : told(key.value)),
      ...remarks(key), ...(changes ? buttons() : []), problem);
    mark();
  }

  function buttons() {
    const reset = (text, wanted) => el("button", {
      type: "button", class: "small", onclick: () => {
        take(() => wanted);
        draw();
        value.querySelector("input, select, textarea").focus();
      },
    }, text);
    if (key.kind === "secret") return key.from === "file" || key.from === "reference" ? [reset("Take it out of the file", null)] : [];
    return key.in_file ? [reset(`Use the default: ${short(told(key.default))}`, null)] : [];
  }

  const name = changes ? el("label", { for: id }, key.key) : el("span", { class: "name" }, key.key);
  const tags = [TAKES[key.takes_effect], key.in_file ? "in the file" : null].filter(Boolean);
  node.append(el("div", {},
    el("p", {}, name, ...tags.map((tag) => el("span", { class: "tag" }, tag))),
    el("p", { class: "muted", id: `${id}-about` }, key.about.replaceAll("\n", " ")),
    ...(key.on_page ? [] : [el("p", { class: "muted small" }, facts.by_hand)])), value);
  node.dataset.key = key.key;
  node.about = key;
  node.sought = `${key.key} ${key.about}`.toLowerCase();
  draw();
  return node;
}

const now = (key) => (key.kind === "secret" ? undefined : key.value);

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const short = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

function wrongInFile(key, { problems }) {
  return problems.filter((one) => one.key === key.key || one.key.startsWith(`${key.key}.`)).map((one) => one.text).join("; ");
}

function remarks(key) {
  const remark = (text) => el("p", { class: "muted small" }, text);
  const made = [];
  if (key.kind === "secret") made.push(remark(source(key)));
  if (key.variable && key.kind !== "secret") made.push(remark(`${key.variable} of the environment overrides it.`));
  if (key.why === "problems" && key.in_file && key.value !== null) made.push(remark(`In the file: ${told(key.value)}`));
  if (key.why && "in_force" in key) {
    const until = key.why === "restart" ? "In force until the next start" : "In force";
    made.push(remark(`${until}: ${told(key.in_force)}`));
  } else if (key.why === "restart") {
    made.push(remark("Another one is in force until the next start."));
  } else if (key.why === "problems" && key.kind === "secret") {
    made.push(remark("What was set before the problems of the file is in force."));
  }
  return made;
}

function source(key) {
  if (key.from === "environment") return `Set by the environment: ${key.variable}.`;
  if (key.from === "reference") return `The file names the environment: \${${key.variable}}.`;
  return FROM[key.from];
}
