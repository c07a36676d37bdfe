// What begins by itself: of a pack, or of all.

import { at, get, inWords, post, query, send } from "/page/api.js";
import { el } from "/page/dom.js";
import { moment } from "/page/format.js";
import { card, key, line, person, redrawn, table } from "/page/parts.js";

const PAGE = 100;
const RUNS = { few: 10, all: 500 };
const KINDS = [["say", "says these words"], ["do", "does this action of the pack"], ["ask", "asks the model"]];
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const whereabouts = ({ platform, chat_id: chat, thread_id: topic }, whose) => (platform !== "web"
  ? `in ${[platform === "tg" ? "Telegram" : platform, chat !== whose && chat, topic && `topic ${topic}`].filter(Boolean).join(" ")}`
  : chat === "~" ? "in Chat on this page" : `in the chat of ${chat} on this page`);

export async function show(root, place) {
  const opened = new Map();  // of a schedule: how many of its runs are wanted
  const told = new Map();  // of a schedule: how what was asked for went
  let asking = "";  // the schedule that may be removed
  let skip = 0;
  const body = el("div");
  const spoken = el("p", { class: "skip", role: "status" });
  root.append(body, spoken);

  const read = redrawn(body, async () => {
    const [facts, people] = await Promise.all([
      get(`/api/schedules${query({ pack: place.pack, skip: skip || "" })}`), get("/api/people")]);
    const schedules = await Promise.all(facts.schedules.map(async (row) =>
      ({ ...row, said_here: told.get(row.id), more: opened.has(row.id) ? await one(row.id) : null })));
    return { ...facts, schedules, people, asking };
  }, draw);

  async function one(id) {
    try {
      return await get(at`/api/schedules/${id}` + query({ runs: opened.get(id) }));
    } catch (error) {
      return { problem: inWords(error) };
    }
  }

  async function change(id, doing) {
    let said;
    try {
      said = await doing();
    } catch (error) {
      said = inWords(error);
    }
    told.set(id, said);
    spoken.textContent = said;
    await place.follow(read);
  }

  const turned = (id, on) => change(id, async () => {
    await post(at`/api/schedules/${id}/switch`, { on });
    return on ? "Switched on." : "Switched off.";
  });

  const begun = (id) => change(id, async () => {
    const { off } = await post(at`/api/schedules/${id}/run`);
    opened.set(id, opened.get(id) ?? RUNS.few);
    return off ? `Filed; it has not begun. ${off}` : "Filed: it begins now, and its history below says how it went.";
  });

  const removed = (id) => change(id, async () => {
    asking = "";
    await send("DELETE", at`/api/schedules/${id}`);
    document.getElementById("main").focus({ preventScroll: true });
    return "Removed.";
  });

  async function ask(id, where) {
    asking = id;
    await place.follow(read);
    document.getElementById(where)?.focus();
  }

  function open(id) {
    if (!opened.delete(id)) opened.set(id, RUNS.few);
    place.follow(read);
  }

  function keys(row) {
    const { id, may, paused, said: { name } } = row;
    if (asking === id) {
      return [el("span", {}, `Remove “${name}” and its history?`),
        key(`remove-${id}`, "Remove it", () => removed(id), { class: "alarm" }),
        key(`keep-${id}`, "Keep it", () => ask("", `ask-${id}`))];
    }
    return [
      ...(may.switch ? [key(`switch-${id}`, paused ? "Switch on" : "Switch off", () => turned(id, Boolean(paused)),
        { "aria-label": `${paused ? "Switch on" : "Switch off"}: ${name}` })] : []),
      ...(may.run ? [key(`run-${id}`, "Run now", () => begun(id), { "aria-label": `Run now: ${name}` })] : []),
      key(`open-${id}`, "Preview and history", () => open(id),
        { "aria-expanded": String(opened.has(id)), "aria-label": `Preview and history: ${name}` }),
      ...(may.remove ? [key(`ask-${id}`, "Remove…", () => ask(id, `keep-${id}`), { "aria-label": `Remove: ${name}` })] : []),
    ];
  }

  function schedule(row, people) {
    return card(row.said.name, el("p", {}, `${row.said.when}: ${row.said.state}`),
      el("p", { class: "muted" }, [
        ...(row.next_due ? [`next ${moment(row.next_due)} here`] : []),
        ...(row.said.last ? [`last ${row.said.last}, ${moment(row.last_due)}`] : []),
        ...(place.pack ? [] : [row.pack || "no pack"]), "for ",
      ].join(" · "), person(people, row.person), `, ${whereabouts(row.address, row.person)}`),
      line(...keys(row)), ...(row.said_here ? [el("p", {}, row.said_here)] : []),
      ...(row.more ? unfolded(row, row.more) : []));
  }

  function unfolded(row, more) {
    if (more.problem) return [el("p", { class: "problem" }, more.problem)];
    const limits = [
      ...(row.timeout_s ? [`${row.timeout_s} s at most`] : []),
      ...(row.tokens_max ? [`${row.tokens_max} tokens at most`] : []),
      ...(row.retries ? [`tried ${row.retries} times again`] : []),
      `when its time was missed: ${row.misfire.replace("_", " ")}`,
    ];
    return [
      el("h4", {}, row.paused ? "When it would come, switched on" : "When it comes"),
      table("Next times", [[`In ${more.zone}`, (time) => time.said], [`Here (${HERE})`, (time) => moment(time.at)]],
        more.next, "It does not come again."),
      el("h4", {}, row.say ? "What is said then" : row.act ? "What is done then" : "What is asked then"),
      el("p", { class: "muted" }, [more.asks.pack ? `pack ${more.asks.pack}` : "the pack at hand",
        ...(more.asks.skill ? [`skill ${more.asks.skill}`] : []), ...limits].join(" · ")),
      el("pre", {}, row.say || row.act || [...more.asks.about, more.asks.prompt].join("\n")),
      el("h4", {}, "History"),
      table("Runs", [
        ["Due here", (run) => moment(run.due_at)], ["Outcome", outcome], ["Why", (run) => run.why],
        ["", (run) => (run.turn ? el("a", { href: at`#/turns/${run.turn}` }, "Its turn") : "")],
      ], more.runs, "It has not run yet."),
      ...(more.more && opened.get(row.id) === RUNS.few ? [line(key(`more-${row.id}`, "Show more runs", () => {
        opened.set(row.id, RUNS.all);
        place.follow(read);
      }))] : []),
      ...(more.more && opened.get(row.id) === RUNS.all ? [el("p", { class: "muted" }, `These are the newest ${RUNS.all}.`)] : []),
    ];
  }

  function draw(facts) {
    return [
      ...(place.pack ? [] : [line(el("h2", {}, "Schedules"))]),
      ...(facts.off ? [el("p", { class: "problem" }, facts.off)] : []),
      ...(facts.heartbeat ? [card("Heartbeat", el("p", {}, facts.heartbeat))] : []),
      ...(place.pack ? [fresh(), ...(told.get("") ? [el("p", {}, told.get(""))] : [])] : []),
      ...facts.schedules.map((row) => schedule(row, facts.people)),
      ...(facts.schedules.length ? [] : [el("p", { class: "empty" },
        "There are no schedules. Say in the chat what you want when, or use `aouo cron add`.")]),
      ...(skip || facts.more ? [line(
        key("newer", "Earlier", () => turn(-PAGE), skip ? {} : { disabled: "" }),
        key("older", "Later", () => turn(PAGE), facts.more ? {} : { disabled: "" }))] : []),
      ...(facts.watches.length ? [card("Watches", ...facts.watches.map(watch))] : []),
    ];
  }

  const watch = (one) => el("p", {}, `${one.id}${place.pack ? "" : ` of ${one.pack}`}, at ${one.looks_at}, every ${one.every}: `,
    el("span", { class: one.failures ? "problem" : null }, one.state),
    ...(one.next_look ? [el("span", { class: "muted" }, ` · next look ${moment(one.next_look)} here`)] : []));

  const fresh = () => el("form", { class: "filters", "aria-label": "New schedule", onsubmit: (event) => {
    event.preventDefault();
    const form = event.target;
    change("", async () => {
      await post("/api/schedules", { pack: place.pack, ...Object.fromEntries(new FormData(form)) });
      form.reset();
      return "Made; it comes into this pack's chat on this page.";
    });
  } }, field("When", el("input", { name: "when", required: "", maxlength: 300, placeholder: "every day at 9:00" })),
  field("It", el("select", { name: "kind" }, ...KINDS.map(([value, said]) => el("option", { value }, said)))),
  field("What", el("input", { name: "what", required: "", maxlength: 2000 })),
  el("button", { type: "submit", class: "main" }, "Add"));

  const field = (said, input) => el("label", {}, el("span", {}, said), input);

  function turn(by) {
    skip = Math.max(0, skip + by);
    place.follow(read);
  }

  await place.follow(read);
}

const outcome = (run) => [
  run.outcome,
  ...(run.tries > 1 ? [`try ${run.tries}`] : []),
  ...(run.missed ? [`${run.missed} due before it`] : []),
  ...(run.tries && run.retry_at ? [`tried again ${moment(run.retry_at)}`] : []),
].join(", ");
