"""Makes the options: the calls in the tools' worked examples, each with its ways to ask for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from aouo.facts.transcript import ToolSpec
from aouo.providers.tiny.cuts import Place, all_leaves, with_values

_PERSIST_VALUES = ("data", "where", "params")
_LOOKS = frozenset({"recent", "query", "summary"})
"""The actions of `persist` that change nothing."""


@dataclass(frozen=True, slots=True)
class Example:
    """A message and the arguments that it leads to.

    `slots` are the places of values that are words of the message, in its order; `answer` is a
    sentence with columns of a row in braces.
    """

    message: str
    arguments: dict[str, Any]
    slots: tuple[tuple[Place, str], ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One possible call: a tool, with examples whose arguments differ only in the slots."""

    label: str
    tool: ToolSpec
    examples: tuple[Example, ...]

    @property
    def looks(self) -> bool:
        """Whether it only reads rows."""
        action = self.examples[0].arguments.get("action")
        return self.tool.name == "persist" and action in _LOOKS

    @property
    def answer(self) -> str:
        """The sentence for a row of its result, "" = the row itself."""
        return next((example.answer for example in self.examples if example.answer), "")


def options(tools: Sequence[ToolSpec]) -> tuple[Option, ...]:
    """Return the options in the order of the examples; tools without examples have none."""
    found = [option for tool in tools for option in _of_tool(tool)]
    names = Counter(option.label for option in found)
    return tuple(
        replace(option, label=f"{option.label} {at}") if names[option.label] > 1 else option
        for at, option in enumerate(found, 1)
    )


def option_of(choices: Sequence[Option], tool: str, arguments: Mapping[str, Any]) -> Option | None:
    """Return the option that a call belongs to, None = none."""
    for option in choices:
        if option.tool.name == tool and any(
            _key(arguments, example.slots) == _key(example.arguments, example.slots)
            for example in option.examples
        ):
            return option
    return None


def _of_tool(tool: ToolSpec) -> list[Option]:
    listed = tool.parameters.get("examples")
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    groups: dict[str, list[Example]] = {}
    for item in items:
        if example := _example(tool, item):
            groups.setdefault(_key(example.arguments, example.slots), []).append(example)
    return [Option(_label(tool, found[0]), tool, tuple(found)) for found in groups.values()]


def _example(tool: ToolSpec, item: object) -> Example | None:
    entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    message, arguments, answer = entry.get("user"), entry.get("arguments"), entry.get("answer", "")
    if not (isinstance(message, str) and message.strip() and isinstance(arguments, dict)):
        return None
    known = cast("dict[str, Any]", arguments)
    slots = _slots(tool, message, known)
    return Example(message, known, slots, answer if isinstance(answer, str) else "")


def _slots(
    tool: ToolSpec, message: str, arguments: Mapping[str, Any]
) -> tuple[tuple[Place, str], ...]:
    """Return the texts in the arguments that stand in the message, in its order."""
    properties = tool.parameters.get("properties")
    known = cast("dict[str, object]", properties) if isinstance(properties, dict) else {}
    found = [
        (place, value)
        for place, value in all_leaves(dict(arguments))
        if isinstance(value, str)
        and value.strip()
        and value in message
        and (tool.name != "persist" or place[0] in _PERSIST_VALUES)
        and "enum" not in _as_object(known.get(place[0]))
    ]
    return tuple(sorted(found, key=lambda slot: message.index(slot[1])))


def _key(arguments: Mapping[str, Any], slots: Sequence[tuple[Place, str]]) -> str:
    """Return a key that is equal for calls that differ only in their slots."""
    try:
        emptied = with_values(arguments, {place: None for place, _ in slots})
        return json.dumps(emptied, sort_keys=True)
    except (TypeError, AttributeError, ValueError):
        return ""


def _label(tool: ToolSpec, example: Example) -> str:
    action = example.arguments.get("action")
    name = action if isinstance(action, str) else tool.name.rpartition("__")[2]
    return name.replace("_", " ")


def _as_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
