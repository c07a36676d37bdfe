// How the running bot is: its parts, models, packs and what waits.

import { get } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, moment, span } from "/page/format.js";
import { card, figures, redrawn, table } from "/page/parts.js";

export async function show(root, place) {
  await place.follow(redrawn(root, () => get("/api/status"), parts));
}

function parts(facts) {
  if (facts.running === false) return [el("p", { class: "empty" }, "No bot runs. `aouo start` starts it.")];
  return [
    figures([
      ["Runs for", span(facts.uptime_s)], ["At work", count(facts.lanes.running)], ["Waiting", count(facts.lanes.waiting)],
      ["Telegram", facts.telegram.state], ["Packs", count(facts.packs.length)],
    ]),
    ...troubles(facts),
    el("div", { class: "grid" },
      card("Models", table("Models", [
        ["Model", (one) => `${one.provider} ${one.model}`], ["Failures", (one) => count(one.failures), "number"],
        ["Last failure", (one) => one.why],
        ["Not asked until", (one) => (one.cooling_until ? moment(one.cooling_until, { timeStyle: "medium" }) : "")],
      ], facts.models.length ? facts.models : [{ ...facts.model, failures: 0, why: facts.model.note, cooling_until: "" }])),
      card("Packs", facts.packs.length ? el("p", {}, facts.packs.join(", "))
        : el("p", { class: "empty" }, "None is installed. `aouo pack install` installs one.")),
      card("How tools of packs are confined", el("p", {}, facts.sandbox)),
      ...(Object.keys(facts.mcp).length ? [card("MCP servers", table("MCP servers", [
        ["", ([name]) => name.replace(/^mcp:/, "")], ["", ([, one]) => one.state],
        ["", ([, one]) => (one.state === "up" ? `${one.tools} tools` : one.why ?? "")],
      ], Object.entries(facts.mcp)))] : []),
      card("The rest", el("p", {}, `Heartbeat: ${facts.heartbeat}.`), el("p", {}, `Process ${facts.pid}.`))),
  ];
}

// What needs the owner, each with its sentence.
function troubles(facts) {
  const rows = [
    ...(facts.telegram.problem ? [["Telegram", facts.telegram.problem]] : []),
    ...facts.config.problems.map((problem) => ["config.json", problem]),
    ...(facts.config.after_restart.length ? [["Waits for the next start", facts.config.after_restart.join(", ")]] : []),
    ...Object.entries(facts.failed_parts).map(([name, why]) => [name, typeof why === "string" ? why : JSON.stringify(why)]),
    ...Object.entries(facts.broken_packs).flatMap(([name, problems]) => problems.map((problem) => [name, problem])),
    ...facts.broken_commands.map((problem) => ["commands", problem]),
    ...facts.failing_watches.map((problem) => ["watches", problem]),
    ...facts.concerns.map((problem) => ["models", typeof problem === "string" ? problem : JSON.stringify(problem)]),
    ...facts.unfinished.map((problem) => ["unfinished", problem]),
  ];
  return rows.length ? [card("Needs you", table("What needs you", [["", ([name]) => name], ["", ([, why]) => why]], rows))] : [];
}
