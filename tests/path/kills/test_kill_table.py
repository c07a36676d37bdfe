"""Killed anywhere, nothing is lost and nothing happens twice. Source: design §3.5, issue 2.

A real process is killed at the n-th commit or request; the next process on the same home has to
finish what was begun. Telegram, the model service and the person go on meanwhile, as they do. The
scenarios are the tables of this folder; changes of packs have places of their own, in
`packs/test_installing_killed`.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.path.killing import AT_ONCE, START_UP, Row, Run, judge, killed, killed_at, together
from tests.path.kills import answers, by_itself, by_people
from tests.path.kills.answers import PLAIN
from tests.path.lives import Place, place
from tests.sampling import places, step, taking

ROWS = answers.ROWS | by_itself.ROWS | by_people.ROWS
EVERYWHERE = [name for name, row in ROWS.items() if not row.at]
SOMEWHERE = [name for name, row in ROWS.items() if row.at]
PAIRS = 4  # of kills, for each scenario
KILLS_AT_LEAST = 20  # fewer, and a place that counts has been lost
KILLS_AT_MOST = 200


async def _killed(row: Row, folder: Path, port: int, *kills: int) -> Run:
    folder /= "-".join(map(str, kills))
    scenario = row.made(folder)
    has_tables = scenario is not PLAIN
    return await killed(
        scenario, folder / "home", port, *kills, among=row.among, has_tables=has_tables
    )


@pytest.mark.parametrize("name", taking(EVERYWHERE, EVERYWHERE[::2]))
async def test_a_process_killed_anywhere_loses_nothing_and_repeats_nothing(
    name: str, tmp_path: Path, runner_port: int
) -> None:
    row, runs = ROWS[name], list[Run]()
    first, apart = 1 if row.scenario is PLAIN else 1 + START_UP, step()
    while all(run.kills for run in runs) and len(runs) * apart < KILLS_AT_MOST:
        begin = first + len(runs) * apart
        numbers = range(begin, begin + AT_ONCE * apart, apart)
        runs += await together(numbers, lambda n: _killed(row, tmp_path, runner_port, n))

    judge(runs)
    assert KILLS_AT_LEAST <= sum(bool(run.kills) for run in runs) * apart < KILLS_AT_MOST


@pytest.mark.parametrize("name", SOMEWHERE)
async def test_a_process_killed_at_some_of_many_places_loses_nothing_and_repeats_nothing(
    name: str, tmp_path: Path, runner_port: int
) -> None:
    row = ROWS[name]
    numbers = row.at if row.among else places(row.at)
    runs = await killed_at(numbers, lambda n: _killed(row, tmp_path, runner_port, n))

    if row.among:
        assert [row.among in " ".join(run.kills) for run in runs] == [True] * len(runs)


async def test_a_process_killed_again_while_it_recovers_loses_nothing_and_repeats_nothing(
    tmp_path: Path, runner_port: int
) -> None:
    dice = random.Random(2)
    wanted = [
        (name, dice.randint(8, 30), dice.randint(3, 25))
        for name in EVERYWHERE
        for _ in range(PAIRS // step(PAIRS))
    ]
    runs = await together(
        wanted, lambda one: _killed(ROWS[one[0]], tmp_path / one[0], runner_port, *one[1:])
    )

    judge(runs)
    assert sum(len(run.kills) == 2 for run in runs) > len(runs) / 2


async def test_what_waits_is_not_in_doubt_while_telegram_does_not_answer_a_starting_bot(
    tmp_path: Path, runner_port: int
) -> None:
    async with place(tmp_path, PLAIN.packs, PLAIN.model, runner_port=runner_port) as here:
        people = here.emulator.client
        await people.fault("status", method="sendMessage", status=429, retry_after=60)
        await people.fault("status", method="getMe", nth=2, times=2, status=502)
        await PLAIN.person(here)
        await _kill_after(here, "sendMessage", 429)
        await _kill_after(here, "getMe", 502, times=2)
        async with here.alive() as last:
            await PLAIN.live(here)
        shown = [one.text for one in await here.said()]

    assert last.ended, here.stderr
    assert shown == ["Paris."]


async def _kill_after(here: Place, method: str, status: int, *, times: int = 1) -> None:
    """One life, killed once Telegram has answered so and it is written down that nothing left."""

    async def look() -> bool:
        waiting = here.rows("SELECT id FROM deliveries WHERE state = 'queued'")
        return here.calls(method, status) == times and bool(waiting)

    async with here.alive() as life:
        await here.until(look)
        life.stop(signal.SIGKILL)
