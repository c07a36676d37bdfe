"""Prices, worst cases and limits as tables. Source: contract "Configuration" (budgets, prices)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.agent.spending.money import (
    _IMAGE_TOKENS,
    Paid,
    Price,
    Prices,
    affordable,
    bounds_of,
    cheapest_that_fits,
    cost_usd,
    lacking,
    most_usd,
    step_up,
)
from aouo.agent.spending.reservations import Account, Limit, judge
from aouo.facts.transcript import (
    AssistantSaid,
    Image,
    Message,
    ModelRequest,
    ToolCall,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)

DEAR = Price(2.5, 1.25, 10.0)
CHEAP = Price(0.15, 0.075, 0.6)


@pytest.mark.parametrize(
    ("used", "usd"),
    [
        (Usage(1_000_000, 0, 0), 2.5),
        (Usage(1_000_000, 1_000_000, 0), 1.25),
        (Usage(1_000_000, 400_000, 100_000), 1.5 + 0.5 + 1.0),
        (Usage(0, 0, 1_000_000, 900_000), 10.0),
        (Usage(10, 99, 0), 10 * 1.25 / 1e6),
        (Usage(), 0.0),
    ],
)
def test_cached_input_has_its_own_price_and_thoughts_cost_as_output(
    used: Usage, usd: float
) -> None:
    assert cost_usd(DEAR, used) == pytest.approx(usd)


def test_a_price_is_looked_up_by_model_then_at_its_provider() -> None:
    prices = Prices({"a": DEAR}, {"mine": {"a": CHEAP, "b": CHEAP}})

    assert prices.of("mine", "a") == DEAR
    assert prices.of("mine", "b") == CHEAP
    assert prices.of("theirs", "b") is None


def test_the_owners_price_stands_above_the_catalogues() -> None:
    prices = Prices({"a": DEAR}, {"mine": {"b": DEAR}}, lambda provider, model: CHEAP)

    assert prices.of("openai", "a") == DEAR
    assert prices.of("mine", "b") == DEAR
    assert prices.of("openai", "b") == CHEAP


def test_a_large_request_pays_the_dearer_price_for_all_of_its_tokens() -> None:
    """Thresholds of OpenAI, Google and others. Source: genai-prices, `TieredPrices`."""
    tiered = Price(1.0, 0.1, 2.0, ((200_000, Price(2.0, 0.2, 3.0)),))

    assert cost_usd(tiered, Usage(200_000, 0, 1_000)) == pytest.approx(0.2 + 0.002)
    assert cost_usd(tiered, Usage(200_001, 200_001, 0)) == pytest.approx(200_001 * 0.2 / 1e6)


@given(
    st.integers(0, 500_000), st.integers(0, 500_000), st.integers(0, 500_000), st.integers(0, 9_999)
)
@example(300_000, 300_000, 0, 9_999)
@example(300_000, 900, 0, 9_999)
def test_no_call_within_its_bounds_costs_more_than_the_most(
    most_input: int, input_tokens: int, cached: int, output: int
) -> None:
    tiered = Price(1.0, 1.2, 2.0, ((1_000, Price(0.5, 0.1, 1.0)), (200_000, Price(2.0, 0.2, 3.0))))
    used = Usage(min(input_tokens, most_input), cached, output)

    assert cost_usd(tiered, used) <= most_usd(tiered, Usage(most_input, 0, 9_999)) * (1 + 1e-9)


@given(st.integers(0, 400_000), st.integers(1_100, 16_384), st.floats(0.5, 2.0))
@example(300_000, 16_384, 0.63)
def test_what_a_budget_pays_for_is_held_whatever_a_request_of_that_size_costs(
    most_input: int, output: int, room_usd: float
) -> None:
    """Where a short answer is paid for at all: above a threshold each token of it is dearer."""
    tiered = Price(1.0, 0.1, 2.0, ((200_000, Price(2.0, 0.2, 6.0)),))
    most = Usage(most_input, 0, output)
    found = affordable(most, (tiered, CHEAP), room_usd, 1_024)

    assert found.output_tokens <= output
    if most_usd(tiered, Usage(most_input, 0, 1_024)) <= room_usd:
        assert most_usd(tiered, found) <= room_usd


def test_relatives_are_what_the_provider_lists_and_models_of_the_same_family() -> None:
    prices = Prices(
        {"gpt-4o": DEAR, "gpt-4o-mini": CHEAP, "gemini-x": CHEAP}, {"mine": {"b": DEAR}}
    )

    assert prices.relatives("openai", "gpt-4o") == (("openai", "gpt-4o-mini"),)
    assert prices.relatives("mine", "a") == (("mine", "b"),)


@pytest.mark.parametrize(
    ("cap", "missing", "raised"),
    [
        (1.0, 0.01, 0.5),
        (1.0, 0.51, 1.0),
        (3.0, 0.1, 2.0),
        (0.25, 0.0, 0.2),
        (0.0004, 0.0, 0.0002),
        (10.0, 70.0, 100.0),
        (200.0, 0.0, 100.0),
    ],
)
def test_a_budget_is_raised_by_a_round_sum_that_is_enough(
    cap: float, missing: float, raised: float
) -> None:
    assert step_up(cap, missing) == raised


@given(st.floats(1e-6, 1e5), st.floats(0, 1e5))
def test_a_raise_always_covers_what_is_missing(cap: float, missing: float) -> None:
    assert step_up(cap, missing) >= max(cap / 2, missing) * (1 - 1e-8)


def test_the_cheaper_model_is_the_cheapest_if_there_is_room_for_it() -> None:
    prices = Prices({"dear": DEAR, "cheap": CHEAP})
    candidates = [("fake", "dear"), ("fake", "cheap"), ("fake", "unpriced")]
    most = Usage(1_000_000, 0, 0)

    assert cheapest_that_fits(candidates, prices, most, 0.2) == ("fake", "cheap")
    assert cheapest_that_fits(candidates, prices, most, 0.1) is None


MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserSaid, st.text()),
    st.builds(
        AssistantSaid,
        st.text(),
        st.lists(st.builds(ToolCall, st.text(), st.text(), st.text()), max_size=2).map(tuple),
        st.text(),
    ),
    st.builds(ToolReturned, st.text(), st.text(), st.text()),
)


@given(st.text(), st.lists(MESSAGES, max_size=4))
def test_the_bound_is_never_below_the_bytes_that_are_sent(
    system: str, messages: list[Message]
) -> None:
    """A byte-level tokenizer makes at most one token of a byte."""
    tool = ToolSpec("tool", "does things", {"type": "object", "properties": {"a": {"type": "x"}}})
    request = ModelRequest(system, tuple(messages), (tool,), context="now", max_tokens=7)
    sent = len((system + "now" + "tool" + "does things").encode()) + len(str(tool.parameters))
    for message in messages:
        sent += len(message.text.encode())
        if isinstance(message, AssistantSaid):
            sent += len((message.native + "".join(c.arguments for c in message.calls)).encode())

    most = bounds_of(request, {})

    assert most.input_tokens >= sent
    assert most.output_tokens == 7


def test_letters_of_several_bytes_count_with_each() -> None:
    said = "汉字🙂" * 100

    assert bounds_of(ModelRequest(said, (), ()), {}).input_tokens >= len(said.encode())


def test_a_picture_counts_with_the_dearest_way_to_bill_it() -> None:
    plain = bounds_of(ModelRequest("x" * 400, (UserSaid("hello"),), ()), {})
    picture = UserSaid("hello", (Image("image/jpeg", b"x"),))
    seeing = bounds_of(ModelRequest("x" * 400, (picture,), ()), {})

    assert seeing.input_tokens - plain.input_tokens == _IMAGE_TOKENS


@pytest.mark.parametrize(
    ("unit", "used", "held", "amount", "verdict"),
    [
        ("usd", 0.0, 0.0, 1.0, "fits"),
        ("usd", 0.0, 0.0, 1.1, "over"),
        ("usd", 0.5, 0.5, 0.1, "wait"),
        ("usd", 0.9, 0.0, 0.2, "over"),
        ("tokens", 0.5, 0.0, 0.5, "fits"),
        ("tokens", 0.9, 0.0, 5.0, "fits"),
        ("tokens", 0.9, 0.05, 5.0, "wait"),
        ("tokens", 1.0, 0.0, 0.0, "over"),
        ("tokens", 1.5, 0.3, 0.1, "over"),
    ],
)
def test_money_never_passes_its_cap_and_only_a_lone_call_passes_one_of_tokens(
    unit: str, used: float, held: float, amount: float, verdict: str
) -> None:
    name = ("usd", "day", "") if unit == "usd" else ("tokens", "day", "")
    account = Account(used, held, at_work=1 if held else 0)

    assert judge(account, Limit(name, 1.0, "key", amount)) == verdict


def test_what_has_no_price_is_named_with_the_key_that_sets_it() -> None:
    paid = [
        Paid("tokens", "own", "mine"),
        Paid("minute", "local", "whisper-tiny"),
        Paid("minute", "groq", "whisper"),
        Paid("million_characters", "openai", "tts-1"),
        Paid("call", "", "web_search"),
    ]
    prices = Prices(by_unit={"minute": {"whisper": 0.0}, "call": {"mine": 1.0}})

    assert [one.key for one in lacking([*paid, *paid], prices)] == [
        "budgets.prices.mine",
        "budgets.prices_per_million_characters.tts-1",
        "budgets.prices_per_call.web_search",
    ]
    assert paid[2].price(prices) == (0.0, "you")
    assert paid[1].price(prices) == (0.0, "it runs here")
