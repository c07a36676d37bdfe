"""`aouo pack install`, `upgrade`, `uninstall` on a home where no bot runs.

Source: contract, "Command line" (exit codes), issue 5, "Lifecycle". Beside a running bot:
`tests/path/packs/test_installing_by_terminal.py`.
"""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from click.testing import CliRunner, Result

from aouo.cli.main import aouo
from aouo.config.file import load_settings
from aouo.installer.installed import scan_at_rest
from aouo.packs.data.storage import PackStore
from aouo.packs.load import load_pack
from aouo.packs.shipping.archive import SIGNATURE_FILE, pack_archive
from aouo.packs.shipping.signing import SecretKey, new_key, sign_app
from aouo.plumbing.home import Home
from tests.verb_process import begin

PACK = """\
name: {name}
version: {version}
display_name: Shopping
description: Keeps one list
schema: {{owned_tables: [items]}}
permissions: {{tools: {tools}}}
"""
SCHEMA = "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"


def shopping(
    folder: Path,
    version: str = "1.0.0",
    *,
    tools: str = "[msg, persist]",
    name: str = "shopping",
    key: SecretKey | None = None,
) -> Path:
    folder.mkdir(parents=True)
    manifest = PACK.format(version=version, tools=tools, name=name)
    (folder / "pack.yml").write_text(manifest)
    (folder / "schema.sql").write_text(SCHEMA)
    if key is not None:
        (folder / SIGNATURE_FILE).write_bytes(sign_app(folder, key, f"{name} {version}"))
    return folder


def pack(runner: CliRunner, *words: str | Path) -> Result:
    return runner.invoke(aouo, ["pack", *map(str, words)])


def installed(home: Home) -> dict[str, str]:
    """Name → version of what loads; nothing of a change may be left beside it."""
    left = [child.name for child in home.packs.iterdir() if child.name.startswith(".")]
    assert left == []
    settings = load_settings(home.path, {}).settings
    library = scan_at_rest(home, settings.packs, settings.tools.enabled)
    assert library.broken == {}
    return {name: found.manifest.version for name, found in library.packs.items()}


# What can be installed


def test_a_folder_a_file_and_a_name_that_comes_along_are_installed(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    archive = tmp_path / "other.aouo"
    pack_archive(shopping(tmp_path / "other", name="other"), archive)
    results = [pack(runner, "install", it, "--yes") for it in (folder, archive, "notes")]

    assert [result.exit_code for result in results] == [0, 0, 0], results
    assert results[0].stdout.startswith("Install Shopping (shopping) 1.0.0?\nKeeps one list\n")
    assert results[0].stdout.endswith("shopping is installed, version 1.0.0.\n")
    assert installed(home) == {"shopping": "1.0.0", "other": "1.0.0", "notes": "1.0.0"}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("https://127.0.0.1:1/x.aouo", "127.0.0.1"),
        ("http://example.com/x.aouo", "https"),
        ("nowhere", "nowhere"),
    ],
)
def test_what_is_no_pack_is_a_set_up_error_in_one_line(
    runner: CliRunner, home: Home, source: str, words: str
) -> None:
    home.create()
    result = pack(runner, "install", source, "--yes")

    assert result.exit_code == 3
    assert result.stdout == ""
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert installed(home) == {}


def test_a_broken_pack_names_its_file_and_field(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    with (folder / "pack.yml").open("a") as file:
        file.write("desciption: twice\n")
    result = pack(runner, "install", folder, "--yes")

    assert result.exit_code == 3
    assert 'pack.yml:7: desciption: unknown key; did you mean "description"?' in result.stderr
    assert installed(home) == {}


# Who is asked


def test_where_nobody_can_answer_it_is_wrong_usage_and_nothing_is_left(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    result = pack(runner, "install", shopping(tmp_path / "shopping"))
    removal = [pack(runner, "install", "notes", "--yes"), pack(runner, "uninstall", "notes")][1]

    assert (result.exit_code, removal.exit_code) == (2, 2)
    assert "Nobody is there to answer: say it with --yes." in result.stderr
    assert "Remove notes? Nobody is there" in removal.stderr
    assert installed(home) == {"notes": "1.0.0"}


@pytest.mark.parametrize(
    ("answer", "code", "there"), [("y\n", 0, {"shopping": "1.0.0"}), ("n\n", 1, {})]
)
def test_an_answer_may_come_through_a_pipe(
    runner: CliRunner,
    home: Home,
    tmp_path: Path,
    answer: str,
    code: int,
    there: dict[str, str],
) -> None:
    words = ["pack", "install", str(shopping(tmp_path / "shopping"))]
    result = runner.invoke(aouo, words, input=answer)

    assert result.exit_code == code
    assert installed(home) == there


def test_a_folder_whose_manifest_is_wrong_is_not_called_by_the_name_of_our_copy(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    (folder / "pack.yml").write_text(
        (folder / "pack.yml").read_text() + "budget: {daily_usd: -1}\n"
    )
    result = pack(runner, "install", folder, "--yes")

    assert result.exit_code == 3
    assert "The pack is broken: pack.yml:7: budget.daily_usd" in result.stderr


def test_with_json_nothing_is_done_unless_it_is_said(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    asked = pack(runner, "install", folder, "--json")
    done = pack(runner, "install", folder, "--json", "--yes")
    again = pack(runner, "install", folder, "--json")
    kept = pack(runner, "uninstall", "shopping", "--purge", "--json")
    before = installed(home)
    gone = pack(runner, "uninstall", "shopping", "--json", "--yes")

    results = (asked, done, again, kept, gone)
    assert [result.exit_code for result in results] == [1, 0, 0, 1, 0]
    facts: list[dict[str, Any]] = [json.loads(result.stdout) for result in results]
    assert [fact["done"] for fact in facts] == [False, True, False, False, True]
    assert (facts[0]["needs_consent"], facts[0]["kind"], facts[2]["same"]) == (
        True,
        "install",
        True,
    )
    assert before == {"shopping": "1.0.0"}
    assert installed(home) == {}


def in_a_terminal(home: Home, answer: str, *words: str | Path) -> tuple[int, str]:
    """Run a verb whose standard input is a terminal, where somebody types."""
    outside, inside = pty.openpty()
    try:
        os.write(outside, answer.encode())
        with TemporaryFile() as said:
            process = begin(
                ("--home", str(home.path), "pack", *map(str, words)),
                stdin=inside,
                stdout=said.fileno(),
                stderr=said.fileno(),
                environ={k: text for k, text in os.environ.items() if not k.startswith("AOUO_")},
            )
            process.join(60)
            process.kill()
            said.seek(0)
            found = said.read().decode()
    finally:
        os.close(outside)
        os.close(inside)
    assert process.exitcode is not None
    return process.exitcode, found


@pytest.mark.parametrize(
    ("answer", "code", "end"),
    [
        ("n\n", 1, "Nothing has changed."),
        ("\n", 1, "Nothing has changed."),
        ("\x04", 1, "Aborted!"),
        ("y\n", 0, "shopping is installed, version 1.0.0."),
    ],
    ids=["n", "enter", "ctrl-d", "y"],
)
def test_a_person_who_does_not_say_yes_changes_nothing(
    home: Home, tmp_path: Path, answer: str, code: int, end: str
) -> None:
    done, said = in_a_terminal(home, answer, "install", shopping(tmp_path / "shopping"))

    assert (done, said.splitlines()[-1]) == (code, f"Install it? [y/N]: {end}")
    assert installed(home) == ({"shopping": "1.0.0"} if code == 0 else {})


def test_a_person_who_keeps_a_pack_after_all_has_it(home: Home, tmp_path: Path) -> None:
    pack(CliRunner(env={"AOUO_HOME": str(home.path)}), "install", "notes", "--yes")
    kept = in_a_terminal(home, "n\n", "uninstall", "notes", "--purge")
    before = installed(home)
    gone = in_a_terminal(home, "y\n", "uninstall", "notes", "--purge")

    assert kept[0] == 1
    assert "Remove notes and delete all it keeps? [y/N]" in kept[1]
    assert before == {"notes": "1.0.0"}
    assert gone[0] == 0
    assert gone[1].endswith("notes and its data are gone.\n")
    assert installed(home) == {}


def test_a_source_that_is_nowhere_is_told_what_there_is(runner: CliRunner, home: Home) -> None:
    home.create()
    result = pack(runner, "install", "ntoes", "--yes")

    assert result.exit_code == 3
    assert 'There is no pack, folder or file ntoes; did you mean "notes"?' in result.stderr
    assert (
        "These packs come with aouo: create, expenses, feeds, notes, remind, vocab."
        in result.stderr
    )
    assert installed(home) == {}


# Upgrades


def test_an_upgrade_asks_only_for_what_is_new(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    one = shopping(tmp_path / "one")
    pack(runner, "install", one, "--yes")
    same = pack(runner, "upgrade", "shopping")
    narrower = shopping(tmp_path / "two", "1.1.0", tools="[persist]")
    silent = pack(runner, "upgrade", "shopping", narrower)
    wider = pack(runner, "upgrade", "shopping", shopping(tmp_path / "three", "1.2.0"))

    assert (same.exit_code, silent.exit_code, wider.exit_code) == (0, 0, 2)
    assert same.stdout == "shopping 1.0.0 is installed already; there is nothing to do.\n"
    assert silent.stdout.endswith("shopping is version 1.1.0 now.\n")
    assert "New, and needs your yes" in wider.stdout
    assert "send messages" in wider.stdout
    assert installed(home) == {"shopping": "1.1.0"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("shopping", "other"), "That is the pack other, not shopping."),
        (("other", "other"), "other is not installed. Use `aouo pack install`."),
        (("shoping",), "'shoping' was not installed from anywhere; did you mean"),
    ],
)
def test_an_upgrade_of_something_else_is_refused(
    runner: CliRunner, home: Home, tmp_path: Path, words: Sequence[str], said: str
) -> None:
    pack(runner, "install", shopping(tmp_path / "shopping"), "--yes")
    shopping(tmp_path / "other", name="other")
    name, *sources = words
    result = pack(runner, "upgrade", name, *(tmp_path / source for source in sources), "--yes")

    assert result.exit_code == 3
    assert said in result.stderr
    assert installed(home) == {"shopping": "1.0.0"}


def test_a_version_that_is_not_signed_by_the_same_key_needs_a_fresh_yes(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    ada = new_key()
    home.create()
    trust = {"packs": {"trusted_keys": {"Ada": ada.public}}}
    home.config.write_text(json.dumps(trust))
    signed = pack(runner, "install", shopping(tmp_path / "one", key=ada), "--yes")
    silent = pack(runner, "upgrade", "shopping", shopping(tmp_path / "two", "1.1.0", key=ada))
    unsigned = pack(runner, "upgrade", "shopping", shopping(tmp_path / "three", "1.2.0"))
    stranger = shopping(tmp_path / "four", "1.2.0", key=new_key())
    other = pack(runner, "upgrade", "shopping", stranger)
    wrong = shopping(tmp_path / "five", "1.2.0", key=ada)
    (wrong / "schema.sql").write_text(f"{SCHEMA}-- changed\n")
    refused = pack(runner, "upgrade", "shopping", wrong, "--yes")
    before = installed(home)
    agreed = pack(runner, "upgrade", "shopping", tmp_path / "three", "--yes")

    assert "Ada" in signed.stdout
    codes = [result.exit_code for result in (signed, silent, unsigned, other, refused, agreed)]
    assert codes == [0, 0, 2, 2, 3, 0]
    assert "New, and needs your yes" in unsigned.stdout
    assert "signature" in refused.stderr
    assert before == {"shopping": "1.1.0"}
    assert installed(home) == {"shopping": "1.2.0"}


# Removing


def test_what_a_removed_pack_keeps_waits_for_it_unless_it_is_purged(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    pack(runner, "install", folder, "--yes")
    loaded = load_pack(folder).pack
    assert loaded is not None
    file = home.pack_database("shopping")
    with closing(PackStore(file, loaded.manifest, loaded.schema_sql)) as store:
        store.run("save", {"name": "milk"}, call_id="1", session_key="", now="")
    removed = pack(runner, "uninstall", "shopping", "--yes")
    kept = file.exists()
    pack(runner, "install", folder, "--yes")
    purged = pack(runner, "uninstall", "shopping", "--purge", "--yes")
    unknown = pack(runner, "uninstall", "shopping")

    assert removed.stdout == (
        "shopping is removed. Its data is kept: installing it again goes on with it.\n"
    )
    assert kept
    assert purged.stdout == "shopping and its data are gone.\n"
    assert list(home.store.glob("shopping*")) == []
    assert unknown.exit_code == 3
    assert "There is no pack 'shopping'" in unknown.stderr


# What is pinned


def test_files_that_were_changed_behind_the_owners_back_are_said_everywhere(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    pack(runner, "install", shopping(tmp_path / "shopping"), "--yes")
    with (home.packs / "shopping" / "schema.sql").open("a") as file:
        file.write("-- one more line\n")
    listed = pack(runner, "list")
    as_json = pack(runner, "list", "--json")
    info = pack(runner, "info", "shopping")
    doctor = runner.invoke(aouo, ["doctor", "--fast"])

    said = "its files are not those that were installed"
    assert "broken" in listed.stdout
    assert said in listed.stdout
    assert said in as_json.stdout
    assert (info.exit_code, said in info.stderr) == (3, True)
    assert said in doctor.stdout
