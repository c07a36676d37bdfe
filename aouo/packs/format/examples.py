"""`examples.yml`: a few things people say to a pack, and the tool call each of them means.

    examples:
      - say: "note: call the bank"
        tool: persist
        arguments: {action: save, data: {text: call the bank}}

A model that is too small to work from descriptions chooses by them; others never see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from aouo.packs.format.problems import Problem
from aouo.packs.format.yaml_text import YamlRefused, read_mapping

FILE = "examples.yml"
_KEYS = frozenset({"say", "tool", "arguments"})


@dataclass(frozen=True, slots=True)
class Example:
    """What a person says, and the one call that answers it."""

    say: str
    tool: str
    arguments: Mapping[str, object]


def parse(text: str) -> tuple[tuple[Example, ...], tuple[Problem, ...]]:
    """Read the file's text; what is wrong with an entry leaves out that entry only."""
    try:
        document = read_mapping(text)
    except YamlRefused as error:
        return (), (Problem(FILE, error.line, "", str(error)),)
    listed = document.values.get("examples", [])
    if not isinstance(listed, list):
        line = document.line_of(("examples",))
        return (), (Problem(FILE, line, "examples", "must be a list"),)
    found: list[Example] = []
    problems: list[Problem] = []
    for index, entry in enumerate(listed):
        line = document.line_of(("examples", index))
        if not isinstance(entry, dict) or entry.keys() != _KEYS:
            message = "needs exactly say, tool and arguments"
            problems.append(Problem(FILE, line, f"examples[{index}]", message))
            continue
        say, tool, arguments = entry["say"], entry["tool"], entry["arguments"]
        if isinstance(say, str) and isinstance(tool, str) and isinstance(arguments, dict):
            found.append(Example(say, tool, cast("dict[str, object]", arguments)))
        else:
            message = "say and tool are texts, arguments is a mapping"
            problems.append(Problem(FILE, line, f"examples[{index}]", message))
    return tuple(found), tuple(problems)
