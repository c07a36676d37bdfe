// Parts of what is shown of tool calls, in Security and in a pack's Permissions.

import { at, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes, count, moment } from "/page/format.js";
import { table } from "/page/parts.js";

// A text of others, whose signs of direction reach no further than itself.
export const isolated = (text) => el("bdi", {}, text);

// The beginning of a text, and how long the whole is if there is more; `tag` is "pre" for what a program reads.
export const excerpt = ({ text, bytes: size, cut }, tag = "div") => el("div", {}, el(tag, { dir: "auto", class: "quoted" }, text),
  ...(cut ? [el("p", { class: "muted" }, `the beginning of ${bytes(size)}`)] : []));

export const turn = (id) => el("a", { href: at`#/turns/${id}`, title: id, "aria-label": `Turn ${id}` }, id.slice(-8));

const covers = ({ kind, target }) => (kind === "folder" ? `${target} and below` : target === "*" ? "every call" : target);

export const grants = (rows, told, read) => table("Allowed for good", [
  ["Pack", (row) => isolated(row.pack)], ["Tool", (row) => isolated(row.tool), "short"],
  ["What", (row) => isolated(covers(row)), "words"], ["For", (row) => isolated(row.person), "short"], ["Since", (row) => moment(row.since), "short"],
  ["Uses of the tool by grants", (row) => (row.times ? `${count(row.times)}, last ${moment(row.last)}` : "none"), "short"],
  ["", (row) => el("button", { type: "button", class: "alarm", id: `revoke-${row.id}`,
    "aria-label": `Take back ${row.tool} of ${row.pack}: ${covers(row)}`, onclick: async () => {
      try {
        await post(at`/api/grants/${row.id}/revoke`);
        told.textContent = `Taken back: ${row.tool} of ${row.pack}: ${covers(row)}.`;
      } catch (error) {
        told.textContent = inWords(error);
      }
      await read();
      told.focus();  // its button is gone
    } }, "Take back")],
], rows, "Nothing is allowed for good. “Always” under a question does so.");
