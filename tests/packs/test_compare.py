"""What an upgrade asks: only what is new or wider. Source: issue 5 "Lifecycle"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import PackError
from aouo.packs.compare import compare
from aouo.packs.format.manifest import Budget
from aouo.packs.format.problems import GROUP_TOOLS, GROUPS, TOOLS
from aouo.packs.load import Pack, load_pack
from aouo.packs.shipping.archive import SIGNATURE_FILE, content_hash
from aouo.packs.shipping.signing import Signature, new_key, sign_app
from aouo.packs.summary import (
    OwnTool,
    Planned,
    Summary,
    Watched,
    sound_pack,
    summarize,
    summarize_folder,
)
from tests.packs.writing import MakePack

BASE: dict[str, Any] = {
    "name": "test",
    "version": "1.0.0",
    "display_name": "Test",
    "provided_skills": ["hello"],
    "schema": {"owned_tables": ["items"], "scope": "person"},
}
TABLE = "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT NOT NULL{});\n"


def summary(
    make_pack: MakePack,
    root: str = "one",
    *,
    permissions: dict[str, Any] | None = None,
    schema: str = TABLE.format(""),
    files: dict[str, str] | None = None,
    **fields: Any,
) -> Summary:
    manifest = {**BASE, **fields, "permissions": permissions or {}}
    texts = {"pack.yml": yaml.safe_dump(manifest), "schema.sql": schema, **(files or {})}
    return summarize_folder(make_pack(files=texts, root=root))


def folder(make_pack: MakePack, root: str, files: dict[str, str]) -> Path:
    texts = {"pack.yml": yaml.safe_dump(BASE), "schema.sql": TABLE.format(""), **files}
    return make_pack(files=texts, root=root)


def test_a_summary_says_what_an_app_may_do_and_brings(make_pack: MakePack):
    found = summary(
        make_pack,
        permissions={
            "tools": ["core", "web"],
            "network": ["example.org"],
            "files": ["~/notes"],
            "cron": True,
            "external_commands": ["count"],
        },
        cron_defaults=[{"id": "daily", "schedule": "0 8 * * *", "skill": "hello"}],
        watches=[{"id": "late", "every": "5m", "sql": "SELECT 1", "prompt": "Say so"}],
        runtime={"external_tools": [{"name": "count", "command": "wc -w"}]},
        custom_tools=[{"name": "add", "path": "tools/add.py"}],
        files={
            "tools/add.py": 'def add(a: int) -> int:\n    """Add."""\n    return a\n',
            "soul-additions.md": "ä" * 10,
        },
    )

    assert (found.tools, found.network, found.file_paths) == (
        ("core", "web"),
        ("example.org",),
        ("~/notes",),
    )
    assert found.schedules == (Planned("daily", "0 8 * * *", "hello", True),)
    assert found.watches == (Watched("late", "", "5m"),)
    assert found.pack_tools == (
        OwnTool("add", "tools/add.py", "python"),
        OwnTool("count", "wc -w", "command"),
    )
    assert (list(found.tables), found.skills, found.commands) == (["items"], ("hello",), ("hello",))
    assert found.prompt_bytes == 20 + len("helloSays hello") + 8
    assert found.files == 5


def test_public_functions_are_tools_where_the_manifest_names_none(make_pack: MakePack):
    function = '{} {}() -> str:\n    """Does something."""\n    return ""\n\n'
    pairs = (("def", "shown"), ("async def", "too"), ("def", "_mine"))
    code = "".join(function.format(*pair) for pair in pairs)
    folder = make_pack(files={"tools/some.py": code, "tools/deep/not.py": "def no(): ..."})

    found = summarize(sound_pack(folder, strict=False), Signature())

    assert [tool.name for tool in found.pack_tools] == ["shown", "too"]


def test_a_broken_app_is_not_summed_up_and_a_strict_reading_finds_more(make_pack: MakePack):
    folder = make_pack(files={"pack.yml": yaml.safe_dump({**BASE, "descripton": "x"})})

    with pytest.raises(PackError, match="did you mean"):
        summarize_folder(folder)
    assert sound_pack(folder, strict=False).name == "test"


def test_a_changed_app_with_a_signature_is_refused(make_pack: MakePack):
    folder = make_pack()
    (folder / SIGNATURE_FILE).write_bytes(sign_app(folder, new_key(), "x"))
    (folder / "new.md").write_text("")

    with pytest.raises(PackError, match="signature of this pack is wrong"):
        summarize_folder(folder)


def test_a_first_install_asks_and_the_same_again_does_not(make_pack: MakePack):
    one = summary(make_pack)

    assert compare(None, one).needs_consent
    same = compare(one, one)
    assert (same.needs_consent, same.changes) == (False, ())


Row = tuple[dict[str, Any], dict[str, Any], Sequence[str]]
PERMISSIONS: dict[str, Row] = {
    "a host more": ({"network": ["a.org"]}, {"network": ["a.org", "b.org"]}, ["b.org"]),
    "a host less": ({"network": ["a.org", "b.org"]}, {"network": ["a.org"]}, []),
    "any host": ({"network": ["a.org"]}, {"network": ["*"]}, ["*"]),
    "one instead of any": ({"network": ["*"]}, {"network": ["a.org", "*.b.org"]}, []),
    "a port is not covered by any": ({"network": ["*"]}, {"network": ["a.org:22"]}, ["a.org:22"]),
    "below": ({"network": ["*.a.org"]}, {"network": ["x.a.org", "*.y.a.org"]}, []),
    "not below": (
        {"network": ["*.a.org"]},
        {"network": ["a.org", "evila.org", "*.org"]},
        ["a.org", "evila.org", "*.org"],
    ),
    "written differently": ({"network": ["A.org"]}, {"network": ["a.ORG"]}, []),
    "a folder more": ({"files": ["~/a"]}, {"files": ["~/a", "~/b"]}, ["~/b"]),
    "a file in it": ({"files": ["~/a"]}, {"files": ["~/a/b.txt"]}, []),
    "its parent": ({"files": ["~/a/b"]}, {"files": ["~/a"]}, ["~/a"]),
    "a longer name": ({"files": ["~/a"]}, {"files": ["~/ab"]}, ["~/ab"]),
    "out of it": ({"files": ["~/a"]}, {"files": ["~/a/../b"]}, ["~/a/../b"]),
    "a pattern": ({"files": ["~/*.md"]}, {"files": ["~/x.md"]}, ["~/x.md"]),
    "a tool more": ({"tools": ["msg"]}, {"tools": ["msg", "fetch"]}, ["fetch"]),
    "one of a group": ({"tools": ["web"]}, {"tools": ["fetch"]}, []),
    "the group of one": ({"tools": ["fetch"]}, {"tools": ["web"]}, ["web"]),
    "all of a group one by one": (
        {"tools": ["read_file", "write_file", "list_dir"]},
        {"tools": ["files"]},
        [],
    ),
    "a server": ({"tools": ["msg"]}, {"tools": ["msg", "mcp:mail"]}, ["mcp:mail"]),
    "nothing said": ({"tools": ["msg"]}, {}, ["memory", "skill_view", "clarify", "persist"]),
    "a command": ({}, {"external_commands": ["rm"]}, ["rm"]),
    "schedules at all": ({}, {"cron": True}, [""]),
    "no schedules": ({"cron": True}, {}, []),
    "a platform more": ({"platforms": ["tg"]}, {"platforms": ["tg", "cli"]}, ["cli"]),
    "every platform": ({"platforms": ["tg"]}, {}, [""]),
    "one platform": ({}, {"platforms": ["tg"]}, []),
}


@pytest.mark.parametrize(("old", "new", "asks"), PERMISSIONS.values(), ids=PERMISSIONS.keys())
def test_only_what_is_new_or_wider_asks(
    old: dict[str, Any], new: dict[str, Any], asks: Sequence[str], make_pack: MakePack
):
    before = replace(
        summary(make_pack),
        **{_FIELDS.get(k, k): _value(v) for k, v in ({"tools": ()} | old).items()},
    )
    after = replace(
        summary(make_pack),
        **{_FIELDS.get(k, k): _value(v) for k, v in ({"tools": ()} | new).items()},
    )
    if not new and old.get("tools"):
        after = summary(make_pack, "default")

    found = [change.item for change in compare(before, after).asks]

    assert [item for item in found if item not in ("db", "cron", "pack")] == list(asks)
    assert compare(before, after).needs_consent == bool(found)


_FIELDS = {"files": "file_paths", "cron": "may_schedule"}


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def job(schedule: str = "0 8 * * *", enabled: bool = True, skill: str = "hello") -> Planned:
    return Planned("daily", schedule, skill, enabled)


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ((), (job(),), True),
        ((), (job(enabled=False),), False),
        ((job(),), (job("0 9 * * *"),), True),
        ((job(enabled=False),), (job("0 9 * * *", False),), False),
        ((job(enabled=False),), (job(),), True),
        ((job(),), (job(enabled=False),), False),
        ((job(),), (), False),
    ],
)
def test_a_schedule_that_runs_asks_and_one_that_is_off_is_shown(
    old: tuple[Planned, ...], new: tuple[Planned, ...], asks: bool, make_pack: MakePack
):
    one = replace(summary(make_pack), may_schedule=True)

    found = compare(replace(one, schedules=old), replace(one, schedules=new))

    assert found.needs_consent == asks
    assert [change.topic for change in found.changes] == ["schedules"]


def watch(every: str = "5m", target: str = "", quiet: bool = False) -> Watched:
    return Watched("late", target, every, quiet)


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ((), (watch(),), True),
        ((watch(),), (watch("1m"),), True),
        ((watch(),), (watch(target="https://example.com"),), True),
        ((watch(quiet=True),), (watch(),), True),
        ((watch(),), (), False),
    ],
)
@pytest.mark.parametrize("may_schedule", [True, False])
def test_a_watch_that_looks_asks_and_one_of_a_pack_that_may_not_is_shown(
    old: tuple[Watched, ...],
    new: tuple[Watched, ...],
    asks: bool,
    may_schedule: bool,
    make_pack: MakePack,
):
    one = replace(summary(make_pack), may_schedule=may_schedule)

    found = compare(replace(one, watches=old), replace(one, watches=new))

    assert found.needs_consent == (asks and may_schedule)
    assert [change.topic for change in found.changes] == ["watches"]


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        (Budget(), Budget(daily_usd=1), False),
        (Budget(daily_usd=1), Budget(), True),
        (Budget(daily_usd=1), Budget(daily_usd=2), True),
        (Budget(daily_usd=2), Budget(daily_usd=1), False),
        (Budget(daily_tokens=10), Budget(daily_tokens=11), True),
        (Budget(turn_tokens=10), Budget(), True),
    ],
)
def test_a_ceiling_that_rises_or_goes_asks(
    old: Budget, new: Budget, asks: bool, make_pack: MakePack
):
    one = summary(make_pack)

    assert compare(replace(one, budget=old), replace(one, budget=new)).needs_consent == asks


def test_rows_that_would_be_read_by_all_or_by_nobody_ask(make_pack: MakePack):
    person = summary(make_pack)
    shared = replace(person, scope="shared")

    assert compare(person, shared).needs_consent
    assert compare(shared, person).needs_consent


def test_a_tool_that_is_new_or_runs_another_command_asks(make_pack: MakePack):
    one = summary(make_pack)
    python = OwnTool("count", "tools/count.py", "python")
    command = OwnTool("count", "wc -w", "command")

    def asks(old: tuple[OwnTool, ...], new: tuple[OwnTool, ...]) -> bool:
        found = compare(replace(one, pack_tools=old), replace(one, pack_tools=new))
        return found.needs_consent

    assert asks((), (python,))
    assert asks((python,), (command,))
    assert asks((command,), (replace(command, runs="rm -r"),))
    assert not asks((python,), (replace(python, runs="tools/other.py"),))
    assert not asks((python,), ())


MATTERS = {
    "tools/sums.py": "programs",
    "tools/vendor/x.json": "programs",
    "bin/run.sh": "programs",
    "data/words.csv": "programs",
    "skills/hello/more.md": "skill_texts",
    "rules-additions.md": "soul",
    "templates/USER.md.tmpl": "soul",
    "menu.json": "soul",
    "actions.yml": "programs",
    "i18n/de.json": "soul",
    "i18n/run.sh": "soul",
    "evals/run.sh": "programs",
    "migrations/run.sh": "programs",
    "run": "programs",
    "words.txt": "programs",
    "README.md": None,
    "LICENSE": None,
    "evals/a.yml": None,
}


@pytest.mark.parametrize("name", MATTERS)
@pytest.mark.parametrize("change", ["added", "changed", "removed"])
def test_what_runs_and_speaks_is_shown_and_asks_unless_one_trusted_key_signed_both(
    make_pack: MakePack, name: str, change: str
) -> None:
    texts = {"menu.json": "[]", "i18n/de.json": "{}", "evals/a.yml": "name: a\nsteps: []\n"}
    text = texts.get(name, "") or "# one\n"
    with_it, other = {name: text}, {name: f"{text} \n"}
    first, second = {
        "added": ({}, with_it),
        "changed": (with_it, other),
        "removed": (with_it, {}),
    }[change]
    old, new = (
        summarize(loaded)
        for loaded in (
            cast("Pack", load_pack(folder(make_pack, root, files)).draft)
            for root, files in (("one", first), ("two", second))
        )
    )
    ada = Signature("valid", "Ada", key="RWQ")
    signed = (replace(old, signature=ada), replace(new, signature=ada))
    unknown = tuple(replace(each, signature=Signature("unknown_key", key="RWQ")) for each in signed)

    found = [(one.topic, one.kind, one.item, one.asks) for one in compare(old, new).changes]
    about = [item for item in found if item[2] == name]
    assert about == ([(MATTERS[name], change, name, True)] if MATTERS[name] else [])
    assert compare(*signed).needs_consent is False
    assert compare(*unknown).needs_consent is bool(about)


def test_what_a_schedule_tells_the_model_is_part_of_the_text(make_pack: MakePack) -> None:
    jobs = [{"id": "a", "schedule": "0 8 * * *", "skill": "hello", "prompt": "Say hello."}]
    one = summary(make_pack, cron_defaults=jobs, permissions={"cron": True})
    jobs[0]["prompt"] = "Ask for the card."
    two = summary(make_pack, "two", cron_defaults=jobs, permissions={"cron": True})

    assert [(one.topic, one.item) for one in compare(one, two).asks] == [("soul", "pack.yml")]


@pytest.mark.parametrize(
    "more",
    [
        "CREATE TRIGGER gone AFTER INSERT ON items BEGIN DELETE FROM items; END;",
        "CREATE VIEW IF NOT EXISTS seen AS SELECT name FROM items;",
        "INSERT INTO items (name) VALUES ('Ask for the card.');",
    ],
)
def test_what_a_schema_runs_and_gives_to_read_is_shown_and_asks(
    make_pack: MakePack, more: str
) -> None:
    one = summary(make_pack)
    two = summary(make_pack, "two", schema=TABLE.format("") + more)

    assert [(one.topic, one.item) for one in compare(one, two).asks] == [("programs", "schema.sql")]


@pytest.mark.parametrize("name", ["README.md", "evals/run.yml", "i18n/run.json", "LICENSE"])
def test_a_file_that_a_command_starts_is_a_program_whatever_its_name(
    make_pack: MakePack, name: str
) -> None:
    def of(root: str, text: str) -> Summary:
        made = folder(make_pack, root, {name: text})
        tool = {"name": "run", "command": f"sh ./{name}"}
        manifest = {**BASE, "runtime": {"external_tools": [tool]}}
        (made / "pack.yml").write_text(yaml.safe_dump(manifest))
        return summarize(cast("Pack", load_pack(made).draft))

    found = compare(of("one", "true"), of("two", "false")).asks

    assert [(one.topic, one.item) for one in found] == [("programs", name)]


def test_more_of_a_person_in_the_prompt_is_shown_and_asks(make_pack: MakePack) -> None:
    one = summary(make_pack, context={"memory_policy": "none"})
    two = summary(make_pack, "two", context={"memory_policy": "full"})

    assert [(one.topic, one.item) for one in compare(one, two).asks] == [("soul", "pack.yml")]


def test_tables_are_shown_and_ask_nothing(make_pack: MakePack):
    one = summary(make_pack)
    two = summary(
        make_pack,
        "two",
        schema=TABLE.format(", note TEXT") + "CREATE TABLE IF NOT EXISTS more (id INTEGER);",
        version="1.1.0",
    )

    found = compare(one, two)

    assert {change.topic for change in found.changes} == {"tables", "size"}
    assert not found.needs_consent


def test_another_signer_needs_a_fresh_yes(make_pack: MakePack):
    ada, eve = new_key(), new_key()

    def signed(root: str, *keys: Any) -> Summary:
        folder = make_pack(root=root)
        for key in keys:
            (folder / SIGNATURE_FILE).write_bytes(sign_app(folder, key, "x"))
        return summarize_folder(folder)

    by_ada, again, by_eve, by_nobody = (
        signed("1", ada),
        signed("2", ada),
        signed("3", eve),
        signed("4"),
    )

    assert not compare(by_ada, again).needs_consent
    for other in (by_eve, by_nobody):
        found = compare(by_ada, other)
        assert (found.signer_changed, found.needs_consent) == (True, True)
    assert not compare(by_nobody, by_ada).needs_consent


@given(
    old=st.lists(st.sampled_from(sorted(TOOLS | GROUPS)), unique=True),
    new=st.lists(st.sampled_from(sorted(TOOLS | GROUPS)), unique=True),
)
def test_asking_means_that_a_tool_is_reachable_that_was_not(
    old: list[str], new: list[str], tmp_path_factory: pytest.TempPathFactory
):
    def reach(names: list[str]) -> set[str]:
        return {tool for name in names for tool in GROUP_TOOLS.get(name) or (name,)}

    one = plain_summary(tmp_path_factory.getbasetemp())

    found = compare(replace(one, tools=tuple(old)), replace(one, tools=tuple(new)))

    assert found.needs_consent == bool(reach(new) - reach(old))


def plain_summary(base: Path) -> Summary:
    folder = base / "plain"
    if not folder.exists():
        folder.mkdir()
        (folder / "pack.yml").write_text("{name: plain, version: 1.0.0, display_name: P}")
    assert content_hash(folder)
    return summarize_folder(folder)


@pytest.mark.parametrize(
    ("before", "after", "older"),
    [
        ("1.0.0", "1.0.0", False),
        ("1.9.0", "1.10.0", False),
        ("1.10.0", "1.9.9", True),
        ("1.0.0.4", "1.0.0 beta", False),
        ("999999999.0.0", "1.0.0", True),
    ],
)
def test_an_older_version_asks(make_pack: MakePack, before: str, after: str, older: bool) -> None:
    old = summary(make_pack, version=before)
    found = compare(old, summary(make_pack, "two", version=after))

    assert (found.older, found.needs_consent) == (older, older)


def test_a_path_of_nothing_covers_no_path_of_the_next_version(make_pack: MakePack) -> None:
    old = summary(make_pack, permissions={"files": [""]})
    found = compare(old, summary(make_pack, "two", permissions={"files": ["", "/etc"]}))

    assert [change.item for change in found.asks] == ["/etc"]
