// Asks the bot, and has it change things: the only way out of this page.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

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
  if (!response.ok && "error" in told) throw new Refusal(response.status, told.error);
  return told;
}

// `path` is made with `at`, so that names may hold anything.
export const get = (path, options = {}) => asked(path, options);

export async function send(method, path, body = {}) {
  const headers = { "Content-Type": "application/json", ...await pageHeaders() };
  try {
    return await asked(path, { method, headers, body: JSON.stringify(body) });
  } catch (error) {
    if (error.status === 403) page = null;  // the bot was started anew
    throw error;
  }
}

export const post = (path, body) => send("POST", path, body);

// at`/api/packs/${name}`: each value is one part of a path.
export const at = (strings, ...values) =>
  strings.reduce((path, part, index) => path + encodeURIComponent(values[index - 1]) + part);

// "?a=1&b=2" of what is not empty.
export function query(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

export const inWords = (error) =>
  (error instanceof TypeError ? "aouo does not answer. Trying again…" : error.message);
