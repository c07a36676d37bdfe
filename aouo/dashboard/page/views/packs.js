// The packs as cards, and each as a workspace with tabs.

import { at, get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { moment } from "/page/format.js";
import { card, key, line, tabs } from "/page/parts.js";

// The tabs in their order; a tab is views/pack/<name>.js and shows itself as a view does, with `place.pack`.
const TABS = [
  ["chat", "Chat"],
  ["about", "About"],
  ["memory", "Memory"],
  ["storage", "Storage"],
  ["schedules", "Schedules"],
  ["permissions", "Permissions"],
  ["logs", "Logs"],
  ["evals", "Evals"],
];

export async function show(root, place) {
  const [pack, tab = TABS[0][0]] = place.rest;
  if (pack) await workspace(root, place, pack, tab);
  else await place.follow(async () => root.replaceChildren(...all(await get("/api/packs"))));
}

function all({ packs, broken, unread, changes }) {
  const named = new Set(packs.map((pack) => pack.name));
  const cards = [
    ...packs.map((pack) => loaded(pack, unread[pack.name], broken[pack.name])),
    ...Object.entries(broken).filter(([name]) => !named.has(name)).map(([name, problems]) => lost(name, problems)),
    ...Object.entries(unread).filter(([name]) => !named.has(name) && !(name in broken)).map(([name, why]) =>
      card("", el("h3", {}, el("bdi", {}, name)), el("p", { class: "muted" }, `${why}. \`aouo reload\` takes it up.`))),
  ];
  const told = el("p", { role: "status", class: "problem" });
  return [line(el("h2", {}, "Packs"), key("install", "Install or upgrade", () => inChat("/install", told))), told, ...waiting(changes), cards.length ? el("div", { class: "grid" }, ...cards)
    : el("p", { class: "empty" }, "No pack is installed.")];
}

// Says a command in the chat of no pack, where its card appears with the buttons that it has elsewhere.
async function inChat(text, told) {
  try {
    await post("/api/chats/~/messages", { text, key: crypto.randomUUID() });
    location.hash = "#/chat";
  } catch (error) {
    told.textContent = inWords(error);
  }
}

function loaded(pack, unread, problems) {
  const skills = pack.skills.length;
  return card("", el("h3", {}, el("a", { href: at`#/packs/${pack.name}` }, el("bdi", {}, pack.name))),
    el("p", { dir: "auto" }, pack.description),
    el("p", { class: "muted" }, el("bdi", {}, pack.display_name || pack.name), ` ${pack.version} · ${skills === 1 ? "1 skill" : `${skills} skills`}`),
    ...(unread ? [el("p", { class: "problem" }, `${unread}.`)] : []),
    ...said("warning", pack.warnings), ...said("error", (problems ?? []).map(problemText)));
}

const lost = (name, problems) => card("",
  el("h3", {}, el("a", { href: at`#/packs/${name}` }, el("bdi", {}, name))),
  el("p", { class: "problem" }, "It does not load."), ...said("error", problems.map(problemText)));

const said = (kind, lines) => (lines.length ? [el("ul", { class: kind === "error" ? "problem" : "muted" },
  ...lines.slice(0, 5).map((line) => el("li", { dir: "auto" }, line)),
  ...(lines.length > 5 ? [el("li", {}, `and ${lines.length - 5} more`)] : []))] : []);

export const problemText = (problem) => [
  problem.line ? `${problem.file}:${problem.line}` : problem.file, problem.field, problem.message,
].filter(Boolean).join(": ");

const KINDS = { install: "installing", upgrade: "upgrading", remove: "removing" };

export function waiting(changes) {
  return changes.map((change) => card("", el("p", {},
    change.state === "offered" ? "Waits for your yes: " : "At work: ",
    `${KINDS[change.kind] ?? change.kind} `, el("bdi", {}, change.pack), ` ${change.version}, since ${moment(change.created_at)}.`,
    ...(change.why ? [` ${change.why}`] : []))));
}

async function workspace(root, place, pack, tab) {
  const body = el("div");
  root.append(line(el("h2", {}, el("bdi", {}, pack))),
    tabs(`Parts of ${pack}`, TABS.map(([name, text]) => [at`#/packs/${pack}/${name}`, text]), at`#/packs/${pack}/${tab}`), body);
  if (!TABS.some(([name]) => name === tab)) {
    body.append(el("p", {}, "There is no such part of a pack."));
    return;
  }
  const module = await import(`/page/views/pack/${tab}.js`);
  if (!place.signal.aborted) await module.show(body, { ...place, pack });
}
