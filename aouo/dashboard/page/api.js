// Asks the bot, and has it change things: the only way out of this page.

export class Refusal extends Error {
  constructor(status, message, told = {}) {
    super(message);
    this.status = status;
    this.told = told;  // all that the answer said
  }
}

const OLD_LINK = "aouo was started anew, so the link of this page is old. Run `aouo dashboard` in a terminal, and open the "
  + "link that it prints in this tab. A message that you have begun will be there again.";
let page = null;

async function pageHeaders() {
  page ??= await asked("/api/page");
  return { [page.header]: page.token };
}

async function asked(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  const text = await response.text();
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    throw new Refusal(response.status, "The answer cannot be read.");
  }
  if (!response.ok && "error" in told) throw new Refusal(response.status, told.error, told);
  return told;
}

// `path` is made with `at`, so that names may hold anything.
export const get = (path, options = {}) => asked(path, options);

async function changed(method, path, type, body) {
  const known = page;
  try {
    return await asked(path, { method, headers: { "Content-Type": type, ...await pageHeaders() }, body });
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal(0, "aouo does not answer, so this may not have been done. Try it again.");
    if (error.status !== 403 || !known) throw error;
    page = null;  // the bot was started anew
    return changed(method, path, type, body);
  }
}

export const send = (method, path, body = {}) => changed(method, path, "application/json", JSON.stringify(body));

// A file as it is, with its name in `path`.
export const upload = (path, file) => changed("POST", path, "application/octet-stream", file);

export const post = (path, body) => send("POST", path, body);

// at`/api/packs/${name}`: each value is one part of a path.
export const at = (strings, ...values) =>
  strings.reduce((path, part, index) => path + encodeURIComponent(values[index - 1]) + part);

// "?a=1&b=2" of what is not empty.
export function query(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

export function inWords(error) {
  if (error instanceof TypeError) return "aouo does not answer.";
  return error.status === 401 ? OLD_LINK : error.message;
}

// Of what is tried again by itself.
export const whileTrying = (error) => inWords(error) + (error instanceof TypeError ? " Trying again…" : "");
