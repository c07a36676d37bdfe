"""Limits around real calls: what is held, what is counted, and what happens all at once.

Source: contract "Limits"; the laws are issue 3's ("overshoot 0 under concurrency").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.agent.spending.money import Budget, Price, Prices, bounds_of, cost_usd, most_usd
from aouo.agent.spending.quota import Quota
from aouo.agent.spending.reservations import Reservations
from aouo.facts.errors import (
    BudgetExceeded,
    PriceUnknown,
    ProviderBusy,
    ProviderError,
    ProviderTimeout,
    QuotaExceededError,
    Refused,
)
from aouo.facts.records import Refusal, Spent
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    PaidForNothing,
    StartedOver,
    TextDelta,
    Usage,
    UserSaid,
)
from aouo.plumbing.redact import Redactor
from aouo.store import usage, usage_report
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables

DEAR = Price(2.5, 1.25, 10.0)
CHEAP = Price(0.15, 0.075, 0.6)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TODAY = "2026-03-02"


class FixedClock:
    """A day that does not pass."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def monotonic_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps here")


async def _no_wait(_: ModelRequest) -> None:
    """Answer at once."""


@dataclass
class Priced:
    """A model that uses what its request's `context` says: "input,cached,output"."""

    provider: str = "fake"
    model: str = "dear"
    context_window: int = 100_000
    brief: bool = False
    sees: bool = True
    others: tuple[tuple[str, str], ...] = ()
    before: Callable[[ModelRequest], Awaitable[None]] = _no_wait
    fails: list[ProviderError | None] = field(default_factory=list[ProviderError | None])
    events: tuple[ModelEvent, ...] = (TextDelta("words"),)
    asked: int = 0

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model), *self.others)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked += 1
        await self.before(request)
        for event in self.events:
            yield event
        if self.fails and (error := self.fails.pop(0)):
            raise error
        used = Usage(*map(int, request.context.split(",")))
        yield Finished(AssistantSaid("words"), used, "stop")


def asking(used: str = "10,0,5", max_tokens: int = 100) -> ModelRequest:
    return ModelRequest("x" * 400, (UserSaid("hello"),), (), context=used, max_tokens=max_tokens)


@asynccontextmanager
async def database_in(folder: str | Path) -> AsyncGenerator[Database]:
    database = Database(Path(folder) / "aouo.db")
    await database.open()
    try:
        await database.transact(make_tables)
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    async with database_in(tmp_path) as opened:
        yield opened


def quota_of(
    database: Database,
    budget: Budget | None = None,
    *,
    session: int = 0,
    daily: int = 0,
    clock: FixedClock | None = None,
) -> Quota:
    return Quota(
        database=database,
        clock=clock or FixedClock(),
        zone=lambda: UTC,
        session_tokens_max=session,
        daily_tokens_max=daily,
        budget=budget,
        redactor=Redactor(),
        reservations=Reservations(),
    )


async def ask(
    quota: Quota,
    database: Database,
    model: Priced,
    request: ModelRequest,
    *,
    person: str = "ada",
    pack: str = "notes",
    session: str = "s1",
) -> list[Spent]:
    """Ask, and write the rows as a turn's commit does, whatever came of it."""
    rows: list[Spent] = []
    row = Spent("llm", "", pack=pack, session_id=session, person=person, turn_id="t1")
    try:
        async with aclosing(quota.stream(model, request, row, rows.append)) as events:
            async for _ in events:
                pass
    finally:

        def write(tx: Tx) -> None:
            for spent in rows:
                usage.record(tx, spent, "now")

        await database.transact(write)
    return rows


async def facts(database: Database) -> tuple[float, int, int]:
    """USD of the day, rows, reservations."""

    def read(tx: Tx) -> tuple[float, int, int]:
        total = tx.ask(usage_report.total((TODAY, TODAY)))
        row = tx.one("SELECT count(*) AS n FROM holds")
        assert row is not None
        return round(total.cost_usd, 9), total.calls, row["n"]

    return await database.read(read)


async def test_a_call_is_written_down_at_its_worst_case_and_settles_to_what_it_cost(
    database: Database,
) -> None:
    """The row takes the reservation's place in one transaction."""
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    before: list[tuple[float, int, int]] = []

    async def look(_: ModelRequest) -> None:
        before.append(await facts(database))

    rows = await ask(quota, database, Priced(before=look), asking("1000,400,100"))

    usd = (600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6
    assert before == [(0.0, 0, 1)]
    assert [(row.model, row.cost_usd) for row in rows] == [("dear", pytest.approx(usd))]
    assert await facts(database) == (pytest.approx(usd), 1, 0)


async def test_without_a_budget_nothing_is_written_before_a_call(database: Database) -> None:
    quota = quota_of(database, Budget(prices=Prices({"dear": DEAR})), daily=1000)
    before: list[tuple[float, int, int]] = []

    async def look(_: ModelRequest) -> None:
        before.append(await facts(database))

    await ask(quota, database, Priced(before=look), asking("1000,0,0"))

    assert before == [(0.0, 0, 0)]
    assert await facts(database) == (0.0025, 1, 0)


async def test_a_model_without_a_price_is_refused_under_a_budget_and_free_without(
    database: Database,
) -> None:
    budget = Budget(per_pack_daily_usd={"notes": 1.0})
    model = Priced()
    with pytest.raises(PriceUnknown) as refused:
        await ask(quota_of(database, budget), database, model, asking())
    rows = await ask(quota_of(database, budget), database, model, asking(), pack="vocab")

    assert refused.value.key == "budgets.prices.dear"
    assert (model.asked, [row.cost_usd for row in rows]) == (1, [0.0])


async def test_the_dearest_of_those_that_may_answer_is_reserved(database: Database) -> None:
    budget = Budget(daily_usd=0.005, prices=Prices({"dear": DEAR, "cheap": CHEAP}))
    cheap = Priced(model="cheap")
    await ask(quota_of(database, budget), database, cheap, asking(max_tokens=1000))
    cheap.others = (("fake", "dear"),)
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota_of(database, budget), database, cheap, asking(max_tokens=1000))

    assert refused.value.worst_usd > most_usd(CHEAP, Usage(1000, 0, 1000))
    assert refused.value.cheaper == ("fake", "cheap")


@pytest.mark.parametrize(
    ("budget", "key"),
    [
        (Budget(daily_usd=1e-5), "budgets.daily_usd"),
        (Budget(per_person_daily_usd=1e-5), "budgets.per_person_daily_usd"),
        (Budget(per_pack_daily_usd={"notes": 1e-5}), "budgets.per_pack_daily_usd.notes"),
    ],
)
async def test_each_ceiling_refuses_with_its_key_before_anybody_is_asked(
    database: Database, budget: Budget, key: str
) -> None:
    priced = Budget(
        budget.daily_usd,
        budget.per_person_daily_usd,
        budget.per_pack_daily_usd,
        Prices({"dear": DEAR}),
    )
    model = Priced()
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota_of(database, priced), database, model, asking())

    assert (refused.value.key, model.asked) == (key, 0)
    assert await facts(database) == (0.0, 0, 0)


async def test_people_and_packs_have_budgets_of_their_own(database: Database) -> None:
    budget = Budget(
        per_person_daily_usd=0.003,
        per_pack_daily_usd={"notes": 0.003},
        prices=Prices({"dear": DEAR}),
    )
    quota = quota_of(database, budget)
    model = Priced()
    await ask(quota, database, model, asking("400,0,50"))
    for person, pack in (("ada", "vocab"), ("ben", "notes")):
        with pytest.raises(BudgetExceeded):
            await ask(quota, database, model, asking(), person=person, pack=pack)
    await ask(quota, database, model, asking(), person="ben", pack="vocab")

    assert model.asked == 2


async def test_a_call_that_was_refused_by_the_service_costs_nothing(database: Database) -> None:
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    with pytest.raises(ProviderBusy):
        await ask(quota, database, Priced(events=(), fails=[ProviderBusy("no")]), asking())

    assert await facts(database) == (0.0, 0, 0)


@pytest.mark.parametrize(
    ("events", "error"),
    [((TextDelta("so"),), ProviderBusy("cut")), ((), ProviderTimeout("silent"))],
)
async def test_a_call_that_was_cut_off_costs_its_worst_case(
    database: Database, events: tuple[ModelEvent, ...], error: ProviderError
) -> None:
    """Nobody says what it did cost, and something it did."""
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    with pytest.raises(ProviderError):
        await ask(quota, database, Priced(events=events, fails=[error]), asking())

    worst = most_usd(DEAR, bounds_of(asking(), {}))
    assert await facts(database) == (pytest.approx(worst), 1, 0)


@pytest.mark.parametrize(
    "events",
    [(TextDelta("so"), PaidForNothing(), StartedOver(), TextDelta("anew")), (PaidForNothing(),)],
)
async def test_each_attempt_that_may_have_cost_something_is_paid(
    database: Database, events: tuple[ModelEvent, ...]
) -> None:
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    model = Priced(events=events)
    rows = await ask(quota, database, model, asking("10,0,5"))

    worst = most_usd(DEAR, bounds_of(asking(), {}))
    assert [row.cost_usd for row in rows] == [
        pytest.approx(worst),
        pytest.approx(cost_usd(DEAR, Usage(10, 0, 5))),
    ]


async def test_a_call_without_usage_costs_its_worst_case_under_a_budget(
    database: Database,
) -> None:
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    rows = await ask(quota, database, Priced(), asking("0,0,0"))

    assert rows[0].cost_usd == pytest.approx(most_usd(DEAR, bounds_of(asking("0,0,0"), {})))


async def test_what_a_dead_process_had_not_settled_counts_as_spent(database: Database) -> None:
    """Its reservation becomes a usage row, once; nothing is missing and nothing counts twice."""
    budget = Budget(daily_usd=0.01, prices=Prices({"dear": DEAR}))
    worst = Spent("llm", TODAY, "fake", "dear", person="ada", cost_usd=0.009, reservation="lost")
    await database.transact(lambda tx: usage.put_reservation(tx, worst, "now"))
    quota = quota_of(database, budget)

    written_off = [await quota.recover(), await quota.recover()]
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota, database, Priced(), asking())

    assert written_off == [1, 0]
    assert refused.value.used_usd == pytest.approx(0.009)
    assert await facts(database) == (0.009, 1, 0)


async def test_a_new_day_begins_at_nothing(database: Database) -> None:
    clock = FixedClock()
    budget = Budget(daily_usd=0.004, prices=Prices({"dear": DEAR}))
    quota = quota_of(database, budget, daily=500, clock=clock)
    await ask(quota, database, Priced(), asking("500,0,10"))
    with pytest.raises(Refused):
        await ask(quota, database, Priced(), asking())
    clock.time = datetime(2026, 3, 3, 0, 0, 1, tzinfo=UTC)
    rows = await ask(quota, database, Priced(), asking())

    assert rows[0].day == "2026-03-03"


async def test_rows_that_somebody_else_writes_count_too(database: Database) -> None:
    quota = quota_of(database, daily=1_000)
    await quota.check()
    speech = Spent("stt", TODAY, tokens=Usage(990, 0, 10))
    await database.transact(lambda tx: usage.record(tx, speech, "now"))

    with pytest.raises(QuotaExceededError) as refused:
        await quota.check()

    assert (refused.value.used_tokens, refused.value.key) == (1_000, "advanced.daily_tokens_max")


async def test_the_runtimes_own_calls_count_for_the_day_and_not_for_a_session(
    database: Database,
) -> None:
    quota = quota_of(database, session=1_000, daily=3_000)
    await ask(quota, database, Priced(), asking("1500,0,0"), session="")
    own = await quota.is_near_its_cap("s1")
    await ask(quota, database, Priced(), asking("1500,0,0"), session="s1")

    assert (own, await quota.is_near_its_cap("s1")) == (False, True)
    with pytest.raises(QuotaExceededError) as refused:
        await quota.check()
    assert refused.value.scope == "daily"


async def test_a_cap_reached_by_a_call_does_not_take_its_answer_away(database: Database) -> None:
    quota = quota_of(database, daily=100)
    rows = await ask(quota, database, Priced(), asking("900,0,100"))
    with pytest.raises(QuotaExceededError):
        await ask(quota, database, Priced(), asking())

    assert rows[0].tokens == Usage(900, 0, 100)


async def test_what_the_owner_added_for_today_is_room(database: Database) -> None:
    quota = quota_of(database, Budget(daily_usd=1e-4, prices=Prices({"dear": DEAR})))
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota, database, Priced(), asking())
    error = refused.value
    refusal = Refusal("t1", error.day, error.kind, error.name, error.raise_usd)
    await database.transact(lambda tx: usage.allow(tx, refusal, TODAY, "now"))
    await database.transact(lambda tx: usage.allow(tx, refusal, TODAY, "now"))
    rows = await ask(quota, database, Priced(), asking())

    added = await database.read(lambda tx: usage.allowances(tx, TODAY))
    assert (len(rows), added) == (1, {("day", ""): error.raise_usd})


# Many calls at once


@dataclass(frozen=True, slots=True)
class Wish:
    """One turn's call: who pays, what it will use, how long it takes in the scheduler's turns."""

    person: str
    pack: str
    used: tuple[int, int]
    turns: int


WISHES = st.lists(
    st.builds(
        Wish,
        st.sampled_from(["ada", "ben"]),
        st.sampled_from(["notes", "vocab"]),
        st.tuples(st.integers(0, 500), st.integers(0, 100)),
        st.integers(0, 5),
    ),
    min_size=2,
    max_size=14,
)


async def _all_at_once(quota: Quota, database: Database, wishes: list[Wish]) -> list[int]:
    """Run all wishes together; return which of them were answered."""
    answered: list[int] = []

    async def run(number: int, wish: Wish) -> None:
        async def linger(_: ModelRequest) -> None:
            for _turn in range(wish.turns):
                await asyncio.sleep(0)

        spent_in, spent_out = wish.used
        request = asking(f"{spent_in},0,{spent_out}", max_tokens=100)
        try:
            await ask(
                quota,
                database,
                Priced(before=linger),
                request,
                person=wish.person,
                pack=wish.pack,
                session=f"s{number}",
            )
        except Refused:
            return
        answered.append(number)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for number, wish in enumerate(wishes):
            group.create_task(run(number, wish))
    return answered


@settings(max_examples=60, deadline=None)
@given(WISHES, st.floats(0.001, 0.02), st.floats(0.001, 0.02), st.floats(0.001, 0.02))
def test_no_budget_is_ever_passed_whatever_runs_at_once(
    wishes: list[Wish], daily: float, person: float, pack: float
) -> None:
    budget = Budget(daily, person, {"notes": pack}, Prices({"dear": DEAR}))

    async def scenario() -> None:
        with TemporaryDirectory() as folder:
            async with database_in(folder) as database:
                quota = quota_of(database, budget)
                answered = await _all_at_once(quota, database, wishes)
                total = await database.read(lambda tx: tx.ask(usage_report.total((TODAY, TODAY))))
                people = dict(
                    await database.read(lambda tx: tx.ask(usage_report.by_person((TODAY, TODAY))))
                )
                packs = dict(
                    await database.read(lambda tx: tx.ask(usage_report.by_pack((TODAY, TODAY))))
                )
                left = await facts(database)

        spent = sum(cost_usd(DEAR, Usage(w.used[0], 0, w.used[1])) for w in _of(wishes, answered))
        lost = sum(w.used == (0, 0) for w in _of(wishes, answered))
        assert left[2] == 0
        assert total.cost_usd <= daily + 1e-9
        assert all(found.cost_usd <= person + 1e-9 for found in people.values())
        assert "notes" not in packs or packs["notes"].cost_usd <= pack + 1e-9
        assert lost or total.cost_usd == pytest.approx(spent)

    asyncio.run(scenario())


@settings(max_examples=40, deadline=None)
@given(WISHES, st.integers(1, 4_000))
def test_a_cap_of_tokens_is_passed_by_less_than_one_call_whatever_runs_at_once(
    wishes: list[Wish], cap: int
) -> None:
    """Running at once adds nothing: what is at work together stays below the cap."""

    async def scenario() -> None:
        with TemporaryDirectory() as folder:
            async with database_in(folder) as database:
                quota = quota_of(database, daily=cap)
                answered = await _all_at_once(quota, database, wishes)
                total = await database.read(lambda tx: usage.tokens_of_day(tx, TODAY))

        largest = max((sum(w.used) for w in _of(wishes, answered)), default=0)
        assert total < cap + largest or total <= cap
        assert len(answered) == len(wishes) or total >= cap

    asyncio.run(scenario())


def _of(wishes: list[Wish], numbers: list[int]) -> list[Wish]:
    return [wishes[number] for number in numbers]


async def test_a_call_that_fits_when_another_has_ended_waits_for_it(database: Database) -> None:
    """Two at once would not fit at their worst case; one after the other they do."""
    worst = most_usd(DEAR, bounds_of(asking(), {}))
    quota = quota_of(database, Budget(daily_usd=worst * 1.5, prices=Prices({"dear": DEAR})))
    release = asyncio.Event()
    begun: list[str] = []

    async def wait(request: ModelRequest) -> None:
        begun.append(request.context)
        await release.wait()

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for used in ("1,0,1", "2,0,2"):
            group.create_task(ask(quota, database, Priced(before=wait), asking(used)))
        await _ticks(lambda: bool(begun))
        together = list(begun)
        release.set()

    assert (together, begun) == (["1,0,1"], ["1,0,1", "2,0,2"])


async def test_a_waiting_call_that_is_stopped_leaves_nothing_behind(database: Database) -> None:
    worst = most_usd(DEAR, bounds_of(asking(), {}))
    quota = quota_of(database, Budget(daily_usd=worst * 1.5, prices=Prices({"dear": DEAR})))
    release = asyncio.Event()

    async def wait(_: ModelRequest) -> None:
        await release.wait()

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        first = group.create_task(ask(quota, database, Priced(before=wait), asking()))
        while not (await facts(database))[2]:  # noqa: ASYNC110 - nobody tells of a row
            await asyncio.sleep(0)
        waiting = group.create_task(ask(quota, database, Priced(), asking()))
        await _ticks(lambda: True)
        waiting.cancel()
        release.set()
        await first

    assert await facts(database) == (pytest.approx(cost_usd(DEAR, Usage(10, 0, 5))), 1, 0)


async def test_a_call_that_is_stopped_at_work_counts_and_makes_room_again(
    database: Database,
) -> None:
    worst = most_usd(DEAR, bounds_of(asking(), {}))
    quota = quota_of(database, Budget(daily_usd=worst * 2.5, prices=Prices({"dear": DEAR})))
    begun, never = asyncio.Event(), asyncio.Event()

    async def wait(_: ModelRequest) -> None:
        begun.set()
        await never.wait()

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        stopped = group.create_task(ask(quota, database, Priced(before=wait), asking()))
        await begun.wait()
        stopped.cancel()
    rows = await ask(quota, database, Priced(), asking())
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota, database, Priced(), asking(max_tokens=9_000))

    assert len(rows) == 1
    assert refused.value.used_usd == pytest.approx(worst + cost_usd(DEAR, Usage(10, 0, 5)))


async def test_a_call_that_is_stopped_before_anybody_was_asked_costs_nothing(
    database: Database,
) -> None:
    """Its reservation was on its way to the table."""
    quota = quota_of(database, Budget(daily_usd=1.0, prices=Prices({"dear": DEAR})))
    model = Priced()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        stopped = group.create_task(ask(quota, database, model, asking()))
        await asyncio.sleep(0)
        stopped.cancel()
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota, database, model, replace(asking(), system="x" * 900_000))

    assert (model.asked, refused.value.used_usd) == (0, 0.0)
    assert await facts(database) == (0.0, 0, 0)


async def test_where_a_budget_has_not_enough_left_the_answer_gets_less_room(
    database: Database,
) -> None:
    """The worst case of a large answer would take more than the day has: it is asked for with what
    is left, and refused only where not even a short one fits."""
    quota = quota_of(database, Budget(daily_usd=0.05, prices=Prices({"dear": DEAR})))
    asked: list[int] = []

    async def note(request: ModelRequest) -> None:
        asked.append(request.max_tokens)

    model = Priced(before=note)
    rows = await ask(quota, database, model, asking(max_tokens=16_384))
    await ask(quota, database, model, asking("8000,0,2000", max_tokens=2_000))
    with pytest.raises(BudgetExceeded) as refused:
        await ask(quota, database, model, asking(max_tokens=16_384))

    assert 4_000 < asked[0] < 5_000
    assert asked[1:] == [2_000]
    assert rows[0].cost_usd == pytest.approx(cost_usd(DEAR, Usage(10, 0, 5)))
    assert refused.value.worst_usd < 0.02


async def _ticks(seen: Callable[[], bool]) -> None:
    """Until that is so, and a while longer in which anything else could have happened."""
    while not seen():  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0)
    for _ in range(50):
        await asyncio.sleep(0)
