// What a pack is, what it may do and brings, and what is wrong with it.

import { at, get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes, moment } from "/page/format.js";
import { card, key, line, table } from "/page/parts.js";
import { problemText, waiting } from "/page/views/packs.js";

export async function show(root, place) {
  await place.follow(async () => {
    const pack = await get(at`/api/packs/${place.pack}`);
    root.replaceChildren(...(pack.loads ? about(pack) : broken(pack)));
  });
}

const list = (lines) => el("ul", {}, ...lines.map((line) => el("li", { dir: "auto" }, line)));

const broken = (pack) => [card("It does not load",
  el("p", {}, "What it kept stays where it is. When this is mended, `aouo reload` takes it up."),
  list(pack.problems.map(problemText)))];

// Removing takes two presses; what the pack keeps stays for another time.
function removing(pack) {
  const told = el("p", { class: "muted", role: "status" });
  const sure = key("remove-sure", `Yes, remove ${pack.name}`, async () => {
    try {
      await post(at`/api/packs/${pack.name}/remove`, {});
      location.hash = "#/packs";
    } catch (error) {
      told.textContent = inWords(error);
    }
  }, { hidden: "" });
  const ask = key("remove", "Remove", () => {
    told.textContent = "Its data stays: installing it again goes on with it.";
    sure.hidden = false;
    ask.hidden = true;
    sure.focus();
  });
  return [line(ask, sure), told];
}

function about(pack) {
  return [
    ...waiting(pack.changes),
    card(pack.display_name || pack.name, el("p", { dir: "auto" }, pack.description),
      el("p", { class: "muted" }, `${pack.name} ${pack.version} · ${pack.files} files, ${bytes(pack.size_bytes)} · `
        + `fingerprint ${pack.content.slice(0, 16)}`),
      el("p", { class: "muted", dir: "auto" }, installed(pack.install), " ", pack.signed),
      ...(pack.unread ? [el("p", { class: "problem" }, `${pack.unread}. \`aouo reload\` takes it up.`)] : []),
      ...removing(pack)),
    ...(pack.warnings.length || pack.problems.length
      ? [card("Warnings", list([...pack.problems.map(problemText), ...pack.warnings]))] : []),
    el("div", { class: "grid" },
      card("It may", list(pack.may)),
      card("It brings", list(pack.brings)),
      card("Skills", table("Skills", [
        ["Skill", (name) => el("bdi", {}, pack.titles[name] ?? name)],
        ["Name", (name) => el("code", {}, name)],
      ], pack.skills, "It has none.")),
      card("Data", table("Data that it keeps", [
        ["Table", ([name]) => el("a", { href: at`#/packs/${pack.name}/storage` }, el("bdi", {}, name))],
        ["Columns", ([, columns]) => columns.map((column) => column.name).join(", ")],
      ], Object.entries(pack.tables), "It keeps no rows."),
        el("p", { class: "muted" }, pack.scope === "person" ? "Each person's apart." : "All people share it."))),
  ];
}

const installed = (install) => (install ? `Installed ${moment(install.installed_at)} from ${install.source}.`
  : "Used where it lies, by a link or a folder.");
