"""What the tiny model may do: tools and their worked examples as a few labelled options."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from aouo.providers.tiny.cuts import all_leaves
from aouo.transcript import ToolSpec

MAX_OPTIONS = 12


@dataclass(frozen=True, slots=True)
class Example:
    """A message and the arguments it leads to; `real` when the words are a person's."""

    message: str
    arguments: dict[str, Any]
    real: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One thing the model may do: a tool with one value of its first enum argument."""

    label: str
    tool: ToolSpec
    examples: tuple[Example, ...]
    given: bool
    """The examples are the tool's own, not made up from its schema."""
    fixed: frozenset[tuple[str, ...]] = frozenset()
    """The arguments that are the same wherever the tool's examples have them."""


def options(tools: Sequence[ToolSpec]) -> tuple[Option, ...]:
    """What there is to choose from; tools with examples of their own push out those without."""
    found = [option for tool in tools for option in _tool_options(tool)]
    if any(option.given for option in found):
        found = [option for option in found if option.given]
    names = Counter(option.label for option in found)
    return tuple(
        replace(o, label=f"{_plain_name(o.tool.name)} {o.label}") if names[o.label] > 1 else o
        for o in found[:MAX_OPTIONS]
    )


def _tool_options(tool: ToolSpec) -> list[Option]:
    listed = tool.parameters.get("examples")
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    given = [_example(tool, item) for item in items]
    examples = [example for example in given if example] or _made_up(tool)
    fixed = _fixed(examples)
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(_label(tool, example.arguments), []).append(example)
    return [Option(label, tool, tuple(found), any(given), fixed) for label, found in groups.items()]


def _fixed(examples: Sequence[Example]) -> frozenset[tuple[str, ...]]:
    seen: dict[tuple[str, ...], list[object]] = {}
    for example in examples:
        for path, value in all_leaves(example.arguments):
            seen.setdefault(path, []).append(value)
    return frozenset(
        path for path, values in seen.items() if len(values) > 1 == len(set(map(repr, values)))
    )


def _example(tool: ToolSpec, item: object) -> Example | None:
    if not isinstance(item, dict):
        return None
    entry = cast("dict[str, Any]", item)
    user, arguments = entry.get("user"), entry.get("arguments")
    if isinstance(user, str) and isinstance(arguments, dict):
        return Example(user, cast("dict[str, Any]", arguments), real=True)
    label = _label(tool, entry)
    free = [text for _, text in free_texts(tool, frozenset(), entry) if " " in text]
    rest = [v for _, v in all_leaves(entry) if isinstance(v, str) and v not in free]
    said = " ".join(dict.fromkeys([label, *rest])) + (f": {free[0]}" if free else "")
    return Example(said, entry, real=False)


def _made_up(tool: ToolSpec) -> list[Example]:
    name = _plain_name(tool.name)
    for key, value in properties_of(tool.parameters).items():
        values = value.get("enum")
        if values and isinstance(values, list):
            named = cast("list[object]", values)
            return [Example(f"{v} {name}", {key: v}, real=False) for v in named]
    return [Example(f"{name} {first_clause(tool.description)}"[:80], {}, real=False)]


def _label(tool: ToolSpec, arguments: Mapping[str, Any]) -> str:
    for key, value in properties_of(tool.parameters).items():
        if key in arguments and ("enum" in value or "const" in value):
            return str(arguments[key]).replace("_", " ")
    return _plain_name(tool.name)


def free_texts(
    tool: ToolSpec, fixed: frozenset[tuple[str, ...]], arguments: Mapping[str, Any]
) -> list[tuple[tuple[str, ...], str]]:
    """The texts in `arguments` that no enum and no habit of the examples explains."""
    return [
        (path, value)
        for path, value in all_leaves(dict(arguments))
        if isinstance(value, str)
        and len(value) > 1
        and path not in fixed
        and "enum" not in properties_of(tool.parameters).get(path[0], {})
    ]


def properties_of(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The properties that are described by an object; strangers' schemas hold anything."""
    found = schema.get("properties")
    entries = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    return {
        key: cast("dict[str, Any]", value)
        for key, value in entries.items()
        if isinstance(value, dict)
    }


def _plain_name(name: str) -> str:
    return name.rpartition("__")[2].replace("_", " ")


def first_clause(text: str) -> str:
    return re.split(r"[.;:\n]", text.strip(), maxsplit=1)[0]
