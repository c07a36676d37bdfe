// Reads what is open anew when something has changed: at most once a second, and only while seen.

import { stream } from "/page/stream.js";

const PATH = "/api/live";
const AT_MOST_EVERY_MS = 1000;
const followers = new Set();
let following = null;
let timer = null;
let last = 0;

// Calls `read` when something has changed, until `signal` is aborted.
export function follow(read, signal) {
  followers.add(read);
  signal.addEventListener("abort", () => followers.delete(read));
  listen();
}

function listen() {
  if (following || document.hidden) return;
  following = new AbortController();
  stream(PATH, ["changed"], () => PATH, (kind, over) => {
    if (kind === "open") return;
    soon();  // of one that is lost, to say so
    if (kind !== "lost" || !over) return;
    leave();
    setTimeout(listen, 5 * AT_MOST_EVERY_MS);
  }, following.signal);
}

function leave() {
  following?.abort();
  following = null;
}

function soon() {
  timer ??= setTimeout(readAll, Math.max(0, last + AT_MOST_EVERY_MS - Date.now()));
}

async function readAll() {
  await Promise.allSettled([...followers].map((read) => read()));
  last = Date.now();
  timer = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
  else if (followers.size) listen();
});
