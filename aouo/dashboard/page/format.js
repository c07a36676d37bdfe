// Numbers, times and sizes for people.

export const money = (usd, digits = usd && Math.abs(usd) < 1 ? 4 : 2) =>
  `$${usd.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

export const count = (number) => number.toLocaleString("en");

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(number) {
  let unit = 0;
  for (; number >= 1000 && unit < UNITS.length - 1; unit += 1) number /= 1000;
  return `${number.toLocaleString("en", { maximumFractionDigits: unit ? 1 : 0 })} ${UNITS[unit]}`;
}

export const milliseconds = (ms) => (ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`);

const MOMENT = { dateStyle: "medium", timeStyle: "short" };

// `iso` is what the bot stores, in UTC; people read it in their own zone.
export function moment(iso, options = MOMENT) {
  const date = new Date(iso);
  return Number.isNaN(date.valueOf()) ? iso : date.toLocaleString(undefined, options);
}
