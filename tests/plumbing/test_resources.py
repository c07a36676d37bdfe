"""What is costly is made once for what it was made from, and closed with its last holder."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.resources import Holder, close_all
from aouo.plumbing.resources import Thing as Held


class Thing:
    def __init__(self, key: object, log: list[str]) -> None:
        self.key = key
        self._log = log
        self._log.append(f"made {key}")

    async def aclose(self) -> None:
        self._log.append(f"closed {self.key}")


async def test_two_holders_of_the_same_key_share_it_and_the_last_one_closes_it() -> None:
    log: list[str] = []
    things = list[Held]()
    old, new = Holder(things), Holder(things)
    first = old.take("a", lambda: Thing("a", log), Thing.aclose)
    old.take("b", lambda: Thing("b", log), Thing.aclose)
    second = new.take("a", lambda: Thing("a", log), Thing.aclose)
    await old.aclose()
    before = [*log]
    await old.aclose()
    await new.aclose()

    assert first is second
    assert before == ["made a", "made b", "closed b"]
    assert log == [*before, "closed a"]


async def test_what_fails_to_close_keeps_nothing_else_open() -> None:
    log: list[str] = []

    async def fail(thing: Thing) -> None:
        raise OSError("it does not end")

    async with Holder() as held:
        held.take("a", lambda: Thing("a", log), Thing.aclose)
        held.take("b", lambda: Thing("b", log), fail)

    assert log == ["made a", "made b", "closed a"]


@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 4))), max_size=20))
def test_at_any_time_exactly_what_somebody_holds_is_open(
    takes: list[tuple[int, set[int]]],
) -> None:
    """Each step lets one of four holders go, and lets it begin anew with other keys."""

    async def play() -> None:
        things, opened = list[Held](), dict[int, bool]()
        holders = [Holder(things) for _ in range(4)]
        held: list[set[int]] = [set() for _ in holders]

        def make(key: int) -> int:
            assert not opened.get(key)
            opened[key] = True
            return key

        async def close(key: int) -> None:
            assert opened[key]
            opened[key] = False

        for who, keys in takes:
            former, holders[who], held[who] = holders[who], Holder(things), keys
            for key in keys:
                holders[who].take(key, lambda key=key: make(key), close)
            await former.aclose()
            assert {key for key, is_open in opened.items() if is_open} == set[int]().union(*held)
        await close_all(things)
        assert not any(opened.values())

    asyncio.run(play())
