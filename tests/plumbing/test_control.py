"""The control socket: a line of JSON there, one or more back, whatever is asked; rules of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from aouo.facts.errors import SetupError
from aouo.plumbing.client import NoAnswer, answers, ask
from aouo.plumbing.control import BadRequest, Facts, Verbs, arguments, listening
from aouo.plumbing.home import Home

WAIT_S = 20.0


async def take(pack: str, purge: bool = False) -> Facts:
    return {"pack": pack, "purge": purge}


async def breaks() -> AsyncGenerator[Facts]:
    yield {"kind": "ready"}
    raise ValueError("the disk is gone")


async def refuses() -> AsyncGenerator[Facts]:
    yield {"kind": "ready"}
    raise SetupError("It is over.", fix="Begin anew.")


async def counts(pack: str, purge: bool = False) -> AsyncGenerator[Facts]:
    yield {"pack": pack, "purge": purge}


VERBS: Verbs = {
    "take": take,
    "breaks": breaks,
    "refuses": refuses,
    "counts": counts,
}


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Home]:
    def failed(error: OSError) -> None:
        raise error

    home = Home(folder / "home")
    home.create()
    async with asyncio.timeout(WAIT_S), listening(home, failed, VERBS):
        yield home


async def items(home: Home, verb: str, **arguments: Any) -> tuple[list[Facts], str, str]:
    """What a stream said before its end, its complaint and the cure."""
    said: list[Facts] = []
    try:
        async for item in answers(home, verb, **arguments):
            said.append(item)  # noqa: PERF401 - kept even when the next one raises
    except NoAnswer as error:
        return said, error.problem, error.fix
    return said, "", ""


async def test_a_stream_that_breaks_says_why_and_the_next_request_is_answered(
    tmp_path: Path,
) -> None:
    ready: list[Facts] = [{"kind": "ready"}]
    async with serving(tmp_path) as home:
        broken = await items(home, "breaks")
        refused = await items(home, "refuses")
        taken = await asyncio.to_thread(ask, home, "take", pack="notes", purge=True)

    assert broken == (ready, "That cannot be done: the disk is gone.", "")
    assert refused == (ready, "It is over.", "Begin anew.")
    assert taken == {"pack": "notes", "purge": True}


async def test_a_bad_request_is_refused_in_a_sentence_by_verbs_and_streams(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as home:
        for verb in ("take", "counts"):
            _, problem, _ = await items(home, verb)
            _, wrong, _ = await items(home, verb, pack="a", purge="yes")

            assert problem == "The request lacks 'pack'."
            assert wrong == "'purge' has to be true or false."


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"pack": "notes"}, {"pack": "notes"}),
        (
            {"verb": "take", "pack": "notes", "purge": True, "of_tomorrow": 1},
            {"pack": "notes", "purge": True},
        ),
        ({}, "The request lacks 'pack'."),
        ({"pack": 7}, "'pack' has to be a text."),
        ({"pack": None}, "'pack' has to be a text."),
        ({"pack": "notes", "purge": 1}, "'purge' has to be true or false."),
    ],
)
def test_a_request_is_a_value_or_one_sentence(raw: dict[str, Any], said: Facts | str) -> None:
    """Another version may say more than we know; no value is quoted, it may be a passphrase."""
    try:
        found: Facts | str = arguments(take, raw)
    except BadRequest as error:
        found = error.problem

    assert found == said
