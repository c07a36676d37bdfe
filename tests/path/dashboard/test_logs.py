"""The log can be read on the page: by level, pack and text, back to its beginning, and on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from aouo.plumbing.log_reading import _KEPT_BYTES, _LOOKED_BYTES
from aouo.plumbing.logs import LogFile
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.world import World


def event(number: int, level: str = "info", **fields: Any) -> str:
    at = f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}.000Z"
    return json.dumps({"event": f"event_{number}", "level": level, "timestamp": at, **fields})


def write(world: World, *lines: str, end: str = "\n") -> Path:
    log = world.home.log_file
    log.parent.mkdir(exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + end)
    return log


async def read(shown: Dashboard, **query: Any) -> dict[str, Any]:
    status, facts = await shown.get(f"/api/logs?{urlencode(query)}")
    assert status == 200, facts
    return facts


def events(lines: Sequence[dict[str, Any]]) -> list[str]:
    return [line["event"] for line in lines]


async def back(shown: Dashboard, **query: Any) -> list[str]:
    """The events of the whole log, read back piece by piece."""
    found, before = list[str](), ""
    while True:
        facts = await read(shown, **({"before": before} if before else {}), **query)
        found = events(facts["lines"]) + found
        before = facts["before"]
        if not before:
            return found


async def test_lines_are_read_back_to_the_beginning_through_rotated_files(world: World) -> None:
    world.home.logs.mkdir(exist_ok=True)
    log = LogFile(world.home.log_file, max_bytes=2_000, files=4)
    for number in range(90):
        log.write(event(number), urgent=True)
    log.close()
    async with dashboard(world) as shown:
        found = await back(shown, lines=7)

    assert len(list(world.home.logs.iterdir())) == 4
    assert found == [f"event_{number}" for number in range(90 - len(found), 90)]
    assert len(found) > 40


async def test_there_may_be_no_log_yet_and_then_it_begins(world: World) -> None:
    async with dashboard(world) as shown:
        nothing = await read(shown)
        write(world, event(1))
        something = await read(shown)

    assert nothing == {"lines": [], "before": "", "after": "", "more": False, "lost": False}
    assert (events(something["lines"]), something["before"]) == (["event_1"], "")


async def test_following_goes_on_through_a_rotation_and_leaves_out_what_is_half_written(
    world: World,
) -> None:
    log = write(world, event(1))
    async with dashboard(world) as shown:
        first = await read(shown)
        write(world, event(2), event(3)[:20], end="")
        second = await read(shown, after=first["after"])
        write(world, event(3)[20:])
        log.rename(f"{log}.1")
        write(world, event(4))
        third = await read(shown, after=second["after"])
        again = await read(shown, after=third["after"])

    assert events(second["lines"]) == ["event_2"]
    assert events(third["lines"]) == ["event_3", "event_4"]
    assert (again["lines"], again["after"], again["lost"]) == ([], third["after"], False)


async def test_a_place_that_is_gone_is_said_and_the_newest_lines_come(world: World) -> None:
    log = write(world, event(1), event(2))
    async with dashboard(world) as shown:
        first = await read(shown)
        log.write_text(event(8) + "\n" + event(9) + "\n")  # the same file, with something else
        then = await read(shown, after=first["after"])
        earlier = await read(shown, before=first["after"])

    assert (events(then["lines"]), then["lost"]) == (["event_8", "event_9"], True)
    assert (earlier["lines"], earlier["lost"]) == ([], True)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"level": "warning"}, [3, 4]),
        ({"pack": "notes"}, [1, 2, 4]),
        ({"pack": "notes", "whose": "only"}, [2, 4]),
        ({"text": "Straße"}, [4]),
        ({"text": "STRASSE"}, [4]),
        ({"pack": "notes", "level": "error", "text": "event"}, [4]),
        ({"text": 'said "no\\'}, [5]),
        ({"text": "nothing like it"}, []),
    ],
)
async def test_lines_are_chosen_by_level_pack_and_text(
    world: World, query: dict[str, str], found: list[int]
) -> None:
    write(
        world,
        event(1),
        event(2, pack="notes"),
        event(3, "warning", pack="vocab"),
        json.dumps(json.loads(event(4, "error", pack="notes", why="Straße")), ensure_ascii=False),
        event(5, pack="vocab", why='He said "No\\".'),
    )
    async with dashboard(world) as shown:
        facts = await read(shown, **query)

    assert events(facts["lines"]) == [f"event_{number}" for number in found]


async def test_a_line_of_five_megabytes_is_cut_and_its_size_is_said(world: World) -> None:
    long = event(2, "error", pack="notes", text="x" * 5_000_000)
    write(world, event(1), long, event(3))
    async with dashboard(world) as shown:
        facts = await read(shown)
        earlier = await read(shown, before=facts["before"])
        first = await back(shown)
        spot = await read(shown, lines=1)
        write(world, long)
        following = await read(shown, after=spot["after"])

    cut, last = facts["lines"]
    assert (cut["event"], cut["level"], cut["pack"]) == ("event_2", "error", "notes")
    assert (cut["is_cut"], cut["size"], len(cut["text"])) == (True, len(long) + 1, _KEPT_BYTES)
    assert last["event"] == "event_3"
    assert events(earlier["lines"]) == ["event_1"]
    assert first == ["event_1", "event_2", "event_3"]
    assert events(following["lines"]) == ["event_2"]


async def test_what_is_no_json_is_shown_as_it_is(world: World) -> None:
    log = write(world, "12:00:00 info  a readable line", '{"event": "broken', "[1]", "")
    with log.open("ab") as file:
        file.write(b"\xff\xfe\x00 <script>alert(1)</script>\n")
    async with dashboard(world) as shown:
        facts = await read(shown)
        loud = await read(shown, level="error")

    assert [line["text"] for line in facts["lines"]] == [
        "12:00:00 info  a readable line",
        '{"event": "broken',
        "[1]",
        "",
        "\ufffd\ufffd\x00 <script>alert(1)</script>",
    ]
    assert loud["lines"] == []


async def test_one_piece_looks_through_so_much_and_the_next_goes_on(world: World) -> None:
    lines = [event(number, filling="x" * 1_000) for number in range(2_500)]
    write(world, event(0, needle="here"), *lines)
    async with dashboard(world) as shown:
        piece = await read(shown, text="needle")
        found = await back(shown, text="needle")

    assert len(lines) * 1_000 > _LOOKED_BYTES
    assert (piece["lines"], bool(piece["before"])) == ([], True)
    assert found == ["event_0"]


async def test_a_secret_that_was_written_before_it_was_one_is_not_shown(world: World) -> None:
    token = world.emulator.token
    write(world, event(1, url=f"https://example/bot{token}/getMe"), f"text {token}")
    async with dashboard(world) as shown:
        facts = await read(shown)

    assert len(facts["lines"]) == 2
    assert token not in json.dumps(facts)


@pytest.mark.parametrize(
    "query",
    [
        {"before": "x"},
        {"after": "../../etc/passwd"},
        {"before": "1-2-3", "after": "1-2-3"},
        {"level": "loud"},
        {"lines": "0"},
        {"lines": "201"},
        {"text": "x" * 301},
        {"before": "1-99999999999999999999-3"},
    ],
)
async def test_what_cannot_be_asked_gets_a_sentence(world: World, query: dict[str, str]) -> None:
    write(world, event(1))
    async with dashboard(world) as shown:
        status, told = await shown.get(f"/api/logs?{urlencode(query)}")

    assert (status, set(told)) == (400, {"error"})


async def test_a_log_that_cannot_be_read_gets_a_sentence(world: World) -> None:
    world.home.log_file.mkdir(parents=True)
    async with dashboard(world) as shown:
        status, told = await shown.get("/api/logs")

    assert (status, told) == (409, {"error": "The log cannot be read: Is a directory."})
