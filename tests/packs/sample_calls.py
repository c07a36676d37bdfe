"""The calls that the shipped skills show, read out of their text and made on the real tools."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from aouo.agent.tools.conversation import OnboardingDone, clarify
from aouo.agent.tools.files import WriteFile
from aouo.agent.tools.memory import Memory
from aouo.agent.tools.msg import msg
from aouo.agent.tools.persist import db, persist
from aouo.agent.tools.registry import Arguments, Tool, ToolContext
from aouo.agent.tools.web import Fetch
from aouo.facts.ports import Clock, Payload
from aouo.packs.data.storage import PackStore
from aouo.packs.load import Pack
from tests.fakes.turn_facts import facts_of

NOW = "2026-01-31T12:00:00Z"
_TOOLS = "persist|db|memory|msg|clarify|write_file|read_file|list_dir|fetch|onboarding_done"
_CALL = re.compile(rf"`((?:{_TOOLS})\(.*?\))`", re.DOTALL)
_OPENING = re.compile(rf"`(?:{_TOOLS})\(")
_LEFT_OPEN = re.compile(r"<([A-Za-z#0-9][^<>=]*)>")
_FILLED = {
    "word": "Baum",
    "wrong": "Baum",
    "right": "Bäume",
    "number": "5",
    "id": "1",
    "id of the post": "1",
    "week": "2026-01-26",
    "tag": "work",
    "old": "plain",
    "name": "plain",
    "new": "short",
}
"""What the skills leave to the model, where the tables care; anything else stands for itself."""

ROWS: Mapping[str, Sequence[tuple[str, Mapping[str, object]]]] = {
    "notes": [("entries", {"text": "Met Ada", "tags": "work, people"})],
    "vocab": [
        ("words", {"word": "Baum", "meaning": "tree"}),
        ("reviews", {"word": "Baum", "grade": "good"}),
    ],
    "create": [
        ("posts", {"title": "Slow mornings", "body": "Get up.", "state": "draft"}),
        ("materials", {"content": "meetings are a tax", "post_id": 1}),
    ],
}
"""A home in which every call of a skill finds what it is about."""


_CHECKED_ONLY: Mapping[str, type[Arguments]] = {
    "memory": Memory,
    "write_file": WriteFile,
    "fetch": Fetch,
    "onboarding_done": OnboardingDone,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One call as a skill shows it, with values for what it leaves open."""

    skill: str
    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.skill}: {self.tool}({self.arguments})"


def shown_calls(pack: Pack) -> Iterator[Shown]:
    """Every call in every skill; one that cannot be read is an error of the skill."""
    for skill in pack.skills.values():
        found = _CALL.findall(skill.body)
        assert len(found) == len(_OPENING.findall(skill.body)), skill.qualified
        for text in found:
            tool, arguments = read_call(text)
            yield Shown(skill.name, tool, arguments)


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of a call written as in Python."""
    filled = _LEFT_OPEN.sub(lambda match: _FILLED.get(match.group(1), match.group(1)), text)
    call = ast.parse(filled.replace("…", '"something"'), mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    assert not call.args
    return call.func.id, {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}


def open_store(pack: Pack, folder: Path, *, filled: bool = True) -> PackStore:
    """The pack's database in `folder`, with the rows of `ROWS`."""
    store = PackStore(folder / "t.db", pack.manifest, pack.schema_sql)
    for number, (table, row) in enumerate(ROWS[pack.name] if filled else ()):
        arguments = {"table": table, "data": row}
        store.run("save", arguments, call_id=f"row-{number}", session_key="s", now=NOW)
    return store


async def make(pack: Pack, shown: Shown, folder: Path, clock: Clock) -> str:
    """Make the call on the pack's own tables, or have its arguments read by its tool.

    Raises:
        ToolFailed, ValidationError: the skill shows a call that does not work.
    """
    if shown.tool in _CHECKED_ONLY:
        _CHECKED_ONLY[shown.tool].model_validate(shown.arguments)
        return ""
    with closing(open_store(pack, folder)) as store:
        tools: dict[str, Tool] = {
            "persist": persist(lambda pack, owner: store, clock),
            "db": db(lambda pack, owner: store),
            "msg": msg(),
            "clarify": clarify(),
        }
        context = SimpleNamespace(
            sources=tuple, facts=facts_of(pack.name, tenant="tg_1"), adapter=_Chat(), ask=_first
        )
        tool = tools[shown.tool]
        wish = tool.parse(json.loads(json.dumps(shown.arguments)))
        return await tool.handler(wish, cast("ToolContext", context), "call")


class _Chat:
    async def dispatch_message(self, payload: Payload, call_id: str) -> SimpleNamespace:
        del call_id
        return SimpleNamespace(ok=bool(payload.text), message_id="1", note="", unknown=False)


async def _first(call_id: str, question: str, options: Sequence[str]) -> str:
    del call_id, question
    return options[0]
