// One turn in time: its prompt, what was called and who judged it, waits, and messages.

import { at, get, query } from "/page/api.js";
import { el, svg } from "/page/dom.js";
import { bytes, cost, count, milliseconds, moment, money } from "/page/format.js";
import { card, choices, figures, line, person, redrawn, table } from "/page/parts.js";
import { STATES } from "/page/views/turns.js";
import { triesCard } from "/page/views/usage/turns.js";

const EXACTLY = { dateStyle: "medium", timeStyle: "medium" };
const JUDGES = {
  guard: "nothing spoke against it", protection: "the protection of the runtime's own files",
  fence: "the owner's fence", permissions: "the pack's permissions", tools: "what the turn may call",
  arguments: "how it was written", owner: "the owner", grant: "the owner, for good",
  nobody: "nobody, as the owner was not there",
};
const LEAST_WIDTH = 0.4;

export async function show(root, place) {
  const body = el("div");
  root.append(body);
  let steps = "all";
  const read = redrawn(body, async () => {
    const [turn, people] = await Promise.all([get(at`/api/turns/${place.turn}`), get("/api/people")]);
    return { turn, people, steps };
  }, (facts) => parts(facts, (chosen) => {
    steps = chosen;
    place.follow(read);
  }));
  await place.follow(read);
}

function parts({ turn, people, steps }, choose) {
  const head = [
    line(el("h2", {}, `Turn of ${moment(turn.started_at, EXACTLY)}`), el("a", { href: "#/turns" }, "All turns")),
  ];
  if (turn.off_record) {
    return [...head, card("", el("p", {}, `${STATES[turn.status] ?? turn.status}, off the record: nothing else is told of it.`))];
  }
  return [
    ...head, about(turn, people), numbers(turn), ...words(turn), ...prompt(turn), ...(turn.tries.length ? [triesCard(turn.tries)] : []),
    timeline(turn, people, steps, choose),
  ];
}

function about(turn, people) {
  const rows = [
    ["Ended", el("span", { class: turn.status === "nack" ? "problem" : null }, STATES[turn.status] ?? turn.status)],
    ["Pack", turn.pack ? el("a", { href: at`#/packs/${turn.pack}` }, turn.pack) : "none"],
    ["Skill", turn.skill], ["Person", turn.person && el("a", { href: `#/turns${query({ person: turn.person })}` }, person(people, turn.person))],
    ["Began by", turn.origin],
    ["Session", el("a", { href: `#/turns${query({ session: turn.session_id })}` }, turn.session_id)],
    ["Turn", turn.id],
    ["Taken up", turn.resumes ? `${count(turn.resumes)} times, after the bot was started anew` : ""],
    ["Stale route", turn.stale_route ? "its conversation pointed to a wrong session, which was put right" : ""],
    ["Left out", turn.left_out ? `${count(turn.left_out)} sections or failures, for want of room` : ""],
  ].filter(([, value]) => value);
  return card("", ...(turn.reason ? [el("p", { class: "problem" }, turn.reason)] : []),
    el("dl", { class: "about" }, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

const numbers = (turn) => figures([
  ["Took", turn.settled_at ? milliseconds(turn.ms) : "still at work"],
  ...(turn.waited_ms ? [["of it waiting for a person", milliseconds(turn.waited_ms)]] : []),
  ["Money", cost(turn.cost_usd, turn.unpriced_calls)], ["Tokens in", count(turn.input_tokens)],
  ["of them cached", count(turn.cached_tokens)], ["Tokens out", count(turn.output_tokens)],
  ...(turn.edits ? [["Live edits", count(turn.edits)]] : []),
]);

// By its id it stays unfolded when the turn is drawn anew.
const folded = (id, summary, ...children) => el("details", { id }, el("summary", {}, summary), ...children);

function text({ text: shown, chars }) {
  const more = chars > shown.length ? [el("p", { class: "muted" }, `The first ${count(shown.length)} of ${count(chars)} characters.`)] : [];
  return [el("pre", { dir: "auto" }, shown), ...more];
}

function words(turn) {
  const names = ["What was said", "The answer"];
  return turn.said.length ? [card("", ...turn.said.map((said, index) => folded(`said-${index}`, names[index], ...text(said))))] : [];
}

function prompt(turn) {
  if (!turn.sections.length) return [];
  const most = Math.max(...turn.sections.map((section) => section.tokens));
  const total = turn.sections.reduce((sum, section) => sum + section.tokens, 0);
  return [card(`The prompt it began with: about ${count(total)} tokens`, table("Sections of the prompt", [
    ["Section", (section) => section.name],
    ["Bytes", (section) => bytes(section.bytes), "number"],
    ["Tokens, estimated", (section) => count(section.tokens), "number"],
    ["Share", (section) => bar(0, section.tokens, most, "call"), "bar lesser"],
  ], turn.sections),
  ...turn.prompt.map((kept, index) => folded(`prompt-${index}`, index ? "What changes in it, as it was" : "Its text", el("pre", { dir: "auto" }, kept))))];
}

function timeline(turn, people, steps, choose) {
  // What came after its end, as a title, is drawn at its edge.
  const end = Math.max(1, turn.ms, ...(turn.settled_at ? [] : turn.timeline.map((entry) => entry.at_ms + entry.ms)));
  const entries = turn.timeline.filter((entry) => steps === "all" || entry.kind !== "step");
  const shown = choices("What is shown", [["all", "Everything"], ["less", "Without steps"]], steps, choose);
  return card("What happened", line(shown), table("What happened, in time", [
    ["After", (entry) => milliseconds(entry.at_ms), "number"],
    ["What", (entry) => described(entry, people), "what"],
    ["In time", (entry) => bar(entry.at_ms, entry.ms, end, entry.kind), "bar lesser"],
    ["Took", (entry) => milliseconds(entry.ms), "number"],
  ], entries, "Nothing is recorded of it."),
  ...(turn.cut ? [el("p", { class: "muted" }, "There is more of it than is shown.")] : []));
}

function bar(from, length, whole, kind) {
  const width = Math.min(100, Math.max(LEAST_WIDTH, (100 * length) / whole));
  const x = Math.min(100 - width, (100 * from) / whole);
  return svg("svg", { class: `span ${kind}`, viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: Math.max(0, x), y: 1, width, height: 8 }));
}

const TOLD = {
  step: (entry) => `${entry.name}${entry.calls > 1 ? ` × ${entry.calls}` : ""}`,
  call: (entry) => el("span", {}, el("strong", {}, entry.scope), ` ${[entry.provider, entry.model].filter(Boolean).join("/")}: `
    + `${count(entry.input_tokens)} tokens in (${count(entry.cached_tokens)} cached), ${count(entry.output_tokens)} out, ${entry.unpriced ? "no known price" : money(entry.cost_usd, 4)}`),
  tool: (entry) => el("span", {}, el("strong", {}, `tool ${entry.name}`), entry.verdict === "refused" ? " " : ` ${entry.state}${entry.effect ? ", took effect" : ""}; `,
    el("span", { class: entry.verdict === "refused" ? "problem" : null }, judged(entry))),
  wait: (entry, people) => el("span", {}, "waited for ", person(people, entry.person), `: ${entry.wait}, ${entry.state}`),
  message: (entry) => el("span", {}, `message (${entry.message}) `,
    el("span", { class: ["refused", "unknown"].includes(entry.state) ? "problem" : null }, entry.state),
    entry.message_id ? ` as ${entry.message_id}` : "", entry.attempts > 1 ? ` after ${entry.attempts} tries` : "",
    entry.error ? `: ${entry.error}` : ""),
};

function judged(entry) {
  const by = JUDGES[entry.judge] ?? entry.judge;
  const asked = entry.asked_by ? `, asked for by ${JUDGES[entry.asked_by] ?? entry.asked_by}` : "";
  return entry.verdict ? `${entry.verdict}${by ? `: ${by}` : ""}${asked}` : `not judged${asked}`;
}

function described(entry, people) {
  const told = TOLD[entry.kind](entry, people);
  if (entry.kind !== "tool" || !entry.arguments) return told;
  return folded(`call-${entry.id}`, told,
    ...(entry.reason && entry.judge !== "guard" ? [el("p", { class: "muted" }, entry.reason)] : []),
    el("h4", {}, "Called with"), ...text(entry.arguments), el("h4", {}, "Returned"), ...text(entry.result));
}
