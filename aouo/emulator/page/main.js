// The chat page: one open conversation, redrawn at every change of the emulator.

import { $, alertBox, ask, avatar, el, toast } from "/page/dom.js";
import { composer } from "/page/composer.js";
import { drawConversations, drawPeople } from "/page/conversations.js";
import { draftNode, messageNode } from "/page/message.js";
import { Refused, act, changes } from "/page/wire.js";

const where = { user: 1001, chat: null, thread: null };
let view = null;
let drawn = new Map();
let drawnFor = "";
let timer = 0;
const about = el("p", {}, "");
const hint = el("li", { class: "service about" }, el("strong", {}, "What can this bot do?"), about);

function readHash() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (hash.has(name) ? Number(hash.get(name)) : null);
  where.user = number("as") ?? where.user;
  where.chat = number("chat");
  where.thread = number("thread");
  if (where.thread === 1 && where.chat < 0) where.thread = null;
  document.body.dataset.pane = where.chat === null ? "list" : "chat";
}

function go(target) {
  const next = { ...where, ...target };
  const hash = new URLSearchParams();
  if (next.chat !== null) hash.set("chat", next.chat);
  if (next.thread !== null) hash.set("thread", next.thread);
  hash.set("as", next.user);
  location.hash = hash.toString();
}

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    toast(error.message.replace(/^Bad Request: /, ""));
    return undefined;
  }
}

const on = {
  reply: (message) => writing.reply(message),
  edit: (message) => writing.edit(message),
  react: (message) => attempt(() => act("react", {
    user: where.user, chat: where.chat, message_id: message.message_id, emoji: message.reactions.includes("👍") ? "" : "👍",
  })),
  command: (text) => writing.say(text),
  button: tapped,
  stop: () => attempt(() => act("stop_draft", { ...where })),
};

const writing = composer({ where, attempt, bot: () => view.bot });

async function tapped(message, button, node) {
  if (button.url) return void window.open(button.url, "_blank", "noopener");
  if (button.copy_text) {
    await navigator.clipboard.writeText(button.copy_text.text);
    return toast("Copied");
  }
  if (!button.callback_data) return toast("The emulator does not open this kind of button");
  node.classList.add("busy");
  const answer = await attempt(async () => {
    const tap = await act("tap", {
      user: where.user, chat: where.chat, message_id: message.message_id, data: button.callback_data,
    });
    return act("answer", { query_id: tap.query_id, timeout_s: 15 });
  });
  node.classList.remove("busy");
  if (answer?.text) return answer.show_alert ? alertBox(answer.text) : toast(answer.text);
  return undefined;
}

async function refresh() {
  const asked = JSON.stringify(where);
  const found = await act("view", { ...where });
  if (asked !== JSON.stringify(where)) return;
  view = found;
  drawPeople(view, where, go);
  drawConversations(view, where, { go, newTopic });
  drawOpen();
}

function drawOpen() {
  const open = view.open;
  document.querySelector("main").classList.toggle("empty", !open);
  $("nothing").hidden = Boolean(open);
  if (!open) return;
  const conversation = view.conversations.find((one) => one.chat === open.chat);
  const topic = conversation.topics.find((one) => one.message_thread_id === open.thread);
  const isForum = conversation.kind === "forum";
  drawHead(conversation, topic, open);
  drawMessages(open, conversation);
  writing.draw(view, open);
  about.textContent = view.about;
  $("banner").textContent = view.banner;
  $("banner").hidden = !view.banner;
  document.title = `${topic?.name ?? conversation.title}${isForum ? ` – ${conversation.title}` : ""}`;
}

function drawHead(conversation, topic, open) {
  const isForum = conversation.kind === "forum";
  const name = topic?.name ?? (isForum ? "General" : conversation.title);
  $("title").textContent = name;
  const activity = open.typing?.action.replace("_", " ") ?? (open.draft ? "typing" : "");
  $("subtitle").textContent = activity ? `${view.bot.first_name} is ${activity === "typing" ? "typing" : `at it: ${activity}`}` : subtitle(conversation, topic);
  $("subtitle").classList.toggle("busy", Boolean(activity));
  const face = avatar(isForum ? "#" : name, topic?.message_thread_id ?? conversation.chat);
  face.id = "head-avatar";
  $("head-avatar").replaceWith(face);
  $("actions").replaceChildren(...actionButtons(conversation, topic, open));
  clearTimeout(timer);
  const ends = [open.typing?.for_s, open.draft?.for_s].filter(Boolean);
  if (ends.length) timer = setTimeout(() => attempt(refresh), Math.min(...ends) * 1000 + 50);
}

function subtitle(conversation, topic) {
  const { kind, title, members } = conversation;
  const group = kind === "forum" ? title : null;
  // A topic's own buttons leave no room for the members on a phone.
  const what = kind === "private" ? "bot" : topic ? null : `${members} members`;
  return [group, what, `@${view.bot.username}`].filter(Boolean).join(" · ");
}

function actionButtons(conversation, topic, open) {
  const button = (text, run) => {
    const node = document.createElement("button");
    node.type = "button";
    node.textContent = text;
    node.addEventListener("click", () => attempt(run));
    return node;
  };
  const who = { user: where.user };
  if (conversation.kind === "private" && !topic) {
    return [button(open.blocked ? "Unblock" : "Block", () => act(open.blocked ? "unblock" : "block", who))];
  }
  if (!topic) return [];
  const at = { ...who, chat: where.chat, thread: where.thread };
  return [
    button("Rename", async () => {
      const asked = await ask("Rename the topic", { value: topic.name });
      if (asked) await act("topic_renamed", { ...at, name: asked.value });
    }),
    button(topic.closed ? "Reopen" : "Close", () => act("topic_closed", { ...at, closed: !topic.closed })),
    button("Delete", async () => {
      await act("topic_deleted", at);
      go({ thread: null });
    }),
  ];
}

function drawMessages(open, conversation) {
  const grouped = conversation.kind !== "private";
  const key = `${where.user}/${open.chat}/${open.thread}`;
  const fresh = key !== drawnFor;
  const said = open.messages.some((one) => one.from.id === where.user && !drawn.has(one.message_id));
  const atNewest = fresh || said || nearEnd();
  if (fresh) drawn = new Map();
  drawnFor = key;
  const kept = new Map();
  let before = null;
  for (const message of open.messages) {
    const follows = before !== null && before.from.id === message.from.id && !isService(before) && message.date - before.date < 300;
    const album = follows && Boolean(message.media_group_id) && message.media_group_id === before.media_group_id;
    const text = JSON.stringify([message, follows, album]);
    const old = drawn.get(message.message_id);
    const node = old?.text === text ? old.node : messageNode(message, { me: where.user, grouped, follows, album, on });
    kept.set(message.message_id, { text, node });
    before = message;
  }
  drawn = kept;
  const nodes = [...kept.values()].map((one) => one.node);
  if (open.draft) nodes.push(draftNode(open.draft, on));
  if (!nodes.length && !grouped) nodes.push(hint);
  const list = $("messages");
  const same = nodes.length === list.children.length && nodes.every((node, index) => node === list.children[index]);
  if (!same) list.replaceChildren(...nodes);
  if (atNewest) toEnd();
}

function nearEnd() {
  const scroll = $("scroll");
  return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
}

function toEnd() {
  $("scroll").scrollTop = $("scroll").scrollHeight;
}

function isService(message) {
  return !["text", "caption", "photo", "document", "audio", "voice", "video"].some((name) => name in message);
}

async function newTopic(chat) {
  const asked = await ask("New topic");
  if (!asked) return;
  const topic = await attempt(() => act("topic_created", { user: where.user, chat, name: asked.value }));
  if (topic) go({ chat, thread: topic.message_thread_id });
}

async function newGroup() {
  const choices = [["group", "A group"], ["forum", "A forum with topics"]];
  const asked = await ask("New group with everybody and the bot", { choices });
  if (!asked) return;
  const others = view.people.map((person) => person.id).filter((id) => id !== where.user);
  const chat = await attempt(() => act("create_chat", {
    title: asked.value, kind: asked.choice, members: [where.user, ...others],
  }));
  if (chat) go({ chat: chat.id, thread: null });
}

async function follow() {
  let since = -1;
  for (;;) {
    try {
      since = await changes(since);
      await refresh();
      $("offline").hidden = true;
    } catch {
      $("offline").hidden = false;
      since = -1;
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  }
}

addEventListener("hashchange", () => { readHash(); writing.leave(); attempt(refresh); });
$("back").addEventListener("click", () => go({ chat: null, thread: null }));
$("new-group").addEventListener("click", newGroup);
$("scroll").addEventListener("scroll", () => {
  const scroll = $("scroll");
  $("down").hidden = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 300;
});
let atEnd = true;
$("scroll").addEventListener("scroll", () => { atEnd = nearEnd(); });
// Pictures and the message field change heights; whoever was at the end stays there.
const keepEnd = new ResizeObserver(() => { if (atEnd) toEnd(); });
keepEnd.observe($("messages"));
keepEnd.observe($("scroll"));
$("down").addEventListener("click", toEnd);
readHash();
if (where.chat === null && matchMedia("(min-width: 721px)").matches) go({ chat: where.user });
follow();
