// One message of a chat: who said it, its words, its files, its buttons.

import { at } from "/page/api.js";
import { el } from "/page/dom.js";
import { moment } from "/page/format.js";
import { link, marked } from "/page/chat/marked.js";

const REST_MS = 2000;

// `tap` is called with the data of a button that is tapped. `before` is how the message was shown: off the record
// its words stay as long as the page does.
export function message(chat, one, tap, before) {
  const who = one.by === "person" ? "You" : "aouo";
  const hidden = one.state === "off_record" && !one.text && !one.files.length;
  if (hidden && before?.text) one = { ...one, text: before.text, entities: before.entities };
  const words = one.text ? [el("div", { class: "words" }, ...marked(one.text, one.entities))] : [];
  if (one.state === "off_record") {
    words.push(el("p", { class: "muted" }, one.text ? "Off the record: it is not kept." : "Something was said off the record."));
  }
  const node = el("li", { class: `said ${one.by}`, id: `m${one.id}` },
    el("p", { class: "who muted" }, el("span", {}, who), " ", el("time", { datetime: one.at, title: moment(one.at) }, when(one.at))),
    ...one.files.map((file) => attached(chat, one, file)), ...words, ...keyboard(one, tap));
  return { node, shown: one };
}

// The time alone of what was said today.
const when = (iso) => moment(iso, new Date(iso).toDateString() === new Date().toDateString() ? { timeStyle: "short" } : undefined);

function attached(chat, one, file) {
  const href = file.url || at`/api/chats/${chat}/messages/${one.id}/files/${file.number}`;
  if (file.url) return el("p", { class: "file" }, /^https?:\/\//i.test(file.url) ? link(file.url, [file.url]) : file.url);
  const name = el("a", { href, download: file.name }, file.name);
  if (file.kind === "photo") return el("p", { class: "file" }, el("a", { href, download: file.name }, el("img", { src: href, alt: file.name, loading: "lazy" })));
  if (file.kind === "audio" || file.kind === "voice") return el("p", { class: "file" }, el("audio", { controls: "", preload: "none", src: href, "aria-label": file.name }), name);
  if (file.kind === "video") return el("p", { class: "file" }, el("video", { controls: "", preload: "none", src: href, "aria-label": file.name }), name);
  return el("p", { class: "file" }, "📎 ", name);
}

function keyboard(one, tap) {
  if (!one.buttons.length) return [];
  const rows = el("div", { class: "keys", role: "group", "aria-label": "Answers" });
  rows.append(...one.buttons.map((row) => el("div", {}, ...row.map(({ label, data }) =>
    el("button", { type: "button", onclick: () => pressed(rows.querySelectorAll("button"), () => tap(one.id, data)) }, label)))));
  return [rows];
}

// Has `work` done, and lets `buttons` rest after it, so that a double click counts once; `work` returns whether it was done.
export async function pressed(buttons, work) {
  const rest = (resting) => { for (const one of buttons) one.disabled = resting; };
  rest(true);
  setTimeout(rest, await work() ? REST_MS : 0, false);
}
