// The chat that belongs to no pack.

import { el } from "/page/dom.js";
import { conversation } from "/page/chat/conversation.js";

export async function show(root, place) {
  const body = el("div");
  root.append(el("h2", {}, "Chat"), el("p", { class: "muted" }, "Whichever pack you choose answers here. Each pack has a chat of its own, too."), body);
  await conversation(body, place, "~");
}
