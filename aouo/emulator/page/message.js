// One message as an element.

import { clockTime, el, avatar } from "/page/dom.js";
import { formatted } from "/page/format.js";

const FILES = ["audio", "voice", "document", "video", "video_note", "animation", "sticker"];
const KIND = {
  audio: "Audio", voice: "Voice message", document: "File", video: "Video",
  video_note: "Video message", animation: "Animation", sticker: "Sticker",
};

export function messageNode(message, { me, grouped, follows, album, on }) {
  const service = serviceText(message);
  if (service) return el("li", { class: "service" }, el("span", {}, service));
  const own = message.from.id === me;
  const name = fullName(message.from);
  const showsName = grouped && !own && !follows;
  const author = showsName ? el("p", { class: "author" }, name) : null;
  if (author) author.dataset.color = Math.abs(message.from.id) % 7;
  const bubble = el(
    "div",
    { class: "bubble" },
    author,
    replyNode(message),
    mediaNode(message),
    textNode(message, on),
    metaNode(message, own),
  );
  const tools = el(
    "div",
    { class: "tools" },
    el("button", { type: "button", title: "Reply", "aria-label": "Reply", onclick: () => on.reply(message) }, "↩"),
    own && editable(message) ? el("button", { type: "button", title: "Edit", "aria-label": "Edit", onclick: () => on.edit(message) }, "✎") : null,
    el("button", { type: "button", title: "React with 👍", "aria-label": "React with 👍", onclick: () => on.react(message) }, "👍"),
  );
  const item = el("li", { class: `message ${own ? "own" : "other"} ${follows ? "follows" : ""} ${album ? "album" : ""}` });
  if (grouped && !own) {
    item.append(follows ? el("span", { class: "avatar small ghost" }) : avatar(name, message.from.id, "small"));
  }
  bubble.addEventListener("click", () => {
    document.querySelector(".message.chosen")?.classList.remove("chosen");
    item.classList.add("chosen");
  });
  const column = el("div", { class: "column" }, bubble, keyboardNode(message, on));
  item.append(column, tools);
  return item;
}

function editable(message) {
  return message.text !== undefined || message.photo || FILES.some((kind) => kind !== "sticker" && message[kind]);
}

export function draftNode(draft, on) {
  const bubble = el("div", { class: "bubble draft" }, el("p", { class: "text" }, draft.text));
  const stop = draft.can_stop ? el("div", { class: "keyboard" }, el("div", {}, el("button", { type: "button", onclick: on.stop }, "Stop"))) : null;
  return el("li", { class: "message other" }, el("div", { class: "column" }, bubble, stop));
}

export function fullName(user) {
  return [user.first_name, user.last_name].filter(Boolean).join(" ");
}

function replyNode(message) {
  const target = message.reply_to_message;
  if (!target || target.forum_topic_created) return null;
  const text = message.quote?.text ?? (target.text || target.caption || "Attachment");
  return el("div", { class: "reply" },
    el("strong", {}, fullName(target.from)),
    el("span", {}, text.slice(0, 120)));
}

function mediaNode(message) {
  if (message.photo) {
    const { file_id: id, width, height } = message.photo.at(-1);
    if (message.media_url) return fileCard("Photo", message.media_url, message.media_url);
    return el("img", { class: "photo", src: `/emulator/media/${id}`, width, height, alt: message.caption || "Photo" });
  }
  const kind = FILES.find((name) => message[name]);
  if (!kind) return otherNode(message);
  const file = message[kind];
  const source = message.media_url || `/emulator/media/${file.file_id}`;
  const playable = (kind === "voice" || kind === "audio") && !message.media_url;
  if (playable) {
    return el("div", { class: "sound" },
      el("strong", {}, file.title || file.file_name || KIND[kind]),
      el("audio", { controls: true, preload: "none", src: source }));
  }
  const size = file.file_size ? ` · ${readableSize(file.file_size)}` : "";
  return fileCard(file.file_name || KIND[kind], message.media_url || `${KIND[kind]}${size}`, source);
}

function otherNode(message) {
  if (message.location) return el("p", { class: "text" }, `📍 ${message.location.latitude}, ${message.location.longitude}`);
  if (message.contact) return el("p", { class: "text" }, `👤 ${message.contact.first_name} ${message.contact.phone_number}`);
  if (message.dice) return el("p", { class: "text" }, `${message.dice.emoji} ${message.dice.value}`);
  return null;
}

function fileCard(title, detail, source) {
  return el("a", { class: "file", href: source, target: "_blank", rel: "noopener noreferrer" },
    el("span", { class: "icon", "aria-hidden": "true" }, "⬇"),
    el("span", {}, el("strong", {}, title), el("small", {}, detail)));
}

function readableSize(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function textNode(message, on) {
  const text = message.text ?? message.caption;
  if (!text) return null;
  const entities = message.entities ?? message.caption_entities ?? [];
  return el("div", { class: "text", dir: "auto" }, formatted(text, entities, on.command));
}

function metaNode(message, own) {
  const reactions = message.reactions.map((emoji) => el("span", { class: "reaction" }, emoji));
  const edited = message.edit_date ? "edited " : "";
  return el("div", { class: "meta" },
    el("span", { class: "reactions" }, ...reactions),
    el("time", {}, `${edited}${clockTime(message.date)}`),
    own ? el("span", { class: "ticks", title: "Read", "aria-label": "Read" }, "✓✓") : null);
}

function keyboardNode(message, on) {
  const rows = message.reply_markup?.inline_keyboard;
  if (!rows) return null;
  return el("div", { class: "keyboard" }, ...rows.map((row) => el("div", {}, ...row.map((button) => {
    const mark = button.url ? " ↗" : "";
    const node = el("button", { type: "button" }, `${button.text}${mark}`);
    if (button.style) node.dataset.style = button.style;
    node.addEventListener("click", () => on.button(message, button, node));
    return node;
  }))));
}

function serviceText(message) {
  const who = fullName(message.from);
  const names = (users) => users.map(fullName).join(", ");
  if (message.forum_topic_created) return `${who} created the topic “${message.forum_topic_created.name}”`;
  if (message.forum_topic_edited) return `${who} renamed the topic to “${message.forum_topic_edited.name}”`;
  if (message.forum_topic_closed) return `${who} closed the topic`;
  if (message.forum_topic_reopened) return `${who} reopened the topic`;
  if (message.new_chat_members) return `${names(message.new_chat_members)} joined`;
  if (message.left_chat_member) return `${fullName(message.left_chat_member)} left`;
  if (message.group_chat_created || message.supergroup_chat_created) return `${who} created the group`;
  if (message.migrate_to_chat_id || message.migrate_from_chat_id) return "The group became a supergroup";
  return "";
}
