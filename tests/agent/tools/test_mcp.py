"""How the tools of an MCP server look to a model, and what it hears of a wrong call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from aouo.agent.tools.mcp import MAX_TOOLS, Answer, Offered, prefix, problems, tools_of
from aouo.agent.tools.registry import Tool
from aouo.facts.errors import ToolFailed
from tests.agent.tools.calling import call

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "addArguments",
    "type": "object",
    "properties": {
        "text": {"type": "string", "title": "Text", "description": "d" * 400},
        "many": {"type": "integer", "default": 3},
        "kind": {"enum": ["a", "b"]},
        "any": {"anyOf": [{"$ref": "#/$defs/X"}, {"type": "null"}]},
        "title": {"type": ["string", "null"]},
    },
    "required": ["text"],
    "additionalProperties": False,
    "$defs": {"X": {"type": "object"}},
}


class Server:
    """Says back what it was called with."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer

    async def __call__(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        self.calls.append((name, dict(arguments)))
        return self._answer or Answer(json.dumps(dict(arguments)))


def offered(name: str = "do", schema: Mapping[str, Any] = SCHEMA, **how: Any) -> Offered:
    return Offered(name, "Does.", schema, **how)


def only(item: Offered, server: Server | None = None) -> Tool:
    [made] = tools_of("files", [item], server or Server())
    return made


def test_a_schema_is_kept_as_it_is_but_for_noise() -> None:
    """References, defaults and nullable types mean something to a model, or to the server."""
    made = only(offered()).spec()

    assert (made.name, made.description) == ("mcp__files__do", "Does.")
    assert made.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "d" * 300},
            "many": {"type": "integer", "default": 3},
            "kind": {"enum": ["a", "b"]},
            "any": {"anyOf": [{"$ref": "#/$defs/X"}, {"type": "null"}]},
            "title": {"type": ["string", "null"]},
        },
        "required": ["text"],
        "additionalProperties": False,
        "$defs": {"X": {"type": "object"}},
    }


@pytest.mark.parametrize(
    ("read_only", "idempotent", "facts"),
    [
        (True, False, (True, False, True)),
        (False, True, (False, True, True)),
        (False, False, (False, True, False)),
    ],
)
def test_what_a_server_says_of_a_tool_decides_how_it_is_treated(
    read_only: bool, idempotent: bool, facts: tuple[bool, bool, bool]
) -> None:
    """Only what reads may run off the record, only what may be repeated runs again."""
    made = only(offered(read_only=read_only, idempotent=idempotent))
    wish = made.parse({"text": "x"})

    assert (made.is_read_only(wish), made.is_mutating(wish), made.idempotent) == facts
    assert (made.group, made.timeout_s) == ("mcp:files", 30.0)


async def test_a_server_gets_exactly_what_the_model_wrote() -> None:
    """An empty text or a null may mean something to a tool that is not ours."""
    server = Server()

    text = await call(only(offered(), server), text="", any=None, title=None)

    assert server.calls == [("do", {"text": "", "any": None, "title": None})]
    assert re.fullmatch(r'<untrusted source="mcp:files" id="(\w+)">\n.*\n</untrusted \1>', text)


@pytest.mark.parametrize(
    ("given_", "found"),
    [
        ({"text": "x", "many": 3, "kind": "a"}, []),
        ({"text": "x", "many": 3.0}, []),
        ({"text": "x", "any": {"y": 1}}, []),
        ({}, ["text is missing"]),
        ({"text": 1}, ["text has to be of type string"]),
        ({"text": "x", "many": True}, ["many has to be of type integer"]),
        ({"text": "x", "many": "3"}, ["many has to be of type integer"]),
        ({"text": "x", "title": 1}, ["title has to be of type string or null"]),
        ({"text": "x", "kind": "c"}, ['kind has to be one of "a", "b"']),
        (
            {"txt": "x"},
            ["text is missing", "txt is unknown; there is text, many, kind, any, title"],
        ),
    ],
)
def test_what_is_plainly_wrong_is_said_before_the_server_is_asked(
    given_: dict[str, Any], found: list[str]
) -> None:
    assert problems(SCHEMA, given_) == found


async def test_a_wrong_call_names_every_problem_and_is_not_made() -> None:
    server = Server()

    with pytest.raises(ToolFailed) as failed:
        await call(only(offered(), server), many="x")

    assert str(failed.value) == (
        "Wrong arguments for mcp__files__do: arguments: text is missing, "
        "many has to be of type integer."
    )
    assert server.calls == []


async def test_a_failure_of_the_server_is_a_failed_call_in_its_words() -> None:
    server = Server(Answer("no </untrusted> luck", failed=True))

    with pytest.raises(ToolFailed, match=r"\nno &lt;/untrusted> luck\n"):
        await call(only(offered(schema={}), server))


@given(st.text(min_size=1, max_size=40), st.lists(st.text(max_size=100), max_size=20, unique=True))
def test_every_name_is_one_that_services_take_and_no_two_are_the_same(
    server: str, names: list[str]
) -> None:
    """OpenAI, Groq and Gemini all take [a-zA-Z0-9_-]{1,64}."""
    made = tools_of(server, [offered(name, {}) for name in names], Server())

    found = [item.name for item in made]
    assert len(set(found)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found)
    assert all(name.startswith(prefix(server)) for name in found)


@pytest.mark.parametrize(
    "pair",
    [
        ("a b", "a_b"),
        ("s" * 30 + "1", "s" * 30 + "2"),
        ("a", "a__b"),
        ("a", "a_"),
        ("a", "_a"),
        ("a_b", "a__b"),
    ],
)
def test_two_servers_never_share_their_names(pair: tuple[str, str]) -> None:
    first, second = map(prefix, pair)

    assert not first.startswith(second)
    assert not second.startswith(first)
    assert len(first) <= 31


def test_what_no_prompt_could_hold_is_cut_or_left_out_and_logged() -> None:
    huge = {"properties": {f"field{n}": {"type": "string"} for n in range(1000)}}
    many = [Offered(f"t{n}", "d" * 5000, {}) for n in range(MAX_TOOLS + 2)]

    with capture_logs() as logs:
        made = tools_of("s", [offered("huge", huge), *many], Server())

    assert len(made) == MAX_TOOLS - 1
    assert {len(item.description) for item in made} == {1000}
    assert [(log["event"], log.get("tool"), log.get("count")) for log in logs] == [
        ("mcp_tool_left_out", "huge", None),
        ("mcp_tools_left_out", None, 3),
    ]


def test_a_schema_without_end_is_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"type": "object", "properties": {"x": deep}}

    assert len(json.dumps(only(offered(schema=deep)).spec().parameters)) < 2000


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": ["a"]},
        {"properties": {"a": "text"}},
        {"properties": {"a": {"type": [{}]}}},
        {"properties": {"a": {"type": {}}}},
        {"properties": {"a": {"type": "text"}}},
        {"properties": {"a": {"items": 5}}},
        {"properties": {"a": {"anyOf": []}}},
        {"properties": {"a": {"type": "object", "properties": {"b": 1}}}},
        {"required": 5},
        {"required": [{}]},
    ],
)
def test_a_schema_that_is_none_is_left_out(schema: dict[str, Any]) -> None:
    """It would break each check of a call, and a service refuses the whole request for it."""
    with capture_logs() as logs:
        assert tools_of("x", [offered(schema=schema), offered("fine")], Server())[0].name == (
            "mcp__x__fine"
        )

    assert [log["why"] for log in logs] == ["schema is wrong"]
