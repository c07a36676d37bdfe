// The chat with one pack.

import { conversation } from "/page/chat/conversation.js";

export const show = (root, place) => conversation(root, place, place.pack);
