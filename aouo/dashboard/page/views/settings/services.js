// The services that are set up, and what came of the newest test of each.

import { get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { moment } from "/page/format.js";
import { card, key, line, redrawn } from "/page/parts.js";
import { checked } from "/page/views/settings/doctor.js";

const SERVICE = /^(telegram|webhook|model|tts|stt|speech|mcp|network)/;

export async function show(root, place) {
  const body = el("div");
  const said = el("p", { role: "status" });
  const test = key("test", "Test", async () => {
    test.disabled = true;
    said.textContent = "Asking each; this may take a minute or two…";
    try {
      await post("/api/doctor", { fast: false });
      said.textContent = "";
    } catch (error) {
      said.textContent = inWords(error);
    }
    test.disabled = false;
    await place.follow(read);
  });
  const read = redrawn(body, () => get("/api/doctor"), ({ asks, last }) => {
    const found = last && !last.fast ? last.checks.filter((one) => SERVICE.test(one.name)) : [];
    return [
      card("What is asked", el("ul", {}, ...asks.map((one) => el("li", {}, one))),
        ...(asks.length ? [] : [el("p", { class: "empty" }, "No service is set up.")])),
      ...(found.length ? [card("The newest test", el("p", { class: "muted" }, moment(last.at)), ...found.map(checked))] : []),
    ];
  });
  root.append(line(test), said, body);
  await place.follow(read);
}
