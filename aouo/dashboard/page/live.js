// Reads what is open anew when something has changed: at most once a second, and only while seen.

const AT_MOST_EVERY_MS = 1000;
const followers = new Set();
let stream = null;
let timer = null;
let last = 0;

// Calls `read` when something has changed, until `signal` is aborted.
export function follow(read, signal) {
  followers.add(read);
  signal.addEventListener("abort", () => followers.delete(read));
  listen();
}

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource("/api/live");
  stream.addEventListener("changed", soon);
  stream.onerror = () => {
    soon();  // to say so
    if (stream?.readyState !== EventSource.CLOSED) return;  // it tries again by itself
    stream = null;
    setTimeout(listen, 5 * AT_MOST_EVERY_MS);
  };
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
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (followers.size) {
    listen();
  }
});
