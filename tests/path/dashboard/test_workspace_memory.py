"""The owner reads and edits what packs remember, on the page, and nothing gets lost on the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aouo.memory.files import _MAX_BYTES
from tests.fakes.model_server import CallPart
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import settled
from tests.path.world import ADA, BEN, World

MEMORY = "/api/packs/notes/memory"
ADAS = f"{MEMORY}/tg_{ADA}"


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    world.install("notes")


async def remember(shown: Dashboard, world: World, line: str, *, user: int = ADA) -> None:
    world.model.calls(CallPart("memory", {"target": "memory", "action": "append", "content": line}))
    world.model.say("kept")
    await shown.bot.ask(f"know of me: {line}", user=user)
    await settled(shown.bot)


async def kept(shown: Dashboard, tenant: str = f"tg_{ADA}") -> dict[str, Any]:
    status, facts = await shown.get(f"{MEMORY}/{tenant}")
    assert status == 200, facts
    return {file["name"]: file for file in facts["files"]} | {"changes": facts["changes"]}


async def save(shown: Dashboard, text: str, version: str) -> tuple[int, Any]:
    body = {"text": text, "version": version}
    return await shown.send("POST", f"{ADAS}/files/MEMORY.md", body)


async def test_each_person_has_their_own_and_is_named(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- likes milk")
        await remember(shown, world, "- likes tea", user=BEN)
        _, found = await shown.get(MEMORY)
        ada, ben = await kept(shown), await kept(shown, f"tg_{BEN}")

    assert [(one["label"], one["kind"], one["is_owner"]) for one in found["people"]] == [
        (f"Ada ({ADA})", "person", True),
        (f"Ben ({BEN})", "person", False),
    ]
    assert "milk" in ada["MEMORY.md"]["text"]
    assert "milk" not in ben["MEMORY.md"]["text"]


async def test_an_edit_is_read_by_the_next_turn_and_told_in_the_chat(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- likes milk")
        status, after = await save(
            shown, "- likes oat milk\r\n", (await kept(shown))["MEMORY.md"]["version"]
        )
        await shown.bot.ask("what do I like?")
        card = (await shown.bot.ask("/memory")).text

    assert status == 200
    assert after["files"][1]["text"] == "- likes oat milk\n"
    assert "likes oat milk" in str(world.model.requests[-1])
    assert "edited by you on the local page" in card


async def test_two_windows_that_save_the_same_file_lose_nothing(world: World) -> None:
    async with dashboard(world) as shown:
        version = (await kept(shown))["MEMORY.md"]["version"]
        first = await save(shown, "- from one window", version)
        second = await save(shown, "- from another", version)
        same = await save(shown, "- from one window", version)
        there = await kept(shown)
        again = await save(shown, "- both", there["MEMORY.md"]["version"])

    assert [first[0], second[0], same[0], again[0]] == [200, 409, 200, 200]
    assert "MEMORY.md was changed meanwhile. Nothing was saved" in second[1]["error"]
    assert there["MEMORY.md"]["text"] == "- from one window\n"
    assert len(there["changes"]) == 1


async def test_a_change_says_where_it_came_from_and_what_is_different(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- likes <b>milk</b>")
        (change,) = (await kept(shown))["changes"]
        _, told = await shown.get(f"{ADAS}/versions/{change['id']}")

    assert (change["origin"], change["person"]) == ("tool", f"Ada ({ADA})")
    assert told["words"] == "know of me: - likes <b>milk</b>"
    assert {"kind": "new", "text": "- likes <b>milk</b>"} in told["lines"]
    assert {"kind": "gone", "text": "(empty)"} in told["lines"]


async def test_the_newest_change_is_taken_back_as_in_the_chat(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        await remember(shown, world, "- two")
        newest, older = [one["id"] for one in (await kept(shown))["changes"]]
        stale = await shown.send("POST", f"{ADAS}/undo", {"version": older})
        undone = await shown.send("POST", f"{ADAS}/undo", {"version": newest})
        card = (await shown.bot.ask("/memory")).text

    assert stale == (409, {"error": "Nothing was undone: this is not the newest change any more."})
    assert undone[0] == 200
    assert undone[1]["undone"] == "MEMORY.md"
    assert undone[1]["undo"] == older
    assert undone[1]["files"][1]["text"].endswith("- one\n")
    assert [one["origin"] for one in undone[1]["changes"]] == ["undo", "tool", "tool"]
    assert "a change undone" in card


async def test_an_edit_by_hand_is_named_and_never_undone_unseen(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        file = world.home.pack_folder("notes", f"tg_{ADA}") / "MEMORY.md"
        file.write_text("- by hand\n")
        found = await kept(shown)
        status, told = await shown.send(
            "POST", f"{ADAS}/undo", {"version": found["changes"][0]["id"]}
        )

    assert found["MEMORY.md"]["by_hand"]
    assert status == 409
    assert "MEMORY.md was edited by hand" in told["error"]
    assert file.read_text() == "- by hand\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (_MAX_BYTES + 1), "at most 16,384 fit"),
        ("\ud800", "JSON in UTF-8"),
    ],
)
async def test_a_text_that_cannot_be_kept_gets_a_sentence(
    world: World, text: str, said: str
) -> None:
    async with dashboard(world) as shown:
        status, told = await save(shown, text, (await kept(shown))["MEMORY.md"]["version"])

    assert status == 400
    assert said in told["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{MEMORY}/tg_999", 404),
        (f"{MEMORY}/..%2F..%2Fetc", 404),
        (f"{MEMORY}/%E2%80%AE", 404),
        (f"{ADAS}/versions/1", 404),
        (f"{ADAS}/versions/x", 404),
        (f"{ADAS}/versions/99999999999999999999", 404),
        ("/api/packs/none/memory", 404),
    ],
)
async def test_what_is_not_there_gets_a_sentence(world: World, path: str, status: int) -> None:
    async with dashboard(world) as shown:
        found, told = await shown.get(path)

    assert found == status
    assert told["error"].endswith(".")
    assert not (world.home.pack_folder("notes") / "tg_999").exists()


async def test_a_secret_is_left_out_and_cannot_be_saved_over(world: World) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        file = world.home.pack_folder("notes", f"tg_{ADA}") / "MEMORY.md"
        file.write_text(f"- the key is {key}\n")
        found = (await kept(shown))["MEMORY.md"]
        status, told = await save(shown, found["text"], found["version"])

    assert key not in str(found)
    assert "looks like a secret" in found["locked"]
    assert (status, "secret" in told["error"]) == (409, True)
    assert key in file.read_text()


async def test_a_link_in_the_place_of_a_file_is_named_and_not_followed(
    world: World, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("not for the page")
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        file = world.home.pack_folder("notes", f"tg_{ADA}") / "USER.md"
        file.unlink()
        file.symlink_to(elsewhere)
        found = (await kept(shown))["USER.md"]
        status, _ = await shown.send(
            "POST", f"{ADAS}/files/USER.md", {"text": "x", "version": found["version"]}
        )

    assert (found["text"], status) == ("", 409)
    assert "a link lies in its place" in found["locked"]
    assert elsewhere.read_text() == "not for the page"


async def test_off_the_record_nothing_is_added(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        await shown.bot.ask("/otr")
        before = await kept(shown)
        await remember(shown, world, "- unheard of")
        after = await kept(shown)

    assert before == after


async def test_a_pack_that_goes_away_leaves_a_sentence(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        version = (await kept(shown))["MEMORY.md"]["version"]
        (world.home.packs / "notes").unlink()
        await shown.bot.runtime.app.packs.refresh()
        found = [await shown.get(MEMORY), await shown.get(ADAS), await save(shown, "x", version)]

    assert found == [(404, {"error": "There is no pack 'notes'."})] * 3


async def test_at_rest_all_is_read_and_nothing_changed(world: World) -> None:
    async with dashboard(world) as shown:
        await remember(shown, world, "- one")
        running = await kept(shown)
    async with resting(world) as shown:
        at_rest = await kept(shown)
        refused = await save(shown, "x", at_rest["MEMORY.md"]["version"])
        status, facts = await shown.get(ADAS)
    with sqlite3.connect(world.home.database) as rows:
        (number,) = rows.execute("SELECT count(*) FROM memory_versions").fetchone()

    assert at_rest == running
    assert (status, facts["editable"], refused[0], number) == (200, False, 409, 1)
