"""The owner browses what packs keep: read only, each person's apart, whatever lies there."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from base64 import b64decode
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError
from yarl import URL

from tests.fakes.model_server import CallPart
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import settled
from tests.path.world import ADA, BEN, World

STORAGE = "/api/packs/notes/storage"
ADAS = f"tg_{ADA}"
ODD = ['a "b" <script>alert(1)</script>', "שלום \u202e", "x/y?z#1&a=b", "'; DROP TABLE entries; --"]


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    world.install("notes")


async def note(shown: Dashboard, world: World, text: str, *, user: int = ADA) -> None:
    world.model.calls(CallPart("persist", {"action": "save", "data": {"text": text}}))
    world.model.say("kept")
    await shown.bot.ask("keep a note", user=user)
    await settled(shown.bot)


def fill(world: World, sql: str, rows: Sequence[tuple[Any, ...]] = ((),), who: str = ADAS) -> None:
    """Write to a pack's database, as another process does."""
    with closing(sqlite3.connect(world.home.pack_database("notes", who))) as connection:
        connection.executemany(sql, rows)
        connection.commit()


async def look(shown: Dashboard, what: str, **query: str | int) -> tuple[int, Any]:
    query = {"tenant": ADAS, **query}
    return await shown.get(str(URL(f"{STORAGE}/{what}").with_query(query)))


async def texts(shown: Dashboard, **query: str | int) -> list[str]:
    status, found = await look(shown, "rows", table="entries", **query)
    assert status == 200, found
    return [row["cells"][4]["text"] for row in found["rows"]]


async def saved(shown: Dashboard, **query: str | int) -> tuple[int, str]:
    address = shown.link.join(URL(f"{STORAGE}/export").with_query({"tenant": ADAS, **query}))
    async with shown.client.get(address, headers={"X-Aouo-Token": shown.token}) as response:
        return response.status, await response.text()


async def test_each_persons_rows_are_apart(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "Ada's")
        await note(shown, world, "Ben's", user=BEN)
        _, found = await shown.get(STORAGE)
        ada = await texts(shown)
        ben = await texts(shown, tenant=f"tg_{BEN}")
        nobody = await look(shown, "rows", table="entries", tenant="")

    assert [one["label"] for one in found["databases"]] == [f"Ada ({ADA})", f"Ben ({BEN})"]
    assert (ada, ben) == (["Ada's"], ["Ben's"])
    assert nobody == (404, {"error": "Nothing is kept there (any more)."})


async def test_rows_are_sorted_filtered_and_paged(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "note 00")
        fill(
            world,
            "INSERT INTO entries (text, pinned) VALUES (?, ?)",
            [(f"Note {number:02}", number % 2) for number in range(1, 60)],
        )
        newest = await texts(shown, limit=2)
        rising = await texts(shown, sort="text", order="rising", limit=2)
        pinned = await look(
            shown, "rows", table="entries", column="pinned", how="equals", text="1", limit=20
        )
        found = await texts(shown, column="text", text="nOtE 0", sort="text", order="rising")
        pages, after = [], ""
        while True:
            _, page = await look(
                shown, "rows", table="entries", sort="pinned", limit=7, after=after
            )
            pages += [row["cells"][0]["text"] for row in page["rows"]]
            if not page["more"]:
                break
            after = page["rows"][-1]["key"]

    assert newest == ["Note 59", "Note 58"]
    assert rising == ["Note 01", "Note 02"]
    assert (len(pinned[1]["rows"]), pinned[1]["matching"], pinned[1]["more"]) == (20, 30, True)
    assert sorted(map(int, pages)) == list(range(1, 61))
    assert found == [f"Note 0{number}" for number in range(1, 10)] + ["note 00"]


@pytest.mark.parametrize("name", ODD)
async def test_names_may_hold_anything(world: World, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, f"CREATE TABLE {quoted} ({quoted} TEXT)")
        fill(world, f"INSERT INTO {quoted} VALUES (?)", [(name,)])
        _, tables = await look(shown, "tables")
        _, rows = await look(
            shown, "rows", table=name, sort=name, column=name, how="equals", text=name
        )
        status, written = await saved(shown, table=name, kind="json")

    assert tables["tables"][-1]["name"] == name
    assert rows["rows"][0]["cells"] == [{"kind": "text", "text": name}]
    assert (status, json.loads(written)["rows"]) == (200, [[name]])


ASKED: list[tuple[dict[str, str], int]] = [
    ({"table": "nothing"}, 404),
    ({"table": "sqlite_master"}, 404),
    ({"table": "_aouo_seeds"}, 404),
    ({"table": "entries", "sort": "text; DROP TABLE entries"}, 404),
    ({"table": "entries", "column": "nothing", "text": "a"}, 404),
    ({"table": "entries", "text": "a"}, 404),
    ({"table": "entries", "after": "nothing"}, 404),
    ({"table": "entries", "after": "[77]"}, 200),
    ({"table": "entries", "after": "[77]", "sort": "text"}, 404),
    ({"table": "entries", "limit": "0"}, 400),
    ({"table": "entries", "order": "sideways"}, 400),
    ({"table": "entries", "text": "x" * 301, "column": "text"}, 400),
    ({"table": "entries", "tenant": "../../aouo"}, 404),
    ({"table": "entries", "tenant": "tg_999"}, 404),
    ({"table": "entries" * 1000}, 400),
]


async def test_what_cannot_be_asked_gets_a_sentence(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        for query, status in ASKED:
            found, told = await look(shown, "rows", **query)
            assert found == status, query
            assert status == 200 or told["error"].endswith("."), query
        rows = await texts(shown)

    assert rows == ["one"]


async def test_huge_cells_and_bytes_are_cut_and_whole_when_asked_for(world: World) -> None:
    huge, raw = "é" * 900_000, bytes(range(256)) * 4
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "CREATE TABLE big (text TEXT, raw BLOB, none TEXT)")
        fill(world, "INSERT INTO big VALUES (?, ?, NULL)", [(huge, raw)])
        _, page = await look(shown, "rows", table="big")
        (row,) = page["rows"]
        text, blob, none = row["cells"]
        _, whole = await look(shown, "cell", table="big", column="text", key=row["key"])
        _, whole_raw = await look(shown, "cell", table="big", column="raw", key=row["key"])
        _, written = await saved(shown, table="big", kind="csv")

    assert len(json.dumps(page)) < 10_000
    assert (text["size"], blob["size"], none) == (900_000, 1024, {"kind": "null", "text": ""})
    assert whole["text"] == huge
    assert bytes.fromhex(whole_raw["text"]) == raw
    assert huge in written


async def test_a_saved_file_has_all_rows_and_computes_nothing(world: World) -> None:
    formulas = ["=1+1", "+1", "-1", "@a", "\t=1", '=HYPERLINK("http://x")']
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "INSERT INTO entries (text) VALUES (?)", [(text,) for text in formulas])
        fill(
            world,
            "INSERT INTO entries (text, pinned) VALUES (?, 1)",
            [(f"{number}",) for number in range(2_000)],
        )
        _, as_csv = await saved(shown, table="entries", kind="csv")
        _, as_json = await saved(shown, table="entries", kind="json")
        _, some = await saved(
            shown, table="entries", kind="json", column="pinned", how="equals", text="0"
        )

    rows = list(csv.DictReader(io.StringIO(as_csv, newline="")))
    found = json.loads(as_json)
    expected = ["one", *formulas, *map(str, range(2_000))]
    assert [row["text"].removeprefix("'") for row in rows if "\t" not in row["text"]] == [
        text for text in expected if "\t" not in text
    ]
    assert [row["text"] for row in rows[1:7]] == [
        f"'{text}".replace("\t", "\t'") for text in formulas
    ]
    assert [row[4] for row in found["rows"]] == expected
    assert found["complete"]
    assert len(json.loads(some)["rows"]) == 7


async def test_a_million_rows_are_browsed_in_a_moment_and_hold_up_nobody(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "CREATE TABLE many (number INTEGER, word TEXT)")
        fill(
            world,
            "INSERT INTO many WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 1000000) SELECT i * 7919 % 1000003, 'word ' || i FROM n",
        )
        _, tables = await look(shown, "tables")
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            query = {"table": "many", "sort": "number", "column": "word", "text": "word 99"}
            looks = group.create_task(look(shown, "rows", **query))
            answer = await shown.bot.ask("hello")
        status, page = looks.result()
        last = (await look(shown, "rows", table="many", order="falling", limit=1))[1]

    assert tables["tables"][-1]["rows"] == 1_000_000
    assert answer.text
    assert (status, page["matching"], len(page["rows"])) == (200, 11_111, 50)
    assert last["rows"][0]["cells"][1]["text"] == "word 1000000"


async def test_nothing_is_written_and_a_writer_is_not_held_up(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        await texts(shown)
        await note(shown, world, "two")
        found = await texts(shown)

    assert found == ["two", "one"]


@pytest.mark.parametrize("damage", ["broken", "locked", "gone"])
async def test_a_database_that_cannot_be_read_gets_a_sentence(world: World, damage: str) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        file = world.home.pack_database("notes", ADAS)
        shown.bot.app.shared.stores.release("notes")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            harm(file, other, damage)
            answers = [
                await look(shown, "tables"),
                await look(shown, "rows", table="entries"),
                await look(shown, "cell", table="entries", column="text", key="[1]"),
                await look(shown, "export", table="entries"),
            ]

    assert {status for status, _ in answers} == {404 if damage == "gone" else 409}
    said = {"broken": "not a database", "locked": "locked", "gone": "Nothing is kept there"}
    assert all(said[damage] in told["error"] for _, told in answers)


def harm(file: Path, connection: sqlite3.Connection, damage: str) -> None:
    if damage == "locked":
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        return
    connection.close()
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()
    if damage == "broken":
        file.write_bytes(b"no database" * 1000)


async def test_a_secret_in_a_row_does_not_leave(world: World) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "INSERT INTO entries (text) VALUES (?)", [(f"{'x' * 380} {key}",)])
        fill(world, "CREATE TABLE raw (raw BLOB)")
        fill(world, "INSERT INTO raw VALUES (?)", [(b"\xff" + key.encode(),)])
        _, page = await look(shown, "rows", table="entries")
        _, cell = await look(shown, "cell", table="entries", column="text", key="[2]")
        _, written = await saved(shown, table="entries")
        _, raw = await look(shown, "rows", table="raw")
        _, as_json = await saved(shown, table="raw", kind="json")

    assert "[redacted]" in cell["text"]
    assert "a1B2c3D4" not in f"{page}{cell}{written}"
    (shown_raw,) = raw["rows"][0]["cells"]
    (saved_raw,) = json.loads(as_json)["rows"][0]
    for found in (bytes.fromhex(shown_raw["text"]), b64decode(saved_raw["base64"])):
        assert found.startswith(b"\xff")
        assert b"a1B2c3D4" not in found


async def test_a_pack_that_goes_away_leaves_a_sentence(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        (world.home.packs / "notes").unlink()
        await shown.bot.runtime.app.packs.refresh()
        found = [await shown.get(STORAGE), await look(shown, "rows", table="entries")]

    assert found == [(404, {"error": "There is no pack 'notes'."})] * 2


async def test_half_of_a_saved_file_never_looks_like_all_of_it(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "CREATE TABLE big (text TEXT)")
        fill(world, "INSERT INTO big VALUES (?)", [("x" * 20_000,)] * 2_000)
        file = world.home.pack_database("notes", ADAS)
        query = {"tenant": ADAS, "table": "big"}
        address = shown.link.join(URL(f"{STORAGE}/export").with_query(query))
        headers = {"X-Aouo-Token": shown.token}
        async with shown.client.get(address, headers=headers) as response:
            await response.content.readuntil(b"\n")
            shown.bot.app.shared.stores.release("notes")
            file.unlink()

            with pytest.raises(ClientPayloadError):
                await response.content.read()


async def test_rows_that_the_pack_does_not_see_any_more_are_named(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        shared = world.home.pack_database("notes")
        with closing(sqlite3.connect(shared)) as connection:
            connection.execute("CREATE TABLE entries (text)")
            connection.execute("INSERT INTO entries VALUES ('of all')")
            connection.commit()
        _, found = await shown.get(STORAGE)
        _, page = await look(shown, "rows", table="entries", tenant="")

    assert [(one["label"], one["used"]) for one in found["databases"]] == [
        (f"Ada ({ADA})", True),
        ("everybody together", False),
    ]
    assert page["rows"][0]["cells"] == [{"kind": "text", "text": "of all"}]


async def test_at_rest_it_is_browsed_too(world: World) -> None:
    async with dashboard(world) as shown:
        await note(shown, world, "one")
    async with resting(world) as shown:
        _, found = await shown.get(STORAGE)
        rows = await texts(shown)

    assert [one["label"] for one in found["databases"]] == [f"Ada ({ADA})"]
    assert rows == ["one"]
