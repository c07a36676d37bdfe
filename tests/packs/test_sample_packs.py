"""The packs we ship: they load without a word, stay small, and their calls really work."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aouo.memory.files import MemoryFiles
from aouo.packs.library import Pack, scan, validate
from aouo.packs.storage import PackStore

ROOT = Path(__file__).parents[2] / "packs"
NAMES = ("notes", "vocab")
NOW = "2026-01-31T12:00:00Z"
ARGUMENTS = {
    "memory": {"target", "action", "content"},
    "persist": {"action", "table", "data", "where", "sql", "params", "limit"},
}


@pytest.fixture(params=NAMES)
def pack(request: pytest.FixtureRequest) -> Pack:
    found = scan(ROOT, enabled=[request.param]).get(str(request.param))
    assert found is not None
    return found


def calls(pack: Pack) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Every tool call that the pack's skills show, with values for what they leave open."""
    for skill in pack.skills.values():
        for text in re.findall(r"`((?:persist|memory|cron)\(.*?\))`", skill.body):
            quoted = re.sub(r'"<[^<>="]*>"', '"2026-01-31"', text)
            call = ast.parse(re.sub(r"<[^<>=]+>", "1", quoted), mode="eval").body
            assert isinstance(call, ast.Call)
            assert isinstance(call.func, ast.Name)
            arguments = {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}
            yield skill.name, call.func.id, arguments


def test_a_shipped_pack_has_no_problem_and_no_warning(pack: Pack) -> None:
    assert validate(pack.folder) == ()


def test_what_enters_every_prompt_is_small(pack: Pack) -> None:
    """First request body at most 6 KB, tool schemas included (design 1)."""
    assert 0 < len(pack.soul_additions.encode()) <= 200
    assert 0 < len(pack.rules_additions.encode()) <= 300
    cards = [skill.qualified + skill.description for skill in pack.skills.values()]
    assert len("".join(cards).encode()) <= 400


def test_every_call_in_a_skill_works(pack: Pack, tmp_path: Path) -> None:
    shown = list(calls(pack))
    assert {tool for _, tool, _ in shown} == set(ARGUMENTS)
    files = MemoryFiles(tmp_path / "memory", pack.templates)
    with closing(PackStore(tmp_path / "t.db", pack.manifest, pack.schema_sql)) as store:
        for number, (_, tool, arguments) in enumerate(shown):
            assert set(arguments) <= ARGUMENTS[tool]
            if tool == "persist":
                rest = {key: value for key, value in arguments.items() if key != "action"}
                action = str(arguments["action"])
                store.run(action, rest, call_id=str(number), session_key="s", now=NOW)
            elif tool == "memory" and arguments["action"] == "append":
                files.append(str(arguments["target"]), str(arguments["content"]))
            elif tool == "memory" and arguments["action"] == "replace":
                files.replace(str(arguments["target"]), str(arguments["content"]))


def test_the_tools_that_the_skills_use_are_the_ones_it_asks_for(pack: Pack) -> None:
    assert {tool for _, tool, _ in calls(pack)} <= set(pack.manifest.permissions.tools)


def test_memory_starts_empty(pack: Pack, tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path, pack.templates)

    assert (files.read("user"), files.read("memory")) == ("", "")
    files.append("memory", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["MEMORY.md", "USER.md"]


def test_the_shipped_commands_do_not_meet() -> None:
    library = scan(ROOT, enabled=NAMES)

    assert library.commands() == {
        "daily_note": "notes:daily-note",
        "review": "notes:review",
        "add": "vocab:add",
        "study": "vocab:study",
    }
    assert library.command_collisions() == ()


def test_a_note_is_kept_corrected_found_and_removed(tmp_path: Path) -> None:
    pack = scan(ROOT).packs["notes"]
    with closing(PackStore(tmp_path / "t.db", pack.manifest, pack.schema_sql)) as store:

        def persist(action: str, **arguments: object) -> dict[str, object]:
            number = f"{action}{arguments}"
            return store.run(action, arguments, call_id=number, session_key="s", now=NOW)

        persist("save", data={"text": "Met Ada", "tags": "work, people"})
        persist("update", where={"id": 1}, data={"text": "Met Ada Lovelace"})
        by_tag = next(
            arguments
            for _, tool, arguments in calls(pack)
            if tool == "persist" and arguments.get("params") == ["%,work,%"]
        )
        assert persist("query", sql=by_tag["sql"], params=by_tag["params"])["rows"] == [
            {"id": 1, "created_at": NOW, "text": "Met Ada Lovelace"}
        ]
        assert persist("delete", where={"id": 1})["deleted"] == 1
        assert persist("recent")["count"] == 0


def test_a_word_is_added_once_asked_when_due_and_its_card_goes_with_it(tmp_path: Path) -> None:
    pack = scan(ROOT).packs["vocab"]
    due = next(
        arguments["sql"]
        for skill, tool, arguments in calls(pack)
        if (skill, tool) == ("study", "persist") and "JOIN" in str(arguments.get("sql"))
    )
    with closing(PackStore(tmp_path / "t.db", pack.manifest, pack.schema_sql)) as store:
        made = iter(range(100))

        def persist(action: str, **arguments: object) -> dict[str, object]:
            number = str(next(made))
            return store.run(action, arguments, call_id=number, session_key="s", now=NOW)

        for word in ("Haus", "haus"):
            persist("upsert", table="words", data={"word": word, "meaning": "house"})
            persist("upsert", table="cards", data={"word": word})
        assert persist("query", sql=due)["count"] == 1
        persist(
            "update", table="cards", where={"word": "HAUS"}, data={"box": 1, "due": "9999-01-01"}
        )
        assert persist("query", sql=due)["count"] == 0
        persist("delete", table="words", where={"word": "haus"})
        assert persist("recent", table="cards")["count"] == 0
