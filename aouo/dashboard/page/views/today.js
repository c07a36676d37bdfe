// What counts now: what waits for the owner, what was said, what comes next, and what it cost.

import { at, get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, moment, money } from "/page/format.js";
import { card, line, person, redrawn, table } from "/page/parts.js";
import { waiting } from "/page/views/security.js";
import { STATES } from "/page/views/turns.js";
import { leftCard } from "/page/views/usage/left.js";

const SHOWN = { turns: 12, schedules: 6 };
const TIME = { hour: "2-digit", minute: "2-digit", weekday: "short" };

export async function show(root, place) {
  const asked = el("div");
  const strangers = el("div");
  const rest = el("div");
  root.append(line(el("h2", {}, "Today")), el("section", { "aria-label": "Waits for you" }, strangers, asked), rest);
  const told = el("p", { role: "status", tabindex: "-1" });
  strangers.append(told);
  const list = el("div");
  strangers.append(list);
  const who = redrawn(list, () => get("/api/people"), ({ asked: people }) => people.map((one) => stranger(one, async (how) => {
    try {
      await post(at`/api/people/${one.person}`, { how });
      told.textContent = how === "no" ? `${one.name} is not let in.` : `${one.name} is let in${how === "guest" ? " for a day" : ""}.`;
    } catch (error) {
      told.textContent = inWords(error);
    }
    await place.follow(who);
    told.focus();
  })));
  await Promise.all([waiting(asked, place, "Nothing waits for you."), place.follow(who), place.follow(redrawn(rest, read, draw))]);
}

function stranger(one, decide) {
  const button = (how, text) => el("button", { type: "button", id: `person-${one.person}-${how}`, onclick: () => decide(how) }, text);
  return card(`Let ${one.name} in?`, el("p", {}, "They wrote to the bot; the name is their own choice, their Telegram id is ", one.person, "."),
    el("p", { class: "muted" }, `since ${moment(one.at)}`),
    el("div", { class: "line", role: "group", "aria-label": `Let ${one.name} in?` },
      button("member", "Let in"), button("guest", "For a day"), button("no", "No")));
}

async function read() {
  const [turns, people, schedules, used, prices, left] = await Promise.all([
    get(`/api/turns?limit=${SHOWN.turns}`), get("/api/people"), get("/api/schedules"), get("/api/usage?days=1"),
    get("/api/usage/prices?days=1"), get("/api/usage/left")]);
  return { turns: turns.turns, people, schedules: schedules.schedules.slice(0, SHOWN.schedules), usd: used.totals.cost_usd, unpriced: prices.unpriced.totals ?? 0, left };
}

function draw({ turns, people, schedules, usd, unpriced, left }) {
  return [
    card("What was said", table("What was said", [
      ["When", (turn) => el("a", { href: at`#/turns/${turn.id}` }, moment(turn.started_at, TIME)), "whole narrow"],
      ["Words", words, "told"],
      ["Who", (turn) => (turn.person ? person(people, turn.person) : turn.origin || "–"), "short"],
      ["Pack", (turn) => turn.pack || "–", "whole lesser"],
      ["Ended", (turn) => el("span", { class: turn.status === "nack" ? "problem" : null, title: turn.reason || null },
        STATES[turn.status] ?? turn.status), "whole lesser"],
    ], turns, "Nothing yet. Each message that the bot answers stands here.")),
    card("What comes next", table("What comes next", [
      ["When", (row) => (row.next_due ? moment(row.next_due, { ...TIME, day: "numeric", month: "short" }) : row.said.state), "whole narrow"],
      ["What", (row) => row.say || row.name || row.skill || row.prompt, "told"],
      ["Whose", (row) => person(people, row.person), "short"],
      ["Pack", (row) => row.pack || "–", "whole lesser"],
    ], schedules.filter((row) => row.enabled), "Nothing comes by itself.")),
    card("Money", el("p", {}, `Today ${unpriced ? `${money(usd)}, and ${count(unpriced)} model calls without a known price` : money(usd)}. `, el("a", { href: "#/usage?days=30" }, "All of it"))),
    leftCard({ limits: left.limits.filter((one) => one.of !== "session") }, people),
  ];
}

const words = (turn) => (turn.off_record ? el("span", { class: "muted" }, "off the record") : el("bdi", {}, turn.wrote || "–"));
