"""`examples.yml`: a few things people say to a pack, and the tool call each of them means.

    examples:
      - say: "note: call the bank"
        tool: persist
        arguments: {action: save, data: {text: call the bank}}
        answer: "Saved as a note: “{text}”."

A model that is too small to work from descriptions is held to them; others never see them.
`answer`, which may be absent, tells a row that was written or found, by its columns in braces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from aouo.packs.format.problems import Problem
from aouo.packs.format.yaml_text import TextRefused, read_mapping

FILE = "examples.yml"
_KEYS = frozenset({"say", "tool", "arguments"})
_ALL_KEYS = _KEYS | {"answer"}


@dataclass(frozen=True, slots=True)
class Example:
    """What a person says, the one call that answers it, and how a row of it is told, "" = as it
    is."""

    say: str
    tool: str
    arguments: Mapping[str, object]
    answer: str = ""


def parse(text: str) -> tuple[tuple[Example, ...], tuple[Problem, ...]]:
    """Read the file's text; what is wrong with an entry leaves out that entry only."""
    try:
        document = read_mapping(text)
        for fault in document.faults:
            raise fault
    except TextRefused as error:
        return (), (Problem(FILE, error.line, "", str(error)),)
    listed = document.values.get("examples", [])
    if not isinstance(listed, list):
        line = document.line_of(("examples",))
        return (), (Problem(FILE, line, "examples", "must be a list"),)
    found: list[Example] = []
    problems: list[Problem] = []
    for index, entry in enumerate(listed):
        line = document.line_of(("examples", index))
        if not isinstance(entry, dict) or not _KEYS <= entry.keys() <= _ALL_KEYS:
            message = "needs say, tool and arguments, and takes answer besides"
            problems.append(Problem(FILE, line, f"examples[{index}]", message))
            continue
        say, tool, arguments = entry["say"], entry["tool"], entry["arguments"]
        answer = entry.get("answer", "")
        texts = isinstance(say, str) and isinstance(tool, str) and isinstance(answer, str)
        if texts and isinstance(arguments, dict):
            known = cast("dict[str, object]", arguments)
            found.append(Example(str(say), str(tool), known, str(answer)))
        else:
            message = "say, tool and answer are texts, arguments is a mapping"
            problems.append(Problem(FILE, line, f"examples[{index}]", message))
    return tuple(found), tuple(problems)
