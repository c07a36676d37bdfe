"""What a model that was led astray may try with its tools. Source: design §3.7."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fakes.model_server import CallPart
from tests.path.looking import heard
from tests.path.world import World


@pytest.fixture(autouse=True)
def scribe(world: World) -> Path:
    """A pack with every file tool and leave for nothing; its own folder."""
    pack = world.home.packs / "scribe"
    pack.mkdir()
    (pack / "pack.yml").write_text(
        "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\ndescription: Writes files\n"
        "permissions:\n  tools: [files, documents, msg, clarify, memory]\n"
    )
    own = world.home.pack_folder("scribe")
    own.mkdir(parents=True)
    return own


@pytest.mark.parametrize(
    "path",
    [
        "https://../../../../config.json",
        "HTTP://../../../../config.json",
        " https://x/../../../../../config.json",
        "file:../../../config.json",
        "../../../config.json",
        "https:/../../../../config.json",
    ],
)
@pytest.mark.parametrize("tool", ["read_file", "read_document"])
async def test_a_path_that_looks_like_an_address_is_a_path(
    world: World, scribe: Path, tool: str, path: str
) -> None:
    (scribe / "https:").mkdir()
    (scribe / "HTTP:").mkdir()
    [result] = await heard(world, CallPart(tool, {"path": path}))

    assert "bot_token" not in result
    assert "closed to tools" in result or "is not there" in result


async def test_nothing_is_written_or_listed_outside_by_such_a_path(world: World) -> None:
    target = world.home.path.parent / "planted.txt"
    path = "https://../../../../../planted.txt"
    wrote, listed = await heard(
        world,
        CallPart("write_file", {"path": path, "content": "x"}),
        CallPart("list_dir", {"path": "https://../../../.."}),
    )

    assert "is not among the files of this pack" in wrote
    assert "closed to tools" in listed
    assert not target.exists()


async def test_msg_uploads_no_pipe_and_nothing_that_only_looks_like_an_address(
    world: World, scribe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe would hold the conversation's sender for ever."""
    os.mkfifo(scribe / "pipe")
    (scribe / "HTTPS:").mkdir()
    (world.home.path.parent / "secret.txt").write_text("secret")
    monkeypatch.chdir(scribe)

    results = await heard(
        world,
        CallPart("msg", {"type": "document", "url": "pipe"}),
        CallPart("msg", {"type": "document", "url": "HTTPS://../../../../../secret.txt"}),
    )

    notes = [json.loads(result) for result in results]
    assert [note["ok"] for note in notes] == [False, False]
    assert "not a file that can be read" in notes[0]["note"]
    assert "does not go up" in notes[1]["note"]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"message": "\\ud800 which?", "options": []}',
        '{"message": ' + "[" * 100_000,
        '{"message": "a", "options": ' + "[" * 500 + "]" * 500 + "}",
        "{" * 20_000,
        '{"message": NaN, "options": []}',
    ],
)
async def test_arguments_that_cannot_be_held_are_sent_back_and_the_turn_goes_on(
    world: World, arguments: str
) -> None:
    [result] = await heard(world, CallPart("clarify", arguments=arguments))

    assert result.startswith(("The arguments", "Wrong arguments"))


async def test_a_file_whose_name_is_no_utf8_can_be_listed(world: World, scribe: Path) -> None:
    descriptor = os.open(os.fsencode(scribe) + b"/caf\xe9\nfile.txt", os.O_WRONLY | os.O_CREAT)
    os.close(descriptor)

    [result] = await heard(world, CallPart("list_dir", {}))

    assert result == "[file] caf??file.txt  0 bytes"


async def test_a_memory_file_that_other_hands_made_large_does_not_fill_the_prompt(
    world: World, scribe: Path
) -> None:
    (scribe / "MEMORY.md").write_text("- x\n" * 200_000)
    await heard(world, CallPart("list_dir", {}))

    assert len(json.dumps(world.model.requests[-1])) < 120_000


async def test_a_select_that_would_end_the_process_is_refused(world: World) -> None:
    """SQLite goes down a path of JSON on the stack: 450,000 steps of it were a kill."""
    pack = world.home.packs / "scribe"
    (pack / "schema.sql").write_text("CREATE TABLE notes (text TEXT);")
    manifest = (pack / "pack.yml").read_text()
    (pack / "pack.yml").write_text(
        manifest.replace("tools: [", "tools: [db, ") + "schema: {file: schema.sql}\n"
    )
    path = "'$' || replace(hex(zeroblob(450000)), '00', '.a')"
    wide = "SELECT printf('%.*c', 2147483647, 'x')"
    deep, endless, sound = await heard(
        world,
        CallPart("db", {"sql": f"SELECT json_set('{{}}', {path}, 1)"}),
        CallPart("db", {"sql": wide}),
        CallPart("db", {"sql": "SELECT count(*) AS n FROM notes"}),
    )

    assert "json_patch" in deep
    assert "four digits" in endless
    assert '"n": 0' in sound
