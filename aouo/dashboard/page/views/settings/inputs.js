// A control for each kind of value of the configuration.

import { el } from "/page/dom.js";

export class NotReadable extends Error {}

const simple = (schema) => schema.anyOf?.find((one) => one.type !== "null") ?? schema;
const isLines = (schema) => schema.type === "array" && ["string", "integer"].includes(schema.items?.type);

export const told = (value) => (typeof value === "string" ? (value || "(empty)") : JSON.stringify(value));

// The control of a key that shows `value`; `changed` is called with a function that reads it anew.
export function control(key, value, attributes, changed) {
  const schema = simple(key.schema);
  const made = (tag, more, ...children) => el(tag, { ...attributes, ...more }, ...children);
  if (key.kind === "secret") return secret(made, value, changed);
  if (schema.enum || "const" in schema) return choice(made, schema.enum ?? [schema.const], value, changed);
  if (schema.type === "boolean") return yesOrNo(made, value, changed);
  if (["integer", "number"].includes(schema.type)) return number(made, schema, value, changed);
  if (schema.type === "string") return text(made, value, changed);
  if (isLines(schema)) return lines(made, schema.items.type, value, changed);
  return json(made, value, changed);
}

function secret(made, value, changed) {
  const input = made("input", {
    type: "text", class: "secret", value: value ?? "", autocomplete: "off", spellcheck: "false", placeholder: "write a new one",
    oninput: () => changed(() => (input.value ? input.value : undefined)),
  });
  return input;
}

function choice(made, options, value, changed) {
  const known = options.includes(value) ? options : [value, ...options];
  const select = made("select", { onchange: () => changed(() => known[select.selectedIndex]) },
    ...known.map((one) => el("option", { selected: one === value ? "" : null }, told(one))));
  return select;
}

function yesOrNo(made, value, changed) {
  const box = made("input", {
    type: "checkbox", checked: value === true ? "" : null, onchange: () => changed(() => box.checked),
  });
  return box;
}

function number(made, schema, value, changed) {
  const input = made("input", {
    type: "number", value: value ?? "", step: schema.type === "integer" ? "1" : "any",
    min: schema.minimum ?? schema.exclusiveMinimum, max: schema.maximum,
    oninput: () => changed(() => {
      if (input.validity.badInput) throw new NotReadable("This is no number.");
      return input.value === "" ? null : Number(input.value);
    }),
  });
  return input;
}

function text(made, value, changed) {
  const input = made("input", {
    type: "text", value: value ?? "", spellcheck: "false", autocomplete: "off", oninput: () => changed(() => input.value),
  });
  return input;
}

function lines(made, type, value, changed) {
  const shown = Array.isArray(value) ? value : [];
  const area = made("textarea", {
    rows: Math.min(Math.max(shown.length, 1) + 1, 10), spellcheck: "false", placeholder: "one in each line",
    oninput: () => changed(() => {
      const found = area.value.split("\n").map((line) => line.trim()).filter(Boolean);
      if (type === "string") return found;
      if (!found.every((line) => /^-?\d{1,15}$/.test(line))) throw new NotReadable("Write a whole number in each line.");
      return found.map(Number);
    }),
  });
  area.value = shown.join("\n");
  return area;
}

function json(made, value, changed) {
  const written = JSON.stringify(value, null, 2);
  const area = made("textarea", {
    rows: Math.min(written.split("\n").length + 1, 14), spellcheck: "false",
    oninput: () => changed(() => {
      try {
        return JSON.parse(area.value);
      } catch {
        throw new NotReadable("This is not JSON.");
      }
    }),
  });
  area.value = written;
  return area;
}
