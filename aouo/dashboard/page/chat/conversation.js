// One chat: what was said, what is being said, and what can be done about it.

import { at, get, inWords, post, query, whileTrying } from "/page/api.js";
import { el } from "/page/dom.js";
import { composer, fresh } from "/page/chat/composer.js";
import { message, pressed } from "/page/chat/message.js";
import { stream } from "/page/stream.js";

const KINDS = ["message", "standing", "action", "notice", "anew"];
const AGAIN_MS = 2000;
const ACTION_MS = 5500;
const NOTICE_MS = 8000;
const SPOKEN = 600;

export async function conversation(root, place, chat) {
  const path = at`/api/chats/${chat}`;
  const said = new Map();  // id -> { node, shown }
  const own = new Map();  // id -> words said in this window, which off the record only it has
  const unanswered = new Map();  // what was pressed -> the key it is asked with until it is answered
  let last = 0;
  let older = 0;
  let following = null;
  let waits = null;
  let lost = false;
  let acts = null;
  let standing = { busy: false, asks: false };
  let spoken = 0;
  let stuck = true;

  const list = el("ol", { class: "chat" });
  const more = el("button", { type: "button", hidden: "", onclick: () => loadOlder() }, "Show older messages");
  const empty = el("p", { class: "empty", hidden: "" }, 
    "Nothing has been said here yet. Write the first message below. What is kept and remembered of you is the same as in your "
    + "other chats; what was said there is not repeated here.");
  const pane = el("div", { class: "pane", tabindex: "0", role: "region", "aria-label": "Messages" }, more, empty, list);
  const below = el("button", { type: "button", class: "below", hidden: "", onclick: () => { toEnd(); pane.focus({ preventScroll: true }); } }, "New below ↓");
  const status = el("p", { class: "muted status", role: "status" });
  const notice = el("p", { class: "problem", role: "alert", hidden: "" });
  const aloud = el("div", { class: "aloud", "aria-live": "polite" });
  const stop = el("button", { type: "button", class: "alarm", hidden: "", onclick: () => command(stop, "/stop") }, "Stop");
  const retry = el("button", { type: "button", hidden: "", onclick: () => command(retry, "/retry") }, "Try again");

  function failed(text) {
    notice.textContent = text;
    notice.hidden = !text;
  }

  async function attempt(work) {
    try {
      await work();
      failed("");
      return true;
    } catch (error) {
      failed(inWords(error));
      return false;
    }
  }

  async function once(what, work) {
    if (!unanswered.has(what)) unanswered.set(what, fresh());
    const done = await attempt(() => work(unanswered.get(what)));
    if (done) unanswered.delete(what);
    field.field.focus({ preventScroll: true });  // the button cannot keep it
    return done;
  }

  const tap = (id, data) => once(`${id} ${data}`, (key) => post(`${path}/taps`, { key, message: id, data }));
  const command = (button, text) => pressed([button], () => once(text, (key) => field.say(text, key)));
  const first = await get(path);
  if (place.signal.aborted) return;
  const field = composer(chat, { failed, told, limit: first.upload_bytes, signal: place.signal });
  field.buttons.append(retry, stop);
  root.append(pane, below, status, notice, aloud,
    first.running ? field.form : el("p", { class: "muted" }, "No bot runs; this is what is stored, to be read only."));

  function atEnd() {
    return pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80;
  }

  function toEnd() {
    pane.scrollTop = pane.scrollHeight;
    stuck = true;
    below.hidden = true;
  }

  // Shows what has come at the end, or says that it has, to who reads above.
  function follow() {
    if (stuck) toEnd();
    else below.hidden = false;
  }

  function stand(now) {
    if (now.busy !== standing.busy) for (const text of ["/stop", "/retry"]) unanswered.delete(text);  // it would mean another turn
    standing = now;
  }

  function told(id, text) {
    own.set(id, text);
    if (said.has(id)) put(said.get(id).shown);
    toEnd();
  }

  function put(one) {
    const before = said.get(one.id);
    if (one.state === "off_record" && !one.text && own.has(one.id)) one = { ...one, text: own.get(one.id), entities: [] };
    if (one.state === "deleted") {
      before?.node.remove();
      said.delete(one.id);
      return;
    }
    const now = message(chat, one, tap, before?.shown);
    if (before) {
      const held = before.node.contains(document.activeElement);
      before.node.replaceWith(now.node);
      if (held) (now.node.querySelector("button") ?? field.field).focus({ preventScroll: true });
    } else {
      const next = [...said.keys()].filter((id) => id > one.id).reduce((least, id) => Math.min(least, id), Infinity);
      list.insertBefore(now.node, said.get(next)?.node ?? null);
    }
    said.set(one.id, now);
  }

  function shown() {
    empty.hidden = said.size > 0;
    more.hidden = !older;
    stop.hidden = !standing.busy;
    retry.hidden = standing.busy || !said.size;
    const working = standing.asks ? "It waits for your answer above." : standing.busy ? "It is at work…" : "";
    const text = acts && standing.busy && !standing.asks ? "It is writing…" : working;
    if (status.textContent !== text) status.textContent = text;
    speak();
  }

  // Says an answer once, when it is whole; a question, when it is asked.
  function speak() {
    if (standing.busy && !standing.asks) return;
    const news = [...said.values()].map(({ shown: one }) => one).filter((one) => one.by === "bot" && one.id > spoken);
    if (!news.length) return;
    spoken = Math.max(...news.map((one) => one.id));
    aloud.textContent = news.map((one) => one.text).join("\n").slice(0, SPOKEN);
  }

  function begin(facts) {
    list.replaceChildren();
    const before = new Map(said);
    said.clear();
    for (const one of facts.messages) {
      const kept = before.get(one.id)?.shown;
      put(one.state === "off_record" && !one.text && kept ? { ...kept, state: one.state } : one);
    }
    ({ last, older } = facts);
    stand(facts.standing);
    spoken = Math.max(spoken, ...said.keys(), 0);
    shown();
    follow();
  }

  async function loadOlder() {
    if (!older || more.disabled) return;
    more.disabled = true;
    await attempt(async () => {
      const facts = await get(path + query({ before: older }));
      const from = pane.scrollHeight - pane.scrollTop;
      facts.messages.forEach(put);
      ({ older } = facts);
      shown();
      pane.scrollTop = pane.scrollHeight - from;
    });
    more.disabled = false;
  }

  const happens = {
    message(one, id) {
      last = Number(id);
      put(one);
      shown();
      if (stuck || list.lastElementChild?.id === `m${one.id}`) follow();
    },
    standing(now) {
      stand(now);
      shown();
    },
    action() {
      clearTimeout(acts);
      acts = setTimeout(() => { acts = null; shown(); }, ACTION_MS);
      shown();
    },
    notice({ text }) {
      failed(text);
      setTimeout(() => { if (notice.textContent === text) failed(""); }, NOTICE_MS);
    },
    anew: () => anew(),
    open() {
      if (lost) failed("");
      lost = false;
    },
    lost: () => again("aouo does not answer. Trying again…"),
    joined: () => attempt(async () => begin(await get(path))),
  };

  function listen() {
    if (following || document.hidden || place.signal.aborted || !first.running) return;
    following = new AbortController();
    const events = path + "/events";
    const on = (kind, ...what) => happens[kind](...what);
    stream(events, KINDS, () => events + query({ after: last }), on, following.signal);
  }

  function leave() {
    following?.abort();
    following = null;
    clearTimeout(waits);
  }

  function again(why) {
    leave();
    lost = true;
    failed(why);
    waits = setTimeout(anew, AGAIN_MS);
  }

  // Reads the newest messages, and follows from there; what was only lost is followed from where it was.
  async function anew() {
    leave();
    if (document.hidden || place.signal.aborted) return;
    try {
      const facts = await get(path);
      if (!lost) begin(facts);
      listen();
    } catch (error) {
      again(whileTrying(error));
    }
  }

  pane.addEventListener("scroll", () => {
    stuck = atEnd();
    if (stuck) below.hidden = true;
    if (pane.scrollTop < 40) loadOlder();
  }, { signal: place.signal });
  pane.addEventListener("load", () => { if (stuck) pane.scrollTop = pane.scrollHeight; }, { capture: true, signal: place.signal });
  for (const kind of ["dragover", "drop"]) {
    root.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (kind === "drop") field.add(event.dataTransfer.files);
    }, { signal: place.signal });
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : lost ? anew() : listen()), { signal: place.signal });
  place.signal.addEventListener("abort", leave);
  begin(first);
  field.form.scrollIntoView({ block: "nearest" });
  listen();
}
