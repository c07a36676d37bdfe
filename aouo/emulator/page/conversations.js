// The left side: who you are and the conversations.

import { $, avatar, clockTime, el } from "/page/dom.js";
import { fullName } from "/page/message.js";

export function drawPeople(view, where, go) {
  $("people").replaceChildren(...view.people.map((person) => {
    const chosen = person.id === where.user;
    const node = el("button", { type: "button", "aria-pressed": String(chosen) },
      avatar(fullName(person), person.id, "small"), fullName(person));
    // A private chat belongs to its person; other conversations stay open.
    const own = where.chat !== null && where.chat > 0;
    node.addEventListener("click", () => go(own ? { user: person.id, chat: person.id, thread: null } : { user: person.id }));
    return node;
  }));
}

export function drawConversations(view, where, { go, newTopic }) {
  $("conversations").replaceChildren(...view.conversations.map((conversation) => {
    const open = (thread) => go({ chat: conversation.chat, thread });
    const current = (thread) => where.chat === conversation.chat && where.thread === thread;
    const row = (item, name, face, thread, extra = "") => {
      const node = el("button", { type: "button", class: `conversation ${extra}`, "aria-current": current(thread) ? "true" : null, onclick: () => open(thread) },
        face,
        el("span", { class: "names" },
          el("span", { class: "line" }, el("strong", {}, name), el("time", {}, item.preview ? clockTime(item.last_at) : "")),
          el("span", { class: "line" }, el("small", {}, item.closed ? "closed" : item.preview),
            item.unread ? el("b", { class: "badge", "aria-label": `${item.unread} unread` }, String(item.unread)) : null)));
      return node;
    };
    const topics = conversation.topics.map((topic) => row(topic, topic.name, hash(topic), topic.message_thread_id, "topic"));
    if (conversation.kind !== "forum") {
      const face = avatar(conversation.title, conversation.chat);
      const more = conversation.has_topics
        ? el("button", { type: "button", class: "more", onclick: () => newTopic(conversation.chat) }, "+ Topic")
        : null;
      return el("section", {}, row(conversation, conversation.title, face, null), ...topics, more);
    }
    return el("section", { class: "forum" },
      el("h2", {}, avatar(conversation.title, conversation.chat), el("strong", {}, conversation.title),
        el("button", { type: "button", onclick: () => newTopic(conversation.chat) }, "+ Topic")),
      row(conversation, "General", hash({ message_thread_id: 1 }), null, "topic"),
      ...topics);
  }));
}

function hash(topic) {
  return avatar("#", topic.message_thread_id, "small");
}
