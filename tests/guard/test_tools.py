"""What a model is told of a tool, and what it hears when it calls it wrong. Source: contract."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

import pytest

from aouo.agent.tools.conversation import clarify
from aouo.agent.tools.msg import msg
from aouo.agent.tools.registry import Arguments, Registry, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed

NOWHERE = cast("ToolContext", object())


class Wish(Arguments):
    kind: Literal["a", "b"]
    text: str = ""
    rows: list[str] | str | None = None
    many: int = 3


async def handler(wish: Wish, context: ToolContext, call_id: str) -> str:
    return f"{wish.kind} {wish.text!r} {wish.rows} {wish.many}"


def wishing(name: str = "wish", group: str = "core") -> Tool:
    return tool(name, "Wishes.", Wish, handler, group=group)


async def run(payload: dict[str, Any]) -> str:
    wish = wishing()
    return await wish.handler(wish.parse(payload), NOWHERE, "call")


def test_a_schema_holds_only_what_a_model_needs() -> None:
    """It is sent with every request: ≤ 6 KB for all of it (design §1)."""
    spec = wishing().spec()

    assert spec.parameters == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a", "b"]},
            "text": {"type": "string"},
            "rows": {"type": ["array", "string"]},
            "many": {"type": "integer"},
        },
        "required": ["kind"],
    }


@pytest.mark.parametrize("made", [msg(), clarify()])
def test_the_built_in_schemas_are_short_and_free_of_titles(made: Tool) -> None:
    text = json.dumps(made.spec().parameters)

    assert len(text) < 800
    assert not any(f'"{word}"' in text for word in ("title", "default", "additionalProperties"))


@pytest.mark.parametrize(
    ("payload", "result"),
    [
        ({"kind": "a"}, "a '' None 3"),
        ({"kind": "a", "text": "", "rows": None, "many": ""}, "a '' None 3"),
        ({"kind": "b", "rows": ["x"], "many": 0}, "b '' ['x'] 0"),
    ],
)
async def test_what_a_model_sends_for_nothing_is_left_out(
    payload: dict[str, Any], result: str
) -> None:
    assert await run(payload) == result


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({}, "kind: Field required"),
        ({"kind": ""}, "kind: Input should be 'a' or 'b'"),
        ({"kind": "c", "many": "x"}, "many: Input should be a valid integer"),
        (
            {"kind": "a", "extra": 1},
            "extra: Extra inputs are not permitted. It takes: kind, text, rows, many",
        ),
    ],
)
async def test_wrong_arguments_are_all_named_at_once(payload: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        await run(payload)

    assert str(failed.value).startswith("Wrong arguments for wish: ")
    assert why in str(failed.value)


@pytest.mark.parametrize(
    ("permitted", "enabled", "names"),
    [
        (["wish"], [], ("wish",)),
        (["core"], [], ("wish", "other")),
        (["core"], ["files"], ()),
        (["core", "far"], ["core", "files"], ("wish", "other", "far")),
        (["files"], ["core"], ()),
        ([], [], ()),
    ],
)
def test_a_tool_needs_the_packs_leave_and_the_owners(
    permitted: list[str], enabled: list[str], names: tuple[str, ...]
) -> None:
    tools = Registry([wishing(), wishing("other"), wishing("far", "files")])

    assert tuple(item.name for item in tools.allowed(permitted, enabled)) == names


def test_two_tools_of_one_name_are_found_at_start() -> None:
    with pytest.raises(ValueError, match="two tools share a name"):
        Registry([wishing(), wishing()])
