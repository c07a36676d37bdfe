// The message field: sending, replying, editing, files and the commands menu.

import { $, el, toast } from "/page/dom.js";
import { act, base64 } from "/page/wire.js";

const MAX_UNITS = 4096;
const MAX_ALBUM = 10;
const CHIPS = ["remind me in 1 minute to stretch", "lunch 9.80", "el gato = the cat"];
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function kindOf(type) {
  if (IMAGES.includes(type)) return "photo";
  if (type === "audio/ogg") return "voice";
  if (type.startsWith("audio/")) return "audio";
  return type.startsWith("video/") ? "video" : "document";
}

export function composer({ where, attempt, bot }) {
  const field = $("text");
  let replyTo = null;
  let editing = null;
  let commands = [];
  let chosen = 0;

  const place = () => ({ user: where.user, chat: where.chat, thread: where.thread });

  async function say(text) {
    // The real apps cut a long paste into messages too.
    let reply = replyTo?.message_id ?? null;
    for (let at = 0, end; at < text.length; at = end) {
      end = Math.min(at + MAX_UNITS, text.length);
      if (end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1])) end -= 1;
      const piece = text.slice(at, end);
      await attempt(() => act("say", { ...place(), text: piece, reply_to: reply }));
      reply = null;
    }
  }

  async function submit() {
    const text = field.value;
    if (!text.trim() && !(editing && !editing.text)) return;
    field.value = "";
    grow();
    if (editing) await attempt(() => act("edit", { user: where.user, chat: where.chat, message_id: editing.message_id, text }));
    else await say(text);
    leave();
  }

  function grow() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 200)}px`;
    drawCommands();
  }

  function leave() {
    replyTo = null;
    editing = null;
    $("context").hidden = true;
    drawCommands();
  }

  function context(label, message) {
    $("context").hidden = false;
    $("context").querySelector("p").replaceChildren(el("strong", {}, label), el("span", {}, message.text ?? message.caption ?? "Attachment"));
    field.focus();
  }

  function matching() {
    const typed = /^\/([a-z0-9_]*)$/i.exec(field.value);
    return typed ? commands.filter((one) => one.command.startsWith(typed[1].toLowerCase())) : [];
  }

  function drawCommands() {
    const found = matching();
    chosen = Math.min(chosen, Math.max(0, found.length - 1));
    $("commands").hidden = found.length === 0;
    $("commands").replaceChildren(...found.map((one, index) =>
      el("li", { role: "option", "aria-selected": String(index === chosen), onclick: () => pick(one) },
        el("strong", {}, `/${one.command}`), el("span", {}, one.description))));
    $("commands").children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function pick(command) {
    const suffix = where.chat < 0 ? `@${bot().username}` : "";
    field.value = "";
    grow();
    say(`/${command.command}${suffix}`);
  }

  field.addEventListener("input", () => { chosen = 0; grow(); });
  field.addEventListener("keydown", (event) => {
    const found = matching();
    if (found.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      drawCommands();
    } else if (found.length && event.key === "Tab") {
      event.preventDefault();
      field.value = `/${found[chosen].command} `;
      grow();
    } else if (event.key === "Escape") {
      if (editing) field.value = "";
      leave();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (found.length && found[chosen].command !== field.value.slice(1)) pick(found[chosen]);
      else submit();
    }
  });
  $("composer").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  $("context").querySelector("button").addEventListener("click", () => { if (editing) field.value = ""; leave(); });
  $("file").addEventListener("change", async () => {
    const files = [...$("file").files];
    $("file").value = "";
    await sendFiles(files);
  });

  async function sendFiles(chosenFiles) {
    const files = chosenFiles.slice(0, MAX_ALBUM);
    let caption = field.value;
    let reply = replyTo?.message_id ?? null;
    field.value = "";
    leave();
    const kinds = files.map((file) => kindOf(file.type));
    // As in the real apps: pictures and videos are one album, other files only with their like.
    const family = new Set(kinds.map((kind) => (kind === "photo" || kind === "video" ? "seen" : kind)));
    const album = files.length > 1 && family.size === 1 && kinds[0] !== "voice" ? crypto.randomUUID() : "";
    for (const [index, file] of files.entries()) {
      const content = await base64(file);
      const mime = file.type || "application/octet-stream";
      const item = { kind: kinds[index], content, name: file.name, mime, caption, album, reply_to: reply };
      await attempt(() => act("send_file", { ...place(), ...item }));
      caption = "";
      reply = null;
    }
  }

  field.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    sendFiles(files);
  });
  const main = document.querySelector("main");
  main.addEventListener("dragover", (event) => {
    if (where.chat === null) return;
    event.preventDefault();
    main.classList.add("dropping");
  });
  main.addEventListener("dragleave", (event) => { if (!main.contains(event.relatedTarget)) main.classList.remove("dropping"); });
  main.addEventListener("drop", (event) => {
    event.preventDefault();
    main.classList.remove("dropping");
    if (where.chat !== null) sendFiles([...event.dataTransfer.files]);
  });

  let recorder = null;
  $("record").addEventListener("click", () => attempt(async () => {
    if (recorder) return void recorder.stop();
    let sound;
    try {
      sound = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      return void toast("No microphone: the browser gave none");
    }
    const parts = [];
    const type = ["audio/ogg;codecs=opus", "audio/webm;codecs=opus"].find((one) => MediaRecorder.isTypeSupported(one));
    recorder = new MediaRecorder(sound, type ? { mimeType: type } : {});
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", async () => {
      sound.getTracks().forEach((track) => track.stop());
      const mime = recorder.mimeType.split(";")[0];
      recorder = null;
      drawRecording();
      const content = await base64(new Blob(parts, { type: mime }));
      await attempt(() => act("send_file", { ...place(), kind: "voice", content, name: "voice.ogg", mime, caption: "", album: "", reply_to: null }));
    });
    recorder.start();
    drawRecording();
    return undefined;
  }));

  function drawRecording() {
    $("record").classList.toggle("busy", Boolean(recorder));
    $("record").setAttribute("aria-label", recorder ? "Stop and send" : "Record a voice message");
  }

  $("begin").addEventListener("click", () => say("/start"));

  function drawBegin(view, open) {
    const fresh = open.chat > 0 && !open.thread && !open.messages.length;
    $("begin").hidden = !fresh;
    const chips = (fresh ? CHIPS : []).map((text) => el("button", { type: "button", onclick: () => say(text) }, text));
    if (view.gift && open.chat > 0 && !open.thread && !fresh && !open.messages.some((one) => one.document?.file_name === view.gift)) {
      chips.push(el("button", { type: "button", onclick: () => attempt(() => act("give", place())) }, "📦 Send a pack"));
    }
    $("chips").replaceChildren(...chips);
    $("chips").hidden = !chips.length;
  }

  return {
    say,
    leave,
    reply: (message) => { editing = null; replyTo = message; context("Reply", message); },
    edit: (message) => { replyTo = null; editing = message; field.value = message.text ?? message.caption ?? ""; context("Edit", message); grow(); },
    draw: (view, open) => {
      commands = view.commands;
      drawBegin(view, open);
      const shut = open.closed ? "This topic is closed." : "";
      $("closed").textContent = shut;
      $("closed").hidden = !shut;
      $("composer").classList.toggle("shut", Boolean(shut));
      field.placeholder = open.blocked ? "The bot is blocked; a message starts it again" : "Message";
      drawCommands();
    },
  };
}
