// Tells in the navigation how much waits for an answer.

import { get } from "/page/api.js";
import { follow } from "/page/live.js";

let number = 0;
let asked = 0;

// To be called once the navigation stands; a view that is opened draws it anew.
export function tellWaiting() {
  follow(read, new AbortController().signal);
  window.addEventListener("hashchange", draw);
  read().catch(() => {});  // the view says what is wrong
}

async function read() {
  const [open, people] = await Promise.all([get("/api/approvals/number"), get("/api/people")]);
  number = open.number;
  asked = people.asked.length;
  draw();
}

function draw() {
  for (const [view, text, many] of [["security", "Security", number], ["today", "Today", number + asked]]) {
    const link = document.querySelector(`#nav a[href="#/${view}"]`);
    if (link) link.textContent = many ? `${text} (${many})` : text;
  }
}
