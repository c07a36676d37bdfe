// Tells beside Security in the navigation how much waits for an answer.

import { get } from "/page/api.js";
import { follow } from "/page/live.js";

let number = 0;

// To be called once the navigation stands; a view that is opened draws it anew.
export function tellWaiting() {
  follow(read, new AbortController().signal);
  window.addEventListener("hashchange", draw);
  read().catch(() => {});  // the view says what is wrong
}

async function read() {
  ({ number } = await get("/api/approvals/number"));
  draw();
}

function draw() {
  const link = document.querySelector('#nav a[href="#/security"]');
  if (link) link.textContent = number ? `Security (${number})` : "Security";
}
