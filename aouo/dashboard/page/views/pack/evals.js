// The evals of a pack: what there is, how each went, and running them.

import { at, get, inWords, post } from "/page/api.js";
import { el } from "/page/dom.js";
import { count, milliseconds, moment, money } from "/page/format.js";
import { card, key, line, redrawn } from "/page/parts.js";
import { problemText } from "/page/views/packs.js";

const EVERY_MS = 1000;
const OUTCOMES = { passed: "✓ passed", failed: "✗ failed", skipped: "– skipped" };

export async function show(root, place) {
  const { pack } = place;
  const opened = new Set();  // the files whose steps are shown
  const head = el("div");
  const told = el("p", { role: "status" });
  const body = el("div");
  let facts = null;
  root.append(head, told, body);

  const draw = redrawn(body, () => ({ ...facts, opened: [...opened] }), parts);

  async function read() {
    facts = await get(at`/api/packs/${pack}/evals`);
    await draw();
  }

  async function change(what, sent) {
    try {
      await post(at`/api/packs/${pack}/evals/` + what, sent);
      told.textContent = "";
    } catch (error) {
      told.textContent = inWords(error);
    }
    await look(true);
  }

  // Looks whether a run goes on; what it brought is read when it has ended.
  async function look(changed) {
    try {
      const { running } = await get("/api/evals");
      if (changed || running?.since !== facts.running?.since) await read();
    } catch (error) {
      told.textContent = inWords(error);
    }
    if (!place.signal.aborted) await state();
  }

  async function followed() {
    if (!document.hidden) await look(false);
    if (!place.signal.aborted) setTimeout(followed, EVERY_MS);
  }

  const state = redrawn(head, () => ({
    ...facts, lasts_s: facts.running && Math.max(0, Math.round((Date.now() - Date.parse(facts.running.since)) / 1000)),
  }), ({ running, last, lasts_s: lasts }) => [line(
    ...(running?.pack === pack ? [key("run", "Stop", () => change("stop"))] : []),
    ...(running?.pack !== pack && facts.evals.length ? [key("run", "Run all", () => change("run", {}), { class: "main" })] : []),
    el("span", { class: "muted" }, running
      ? `${count(running.evals)} of ${running.pack} under way, ${lasts} s so far. The results come together at the end.`
      : [sum(), ...(last ? [`The last run ended ${moment(last.at)}.`, last.problem] : [])].join(" ").trim()))]);

  function sum() {
    const outcomes = facts.evals.filter((one) => one.result).map((one) => one.result.outcome);
    return Object.keys(OUTCOMES).map((kind) => [outcomes.filter((one) => one === kind).length, kind])
      .filter(([number]) => number).map((pair) => pair.join(" ")).join(", ").replace(/.$/, "$&.");
  }

  function parts() {
    return [
      el("p", { class: "muted" }, "Each eval runs in a home of its own, with a model that answers as the eval says: it costs no money, and touches nothing of yours. Results are kept until the bot ends."),
      ...facts.problems.map((one) => el("p", { class: "problem" }, problemText(one))),
      ...(facts.evals.length ? facts.evals.map(shown) : [el("p", { class: "empty" },
        "This pack has no evals. They are conversations that it has to pass, in evals/*.yml.")]),
    ];
  }

  function shown(one) {
    const { result } = one;
    return card(one.name,
      el("p", { class: "muted" }, [one.file, `${one.steps} ${one.steps === 1 ? "step" : "steps"}`, one.language,
        ...(result ? [milliseconds(result.ms), moment(one.at)] : [])].join(" · ")),
      el("p", { class: result?.outcome === "failed" ? "problem" : result?.outcome === "passed" ? "good" : "muted" },
        one.not_run ? `It ${one.not_run}.` : result ? OUTCOMES[result.outcome] : "not run yet"),
      line(...(one.not_run ? [] : [key(`run-${one.file}`, "Run", () => change("run", { name: one.name }),
        { "aria-label": `Run: ${one.name}` })]),
      ...(result?.steps.length ? [key(`open-${one.file}`, "Steps", () => {
        if (!opened.delete(one.file)) opened.add(one.file);
        draw();
      }, { "aria-expanded": String(opened.has(one.file)), "aria-label": `Steps: ${one.name}` })] : [])),
      ...(result && (opened.has(one.file) || result.outcome === "failed")
        ? result.steps.filter((step) => opened.has(one.file) || step.wrong.length).map((step) => steps(one, step)) : []));
  }

  await read();
  await state();
  setTimeout(followed, EVERY_MS);
}

function steps(one, step) {
  const rows = [["said", step.said], ["called", step.calls], ["row", step.rows], ["buttons", step.buttons.length ? [step.buttons.join(", ")] : []]];
  return el("section", { class: "step" },
    el("h4", {}, `${step.wrong.length ? "✗" : "✓"} ${step.step ? `Step ${step.step}` : "Before the first step"}, ${one.file}:${step.line}`),
    el("pre", {}, step.did),
    ...step.wrong.map((text) => el("pre", { class: "problem" }, `expected ${text}`)),
    ...rows.flatMap(([name, texts]) => texts.map((text) => el("pre", { class: "muted" }, `${name}: ${text}`))),
    ...(step.model_calls ? [el("p", { class: "muted" },
      `${count(step.model_calls)} model ${step.model_calls === 1 ? "call" : "calls"}, ${count(step.prompt_bytes)} bytes, ${money(step.cost_usd, 6)} as if it were a small hosted model`)] : []));
}
