// What is about to be said: words, files, and a command that is picked.

import { at, get, inWords, post, query, upload } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes } from "/page/format.js";

const FILES = 10;
const SHOWN = 200;
const KEPT = 100_000;  // characters, as many as can be said at once

// A name that no other request has; what is asked again with the same is done once.
export const fresh = () => [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");

// `failed` is told a sentence, "" = all is well; `told` the id and the words of what was said; `limit` is how large
// a file may be.
export function composer(chat, { failed, told, limit, signal }) {
  const kept = `say ${chat}`;  // where the tab keeps what is not said yet
  const begun = JSON.parse(sessionStorage.getItem(kept)) ?? { text: "", key: fresh() };
  let files = [];
  let { key } = begun;
  let commands = null;
  let found = [];
  let chosen = 0;
  let sending = false;
  const field = el("textarea", {
    id: "say", rows: "1", placeholder: "Write a message, or / for commands", "aria-label": "Message", "aria-controls": "picker",
    "aria-autocomplete": "list", oninput: () => { edited(); changed(); }, onkeydown: typed,
  });
  field.value = begun.text;
  fit();
  const picker = el("ul", { id: "picker", role: "listbox", "aria-label": "Commands", hidden: "" });
  const chips = el("ul", { class: "chips", "aria-label": "Files to send" });
  const chooser = el("input", { type: "file", multiple: "", hidden: "", onchange: () => { add(chooser.files); chooser.value = ""; } });
  const send = el("button", { type: "submit", class: "main" }, "Send");
  const buttons = el("div", { class: "acts" });
  const form = el("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); submit(); } },
    picker, chips, field, el("div", { class: "line" },
      el("button", { type: "button", onclick: () => chooser.click() }, "Add files"), chooser, buttons, send));

  async function say(text, name, ids = "") {
    const { id } = await post(at`/api/chats/${chat}/messages`, { text, files: ids, key: name });
    told(id, text.trim());
  }

  async function submit() {
    if (sending || !(field.value.trim() || files.length)) return;
    sending = send.disabled = true;
    const text = field.value;
    const sent = files;
    try {
      for (const one of sent) one.id ??= (await upload(at`/api/chats/${chat}/files` + query({ name: one.file.name.slice(0, 300) }), one.file)).file;
      await say(text, key, sent.map((one) => one.id).join(","));
      field.value = field.value.startsWith(text) ? field.value.slice(text.length) : field.value;  // they write on meanwhile
      files = files.filter((one) => !sent.includes(one));
      edited();
      failed("");
    } catch (error) {
      failed(inWords(error));
    }
    sending = send.disabled = false;
    draw();
    changed();
    field.focus();
  }

  function add(list) {
    for (const file of list) {
      if (file.size > limit) failed(`“${file.name}” is too large: ${bytes(limit)} at most.`);
      else if (files.length >= FILES) failed(`At most ${FILES} files can be sent at once.`);
      else files = [...files, { file }];
    }
    edited();
    draw();
    field.focus();
  }

  function draw() {
    chips.replaceChildren(...files.map((one) => el("li", {}, `${one.file.name} (${bytes(one.file.size)}) `,
      el("button", { type: "button", "aria-label": `Leave out ${one.file.name}`, onclick: () => { files = files.filter((other) => other !== one); edited(); draw(); } }, "×"))));
  }

  function fit() {
    field.rows = Math.min(8, field.value.split("\n").length);
  }

  // What is there now is another message than what may have been sent before.
  function edited() {
    key = fresh();
    sessionStorage.removeItem(kept);
    if (field.value && field.value.length <= KEPT) sessionStorage.setItem(kept, JSON.stringify({ text: field.value, key }));
  }

  async function changed() {
    fit();
    if (/^\/[\w-]*$/.test(field.value) && !commands) {
      try {
        commands = (await get(at`/api/chats/${chat}/commands`)).commands;
      } catch (error) {
        failed(inWords(error));
      }
    }
    const wanted = /^\/([\w-]*)$/.exec(field.value)?.[1].toLowerCase();
    found = wanted === undefined ? [] : (commands ?? []).filter(({ name }) => name.startsWith(wanted)).slice(0, SHOWN);
    chosen = 0;
    pick();
  }

  function pick() {
    picker.hidden = !found.length;
    picker.replaceChildren(...found.map(({ name, about }, index) => el("li", {
      id: `pick${index}`, role: "option", "aria-selected": String(index === chosen), onmousedown: (event) => { event.preventDefault(); take(index); },
    }, el("b", {}, `/${name}`), " ", el("span", { class: "muted" }, about))));
    if (found.length) {
      field.setAttribute("aria-activedescendant", `pick${chosen}`);
      picker.children[chosen].scrollIntoView({ block: "nearest" });
    } else {
      field.removeAttribute("aria-activedescendant");
    }
  }

  function take(index) {
    field.value = `/${found[index].name} `;
    edited();
    found = [];
    pick();
    field.focus();
  }

  function typed(event) {
    if (event.isComposing) return;
    if (found.length && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      pick();
    } else if (found.length && event.key === "Escape") {
      event.preventDefault();
      found = [];
      pick();
    } else if (found.length && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey
        && field.value !== `/${found[chosen].name}`) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      found = [];
      pick();
      submit();
    }
  }

  field.addEventListener("blur", () => { found = []; pick(); }, { signal });
  field.addEventListener("paste", (event) => { if (event.clipboardData?.files.length) { event.preventDefault(); add(event.clipboardData.files); } }, { signal });
  return { form, add, say, buttons, field };
}
