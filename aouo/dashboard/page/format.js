// Numbers, times and sizes for people.

export const money = (usd, digits = usd && Math.abs(usd) < 0.01 ? 4 : 2) =>
  `$${usd.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

// What calls cost; those without a known price are never shown as free.
export const cost = (usd, unpriced, digits = 4) => (!unpriced ? money(usd, digits)
  : `${usd ? `${money(usd, digits)} + ` : ""}${count(unpriced)} without a price`);

export const count = (number) => number.toLocaleString("en");

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(number) {
  let unit = 0;
  for (; number >= 1000 && unit < UNITS.length - 1; unit += 1) number /= 1000;
  return `${number.toLocaleString("en", { maximumFractionDigits: unit ? 1 : 0 })} ${UNITS[unit]}`;
}

export function milliseconds(ms) {
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : span(ms / 1000);
}

// Seconds, in the two largest units: "2 d 3 h", "5 min 7 s".
export function span(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  return units.slice(first < 0 ? 3 : first).slice(0, 2).map(([name, size], index) =>
    `${Math.floor((index ? seconds % units[first][1] : seconds) / size)} ${name}`).join(" ");
}

const MOMENT = { dateStyle: "medium", timeStyle: "short" };

export const WITH_SECONDS = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };

// `iso` is what the bot stores, in UTC; people read it in their own zone.
export function moment(iso, options = MOMENT) {
  const date = new Date(iso);
  return Number.isNaN(date.valueOf()) ? iso : date.toLocaleString(undefined, options);
}
