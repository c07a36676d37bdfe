"""There is no other way to an effect than those that docs/security.md lists. Source: issue 31."""

from __future__ import annotations

import re

from aouo.agent.tools.registry import Arguments, tool
from tests.path.world import ROOT

EFFECTS = re.compile(
    r"\.handler\(|sandbox(?:\(\))?\.run\(|\.call_tool\(|create_subprocess_exec\(|"
    r"\bkeeping\.(?:append|replace|edit|empty|write|undo|put_back)\(|\.change\(tx|"
    r"service\.(?:create|change|switch|remove|run)\(tx|_write\(path, |undoing\.put_back\("
)
OUTSIDE = ("cli", "emulator", "installer", "guard/sandbox")
"""What a person types in a terminal, the local Telegram, and the inside of the sandbox."""


def test_each_place_that_changes_something_is_a_door_that_docs_tell_of() -> None:
    house = ROOT / "aouo"
    found = {
        str(file.relative_to(house))
        for file in house.rglob("*.py")
        if not str(file.relative_to(house)).startswith(OUTSIDE)
        and EFFECTS.search(file.read_text("utf-8"))
    }
    table = (ROOT / "docs" / "security.md").read_text("utf-8").partition("## Doors\n")[2]
    told = set(re.findall(r"`aouo/([\w/.]+\.py)`", table.partition("\n## ")[0]))

    assert found == told


def test_a_tool_that_does_not_say_what_it_does_is_taken_for_the_worst() -> None:
    async def run(wish: Arguments, context: object, call_id: str) -> str:
        return ""

    made = tool("x", "X.", Arguments, run, mutates=True)

    assert made.sink_of(Arguments(), mutates=True) == "destroy"


def test_each_tool_of_ours_says_what_it_does() -> None:
    for file in (ROOT / "aouo" / "agent" / "tools").glob("*.py"):
        text = file.read_text("utf-8")
        made = len(re.findall(r"\n    return tool\(|\bTool\(\n", text))
        assert text.count("sink=") >= made, file.name
