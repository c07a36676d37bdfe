// What a pack keeps in its database: browse, sort, filter, page, export. It can be read only.

import { at, get, inWords, query } from "/page/api.js";
import { el } from "/page/dom.js";
import { bytes, count } from "/page/format.js";
import { line } from "/page/parts.js";
import { chooser } from "/page/views/pack/whose.js";

const ALL = "all";  // in the page's address: everybody's database
const ROWS = 50;
const SLOW_MS = 500;  // a look that takes longer is not repeated by itself

export async function show(root, place) {
  const { databases, scope } = await get(at`/api/packs/${place.pack}/storage`);
  if (!databases.length) {
    root.append(el("p", { class: "empty" }, "Nothing is kept yet. Its database is made when the pack keeps its first row."));
    return;
  }
  const [, , wanted, wantedTable] = place.rest;
  const tenant = wanted === ALL ? "" : wanted ?? databases[0].tenant;
  const name = (one) => one.tenant || ALL;
  root.append(
    chooser(databases, tenant, (one) => at`#/packs/${place.pack}/storage/${name(one)}`,
      (one) => `, ${bytes(one.bytes)}${one.used ? "" : ", not used any more"}`),
    ...(databases.some((one) => one.tenant === tenant && !one.used) ? [el("p", { class: "muted" },
      `The pack does not see this: it now keeps ${scope === "person" ? "each person's apart" : "one database for all"}.`)] : []));
  const base = at`/api/packs/${place.pack}/storage`;
  const { tables } = await get(`${base}/tables${query({ tenant })}`);
  if (!tables.length) {
    root.append(el("p", { class: "empty" }, "There is no table in it."));
    return;
  }
  const table = tables.find((one) => one.name === wantedTable) ?? tables[0];
  const counts = new Map(tables.map((one) => [one.name, document.createTextNode(counted(one))]));
  root.append(el("nav", { class: "tabs", "aria-label": "Tables" }, el("ul", {}, ...tables.map((one) => el("li", {}, el("a", {
    href: at`#/packs/${place.pack}/storage/${tenant || ALL}/${one.name}`,
    "aria-current": one === table ? "page" : null,
  }, el("bdi", {}, one.name), counts.get(one.name)))))));
  await rowsOf(root, place, base, tenant, table, async () => {
    const now = await get(`${base}/tables${query({ tenant })}`);
    for (const one of now.tables) if (counts.has(one.name)) counts.get(one.name).data = counted(one);
  });
}

const counted = (table) => ` ${table.rows === null ? "more than are counted" : count(table.rows)}`;

async function rowsOf(root, place, base, tenant, table, countAgain) {
  const asked = { column: "", how: "contains", text: "", sort: "", order: "falling" };
  const afters = [];  // the keys after which the pages up to this one begin
  const told = el("span", { class: "muted", role: "status" });
  const body = el("div", { class: "scroll rows", role: "region", "aria-label": `Rows of ${table.name}`, tabindex: "0" });
  const first = button("First", () => { afters.length = 0; read(); });
  const previous = button("Previous", () => { afters.pop(); read(); });
  const next = button("Next", () => { afters.push(page.rows.at(-1).key); read(); });
  const files = el("span", { class: "links" });
  const dialog = el("dialog", { "aria-label": "Whole cell" });
  let page = null;
  let took = 0;
  let latest = 0;

  root.append(filter(table, asked, anew), line(first, previous, next, told, files), body, dialog);
  if (table.computed.length) {
    root.append(el("p", { class: "muted" }, "Computed by the pack, and not shown: ", el("bdi", {}, table.computed.join(", "))));
  }

  function anew() {
    afters.length = 0;
    return read();
  }

  async function read() {
    const mine = latest += 1;
    const begun = performance.now();
    const kept = { tenant, table: table.name, ...(asked.text ? { column: asked.column, how: asked.how, text: asked.text } : {}) };
    try {
      const found = await get(`${base}/rows${query({ ...kept, sort: asked.sort, order: asked.order, after: afters.at(-1) ?? "", limit: ROWS })}`);
      if (mine !== latest) return;
      took = performance.now() - begun;
      page = found;
      draw(kept);
    } catch (error) {
      if (mine !== latest) return;
      told.className = "problem";
      told.textContent = inWords(error);
      previous.disabled = first.disabled = !afters.length;
    }
  }

  function draw(kept) {
    const from = afters.length * ROWS;
    told.className = "muted";
    told.textContent = page.rows.length
      ? `${count(from + 1)}–${count(from + page.rows.length)} of ${page.matching === null ? "more than are counted" : count(page.matching)}`
      : "";
    first.disabled = previous.disabled = !afters.length;
    next.disabled = !page.more || !page.rows.at(-1)?.key;
    files.replaceChildren(...["csv", "json"].map((kind) =>
      el("a", { href: `${base}/export${query({ ...kept, kind })}`, download: "" }, `Save as ${kind.toUpperCase()}`)));
    body.replaceChildren(page.rows.length
      ? el("table", {}, el("thead", {}, el("tr", {}, ...page.columns.map(head))), el("tbody", {}, ...page.rows.map(row)))
      : el("p", { class: "empty" }, asked.text ? "No row has that." : "The table is empty. Its rows come from what is said to the pack."));
  }

  function head(column) {
    const sorted = asked.sort === column.name;
    const way = sorted ? (asked.order === "rising" ? "ascending" : "descending") : "none";
    return el("th", { scope: "col", "aria-sort": way }, el("button", { type: "button", class: "sort", title: column.type, onclick: () => {
      asked.order = sorted && asked.order === "rising" ? "falling" : "rising";
      asked.sort = column.name;
      anew();
    } }, el("bdi", {}, column.name), sorted ? (asked.order === "rising" ? " ↑" : " ↓") : ""));
  }

  const row = ({ key, cells }) => el("tr", {}, ...cells.map((cell, index) => el("td", {
    class: cell.kind === "number" ? "number" : null, dir: cell.kind === "text" ? "auto" : null,
  }, ...inCell(cell, key, page.columns[index].name))));

  function inCell(cell, key, column) {
    if (cell.kind === "null") return [el("span", { class: "muted" }, "NULL")];
    const whole = cell.kind === "blob" ? `${bytes(cell.size)}` : `${count(cell.size ?? 0)} characters`;
    const text = cell.kind === "blob" ? cell.text.slice(0, 32) : cell.text;
    if (cell.size === undefined) return [text];
    return [`${text}${text ? "… " : ""}`, key ? button(whole, () => open(key, column)) : whole];
  }

  async function open(key, column) {
    const inside = el("pre", { dir: "auto", tabindex: "0" }, "…");
    dialog.replaceChildren(el("h3", {}, el("bdi", {}, column)), inside, button("Close", () => dialog.close()));
    dialog.showModal();
    try {
      const cell = await get(`${base}/cell${query({ tenant, table: table.name, column, key })}`);
      inside.textContent = cell.text;
      if (cell.size !== undefined) {
        inside.after(el("p", { class: "muted" }, cell.kind === "blob" ? `${bytes(cell.size)}, in hexadecimal` : `the first of ${count(cell.size)} characters`));
      }
    } catch (error) {
      inside.textContent = inWords(error);
    }
  }

  await read();
  await place.follow(async () => {
    if (took > SLOW_MS || dialog.open) return;
    const begun = performance.now();
    await read();
    await countAgain();
    took = performance.now() - begun;
  });
}

function filter(table, asked, anew) {
  const options = (rows) => rows.map(([value, text]) => el("option", { value }, text));
  const column = el("select", { "aria-label": "Column" }, ...options(table.columns.map((one) => [one.name, one.name])));
  const how = el("select", { "aria-label": "How" }, ...options([["contains", "contains"], ["equals", "is"]]));
  const text = el("input", { type: "search", "aria-label": "Text to look for", placeholder: "text", maxlength: "300", dir: "auto" });
  return el("form", { class: "line", onsubmit: (event) => {
    event.preventDefault();
    Object.assign(asked, { column: column.value, how: how.value, text: text.value });
    anew();
  } }, "Rows whose ", column, how, text, el("button", { type: "submit" }, "Filter"),
  button("Clear", () => { text.value = asked.text = ""; anew(); }));
}

function button(text, onclick) {
  return el("button", { type: "button", onclick }, text);
}
