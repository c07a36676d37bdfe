// What everything costs that was asked or may be, and who says so.

import { el } from "/page/dom.js";
import { card, table } from "/page/parts.js";

const FROM = { you: "you", "the catalogue": "listed", "the server": "its server", "it runs here": "runs here", nobody: "" };
const PER = { tokens: "a million tokens", minute: "a minute", million_characters: "a million characters", call: "a call" };
const usd = (number) => `$${number.toLocaleString("en", { maximumFractionDigits: 6 })}`;

export function pricesCard({ catalogue, prices, budgeted }) {
  const listed = `Listed prices are those of ${catalogue.name} ${catalogue.version}${catalogue.month ? `, of ${catalogue.month}` : ", whose date is not known"}; yours stand above them.`;
  const unknown = prices.filter((one) => one.usd === null);
  return card("Prices", el("p", { class: "muted" }, listed),
    ...(unknown.length ? [el("p", { class: "problem" }, `No price is known for ${unknown.map((one) => one.name).join(", ")}: ${
      budgeted ? "under a budget a model without one is not asked, and what else has none is not counted" : "what they cost is in no sum here"}.`)] : []),
    table("Prices", [
      ["", (one) => `${one.provider} ${one.name}`.trim()],
      ["Price", price, "told"],
      ["Says", (one) => FROM[one.from], "number"],
    ], prices, "Nothing that costs money is set up."));
}

function price(one) {
  if (one.usd === null) return el("span", {}, el("strong", { class: "problem" }, "not known"), ` – set ${one.key}`);
  if (typeof one.usd === "number") return `${usd(one.usd)} ${PER[one.per]}`;
  const above = (one.usd.above ?? []).map((dearer) => `; above ${dearer.input_tokens.toLocaleString("en")} tokens in: ${three(dearer)}`).join("");
  return `${three(one.usd)} ${PER.tokens}${above}`;
}

const three = ({ input, cached, output }) => `${usd(input)} in, ${usd(cached)} cached, ${usd(output)} out`;
