"""Retries, models that step in, and the health of each (contract, `provider.fallback`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import (
    CertificateRefused,
    ContentFiltered,
    ModelGone,
    NoModelService,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBroke,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProxyRefused,
    QuotaUsedUp,
    RegionRefused,
    StillComputing,
    Stumbled,
    UnexplainedRefusal,
)
from aouo.facts.transcript import (
    AsksAgain,
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
from aouo.providers.fallback import FallbackModel, Health
from aouo.providers.retrying import _may_be_asked_again, pause_s
from tests.fakes.clock import FastClock

HELLO = ModelRequest("", (UserSaid("Hello"),), ())
BUSY = ProviderBusy("busy")
WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Breaks:
    """Words, then a failure."""

    text: str
    error: ProviderError


@dataclass
class Scripted:
    """A `ChatModel` that does what it is told, call by call, and then always answers."""

    name: str
    script: list[ProviderError | Breaks | str] = field(default_factory=list)
    context_window: int = 1000
    sees: bool = True
    asked: int = 0

    @property
    def provider(self) -> str:
        return f"by-{self.name}"

    @property
    def model(self) -> str:
        return self.name

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model),)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked += 1
        does = self.script.pop(0) if self.script else f"{self.name} says"
        if isinstance(does, ProviderError):
            raise does
        words = does.text if isinstance(does, Breaks) else does
        for word in words.split():
            await asyncio.sleep(0)
            yield TextDelta(word)
        if isinstance(does, Breaks):
            raise does.error
        yield Finished(AssistantSaid("".join(words.split())), Usage(1, 0, 1), "stop")


class Waited(FastClock):
    """Waiting takes no time, and is written down."""

    def __init__(self) -> None:
        super().__init__(speed=1.0)
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.jump(seconds)
        await asyncio.sleep(0)


@pytest.fixture
async def clock() -> Waited:
    return Waited()


def over(*models: Scripted, clock: Waited, retries: int = 3, spread: float = 1.0) -> FallbackModel:
    return FallbackModel(models, clock=clock, max_retries=retries, spread=lambda: spread)


async def told(model: FallbackModel, request: ModelRequest = HELLO) -> list[ModelEvent]:
    async with asyncio.timeout(WAIT_S):
        return [event async for event in model.stream(request)]


async def heard(model: FallbackModel) -> list[ModelEvent]:
    """Without what is said about further tries, and without the end."""
    return [event for event in await told(model) if not isinstance(event, AsksAgain | Finished)]


async def answer(model: FallbackModel) -> Finished:
    last = (await told(model))[-1]
    assert isinstance(last, Finished)
    return last


async def test_a_passing_failure_is_met_by_asking_again_later_and_later(clock: Waited) -> None:
    only = Scripted("a", [BUSY, ProviderTimeout("cut"), BUSY])

    last = await answer(over(only, clock=clock))

    assert last.said.text == "asays"
    assert clock.pauses == [1.0, 2.0, 4.0]


async def test_one_blip_holds_nobody_longer_than_it_holds_one(clock: Waited) -> None:
    """Twenty calls meet one failure each: what they wait grows with their own tries."""
    model = over(Scripted("a", [BUSY] * 20), clock=clock)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(answer(model))

    assert clock.pauses == [1.0] * 20


async def test_a_pause_is_spread_so_that_many_do_not_come_back_together(clock: Waited) -> None:
    only = Scripted("a", [BUSY, BUSY])

    await answer(over(only, clock=clock, spread=0.0))

    assert clock.pauses == [0.5, 1.0]


async def test_each_further_try_is_told_with_what_failed_and_how_many_there_are(
    clock: Waited,
) -> None:
    only, other = Scripted("a", [BUSY, BUSY]), Scripted("b")

    alone = await told(over(only, clock=clock, retries=2))
    only.script = [BUSY]
    both = await told(over(only, other, clock=clock))

    a, b = ("by-a", "a"), ("by-b", "b")
    assert [e for e in alone if isinstance(e, AsksAgain)] == [
        AsksAgain(a, a, 2, 3, BUSY),
        AsksAgain(a, a, 3, 3, BUSY),
    ]
    assert [e for e in both if isinstance(e, AsksAgain)] == [AsksAgain(a, b, 2, 2, BUSY)]


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_after_so_many_retries_it_has_failed(clock: Waited, retries: int) -> None:
    only = Scripted("a", [BUSY] * 9)

    with pytest.raises(ProviderBusy):
        await told(over(only, clock=clock, retries=retries))

    assert only.asked == 1 + retries


@pytest.mark.parametrize(
    "error",
    [
        ProviderAuth(""),
        ProviderBilling(""),
        ProviderRejected(""),
        PromptTooLong(""),
        ContentFiltered(""),
        ProviderBusy("", retry_after_s=61),
        QuotaUsedUp("", retry_after_s=20),
        StillComputing(""),
        ModelGone(""),
        RegionRefused(""),
        NoModelService(""),
        ProxyRefused(""),
        CertificateRefused(""),
    ],
)
async def test_what_will_not_pass_soon_is_not_asked_again(
    clock: Waited, error: ProviderError
) -> None:
    only = Scripted("a", [error])

    with pytest.raises(type(error)):
        await told(over(only, clock=clock))

    assert (only.asked, clock.pauses) == (1, [])


@pytest.mark.parametrize(
    "error", [Stumbled(""), ProviderTimeout("", silent=True), ProviderBroke("")]
)
async def test_a_silence_an_unreadable_call_and_a_crash_are_met_once_more(
    clock: Waited, error: ProviderError
) -> None:
    only, twice = Scripted("a", [error] * 9), Scripted("b", [error])

    with pytest.raises(type(error)):
        await told(over(only, clock=clock))
    again = next(e for e in await told(over(twice, clock=clock)) if isinstance(e, AsksAgain))

    assert only.asked == 2
    assert (again.attempt, again.attempts) == (2, 2)


async def test_the_moment_until_which_to_wait_is_told_in_the_bots_own_zone(clock: Waited) -> None:
    error = QuotaUsedUp("", retry_after_s=3 * 3600)
    tokyo = ZoneInfo("Asia/Tokyo")
    model = FallbackModel([Scripted("a", [error])], clock=clock, max_retries=3, zone=tokyo)

    with pytest.raises(QuotaUsedUp):
        await told(model)

    assert error.until
    assert timedelta() <= clock.now() + timedelta(hours=3) - error.until < timedelta(minutes=1)
    assert error.until.tzinfo is tokyo


async def test_the_living_beside_a_gone_model_are_asked_for_once(clock: Waited) -> None:
    class Sold(Scripted):
        lists = 0

        async def living(self) -> tuple[str, ...]:
            self.lists += 1
            return ("a-2", "a-3")

    gone = [ModelGone(""), ModelGone("")]
    only = Sold("a", list[ProviderError | Breaks | str](gone))
    model = over(only, clock=clock)

    for error in gone:
        with pytest.raises(ModelGone):
            await told(model)
        assert (error.model, error.living) == ("a", ("a-2", "a-3"))
    assert only.lists == 1


async def test_the_service_says_how_long_to_wait_and_a_little_is_added(clock: Waited) -> None:
    only = Scripted("a", [ProviderBusy("", retry_after_s=30)])

    await answer(over(only, clock=clock, spread=0.5))

    assert clock.pauses == [pytest.approx(31.5)]


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        ProviderTimeout(""),
        ProviderAuth(""),
        ProviderBilling(""),
        QuotaUsedUp(""),
        StillComputing(""),
        Stumbled(""),
        ModelGone(""),
        RegionRefused(""),
        NoModelService(""),
        ProviderBroke(""),
        ProxyRefused(""),
        CertificateRefused(""),
    ],
)
async def test_with_a_fallback_the_failing_model_is_not_asked_again(
    clock: Waited, error: ProviderError
) -> None:
    first, second = Scripted("a", [error]), Scripted("b")

    last = await answer(over(first, second, clock=clock))

    assert (last.said.text, last.provider, last.model) == ("bsays", "by-b", "b")
    assert (first.asked, second.asked, clock.pauses) == (1, 1, [])


@pytest.mark.parametrize(
    "error",
    [ProviderRejected(""), PromptTooLong(""), ContentFiltered("")],
)
async def test_what_the_next_model_would_say_too_is_raised(
    clock: Waited, error: ProviderError
) -> None:
    first, second = Scripted("a", [error]), Scripted("b")

    with pytest.raises(type(error)):
        await told(over(first, second, clock=clock))

    assert second.asked == 0


async def test_a_refusal_without_a_reason_goes_to_the_next_model_once_nothing_can_shrink(
    clock: Waited,
) -> None:
    """And it says nothing about the model's health: others need not wait for it."""
    first, second = Scripted("a", [UnexplainedRefusal(""), UnexplainedRefusal("")]), Scripted("b")
    model = over(first, second, clock=clock)

    with pytest.raises(UnexplainedRefusal):
        await told(model, replace(HELLO, may_shrink=True))
    assert second.asked == 0

    assert (await answer(model)).said.text == "bsays"
    assert model.health[0].until is None


async def test_each_model_is_tried_once_in_order_and_the_first_failure_is_the_one(
    clock: Waited,
) -> None:
    models = [
        Scripted("a", [BUSY]),
        Scripted("b", [ProviderAuth("")]),
        Scripted("c", [ProviderTimeout("")]),
    ]

    with structlog.testing.capture_logs() as logs, pytest.raises(ProviderBusy):
        await told(over(*models, clock=clock))

    assert [model.asked for model in models] == [1, 1, 1]
    seen = [(line["event"], line.get("provider") or line.get("to"), line["kind"]) for line in logs]
    assert seen == [
        ("provider_error", "by-a", "ProviderBusy"),
        ("provider_failover", "by-b/b", "ProviderBusy"),
        ("provider_error", "by-b", "ProviderAuth"),
        ("provider_failover", "by-c/c", "ProviderAuth"),
        ("provider_error", "by-c", "ProviderTimeout"),
    ]


async def test_words_of_an_attempt_that_broke_off_do_not_count(clock: Waited) -> None:
    first = Scripted("a", [Breaks("Well I", ProviderTimeout("cut"))])

    events = await heard(over(first, Scripted("b"), clock=clock))

    assert events == [
        TextDelta("Well"),
        TextDelta("I"),
        PaidForNothing(),
        StartedOver(),
        TextDelta("b"),
        TextDelta("says"),
    ]


async def test_words_that_broke_off_are_taken_back_by_whoever_speaks_next(clock: Waited) -> None:
    first = Scripted("a", [Breaks("Well", ProviderTimeout("cut"))])

    events = await heard(over(first, Scripted("b", [BUSY]), Scripted("c", ["yes"]), clock=clock))

    assert events == [
        TextDelta("Well"),
        PaidForNothing(),
        StartedOver(),
        TextDelta("yes"),
    ]


async def test_a_silent_attempt_that_may_have_cost_something_is_told(clock: Waited) -> None:
    """A timeout may have been worked for, a refusal was not; nobody has seen words of either."""
    only = Scripted("a", [ProviderTimeout("silent"), BUSY, "yes"])

    events = await heard(over(only, clock=clock))

    assert events == [PaidForNothing(), TextDelta("yes")]


async def test_when_all_fail_the_primary_says_why_even_if_it_was_asked_last(
    clock: Waited,
) -> None:
    primary = Scripted("a", [ProviderAuth("no key"), ProviderAuth("no key")])
    model = over(primary, Scripted("b", ["yes", BUSY]), clock=clock)
    await told(model)

    with pytest.raises(ProviderAuth):
        await told(model)


async def test_a_model_that_failed_is_asked_last_until_it_has_cooled_down(clock: Waited) -> None:
    first, second = Scripted("a", [ProviderBusy("", retry_after_s=300)]), Scripted("b")
    model = over(first, second, clock=clock, spread=0.0)

    said = [(await answer(model)).model for _ in range(3)]
    clock.jump(301)
    said.append((await answer(model)).model)

    assert said == ["b", "b", "b", "a"]
    assert (first.asked, second.asked) == (2, 3)


async def test_a_model_that_cools_down_is_asked_all_the_same_when_nobody_else_answers(
    clock: Waited,
) -> None:
    first = Scripted("a", [ProviderBusy("", retry_after_s=300)])
    second = Scripted("b", ["fine", BUSY])
    model = over(first, second, clock=clock)

    said = [(await answer(model)).model for _ in range(2)]

    assert said == ["b", "a"]


async def test_the_only_model_does_not_cool_since_no_other_is_asked_before_it(
    clock: Waited,
) -> None:
    model = over(Scripted("a", [BUSY] * 9), clock=clock)
    with pytest.raises(ProviderBusy):
        await told(model)

    assert model.health[0].failures
    assert model.health[0].until is None


async def test_health_says_how_often_why_and_until_when(clock: Waited) -> None:
    first, second = Scripted("a", [BUSY, BUSY]), Scripted("b", [BUSY])
    model = over(first, second, clock=clock)
    with pytest.raises(ProviderBusy):
        await told(model)
    before = clock.now()
    await answer(over(Scripted("c"), clock=clock))

    a, b = model.health
    assert (a.failures, a.last, b.failures) == (1, "ProviderBusy", 1)
    assert a.until is not None
    assert timedelta() < a.until - before <= timedelta(seconds=1)

    await clock.sleep(2)
    assert model.health[0].until is None
    assert (await answer(model)).model == "b"
    assert model.health[0].failures == 2
    assert model.health[1] == Health("by-b", "b")


async def test_a_request_that_is_too_long_says_nothing_about_the_models_health(
    clock: Waited,
) -> None:
    model = over(Scripted("a", [PromptTooLong("")]), clock=clock)

    with pytest.raises(PromptTooLong):
        await told(model)

    assert model.health == (Health("by-a", "a"),)


async def test_all_of_them_together_read_what_the_smallest_can_and_see_what_all_can(
    clock: Waited,
) -> None:
    model = over(Scripted("a"), Scripted("b", context_window=500, sees=False), clock=clock)

    assert (model.provider, model.model) == ("by-a", "a")
    assert (model.context_window, model.sees) == (500, False)
    assert model.candidates == (("by-a", "a"), ("by-b", "b"))


async def test_leaving_early_leaves_the_model_that_is_asked(clock: Waited) -> None:
    left = asyncio.Event()

    class Endless(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
            try:
                while True:
                    yield TextDelta("more")
            finally:
                left.set()

    stream = over(Endless("a"), clock=clock).stream(HELLO)
    await anext(stream)
    await stream.aclose()

    assert left.is_set()


@pytest.mark.parametrize(
    ("error", "failures", "spread", "expected_s"),
    [
        (BUSY, 1, 0.0, 0.5),
        (BUSY, 1, 1.0, 1.0),
        (BUSY, 5, 1.0, 16.0),
        (BUSY, 6, 1.0, 20.0),
        (BUSY, 9999, 1.0, 20.0),
        (ProviderBusy("", retry_after_s=12), 9, 0.0, 12.0),
    ],
)
def test_a_pause_grows_up_to_twenty_seconds_unless_the_service_names_one(
    error: ProviderError, failures: int, spread: float, expected_s: float
) -> None:
    assert pause_s(error, failures, spread) == expected_s


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BUSY, True),
        (ProviderTimeout(""), True),
        (ProviderBusy("", retry_after_s=60), True),
        (ProviderBusy("", retry_after_s=60.1), False),
        (ProviderAuth(""), False),
        (PromptTooLong(""), False),
    ],
)
def test_only_what_passes_within_a_minute_is_waited_for(
    error: ProviderError, expected: bool
) -> None:
    assert _may_be_asked_again(error) is expected


errors = st.sampled_from(
    [BUSY, ProviderTimeout(""), ProviderAuth(""), ProviderRejected(""), PromptTooLong("")]
)
scripts = st.lists(
    st.one_of(errors, st.builds(Breaks, st.sampled_from(["", "x y"]), errors), st.just("fine")),
    max_size=4,
)


@given(st.lists(scripts, min_size=1, max_size=3))
def test_what_is_shown_in_the_end_is_what_was_said_whatever_fails_on_the_way(
    told_to: Sequence[list[ProviderError | Breaks | str]],
) -> None:
    async def one_call() -> None:
        models = [Scripted(str(at), list(script)) for at, script in enumerate(told_to)]
        shown, ends = "", list[Finished]()
        try:
            for event in await told(over(*models, clock=Waited())):
                match event:
                    case TextDelta(text):
                        shown += text
                    case StartedOver():
                        shown = ""
                    case PaidForNothing() | AsksAgain():
                        pass
                    case Finished():
                        ends.append(event)
        except ProviderError:
            assert len(models) == 1 or all(model.asked <= 1 for model in models)
        else:
            assert [shown] == [end.said.text for end in ends]
        assert sum(model.asked for model in models) <= max(4, len(models))

    asyncio.run(one_call())
