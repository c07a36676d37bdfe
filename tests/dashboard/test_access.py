"""Who is let in follows from the headers, the token and the time. Pure."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from aouo.dashboard.access import COOKIE_S, PAGE_HEADER, Access, Asked

OWN = {"Host": "127.0.0.1:9800"}
TEXTS = st.text(max_size=40)


@given(TEXTS)
def test_only_the_token_and_our_cookie_open_it(text: str) -> None:
    access = Access("right", "127.0.0.1")

    for asked in (Asked(OWN, token=text), Asked(OWN, cookie=text)):
        assert access.refusal(asked, 0) or text in ("right", access.cookie(time.time()))
    assert not access.refusal(Asked(OWN, cookie=access.cookie(time.time())), 0)


@given(TEXTS)
def test_any_name_of_a_host_is_refused_or_ours(host: str) -> None:
    refused = Access("right", "127.0.0.1").is_foreign(Asked({"Host": host}))

    assert refused or any(name in host for name in ("127.0.0.1", "localhost", "::1"))


@given(st.sampled_from(["http://evil.example", "null", "http://127.0.0.1:9801", ""]))
def test_another_page_is_refused_whatever_it_brings(origin: str) -> None:
    asked = Asked({**OWN, "Origin": origin}, token="right")

    assert Access("right", "127.0.0.1").is_foreign(asked) == "origin"


def test_wrong_tokens_are_forgotten_after_a_minute() -> None:
    access = Access("right", "127.0.0.1")
    wrong = [access.refusal(Asked(OWN, token="no"), second) for second in range(21)]

    assert wrong == [*["token"] * 20, "too many"]
    assert access.refusal(Asked(OWN, token="right"), 59) == ""  # nobody can lock the owner out
    assert access.refusal(Asked(OWN, token="no"), 59) == "too many"
    assert access.refusal(Asked(OWN, cookie=access.cookie(time.time())), 59) == ""
    assert access.refusal(Asked(OWN, token="no"), 60) == "token"


@given(st.integers(0, 2 * COOKIE_S))
def test_a_cookie_ages(seconds: int) -> None:
    at_s = time.time()
    access = Access("right", "127.0.0.1", wall_s=lambda: at_s + seconds)
    made = access.cookie(at_s)
    younger = f"{int(at_s) + seconds:x}.{made.partition('.')[2]}"

    assert (access.refusal(Asked(OWN, cookie=made), 0) == "") == (seconds < COOKIE_S)
    assert seconds == 0 or access.refusal(Asked(OWN, cookie=younger), 0) == "token"


def test_open_to_the_network_no_name_may_be_rebound_to_it() -> None:
    access = Access("right", "0.0.0.0")

    assert access.is_foreign(Asked({"Host": "192.168.1.7:9800"})) == ""
    assert access.is_foreign(Asked({"Host": "evil.example"})) == "host"


@given(TEXTS)
def test_with_the_cookie_a_change_has_to_come_from_the_page(text: str) -> None:
    access = Access("right", "127.0.0.1")
    by_cookie = Asked({**OWN, PAGE_HEADER: text}, cookie=access.cookie(time.time()), changes=True)
    proven = Asked(
        {**OWN, PAGE_HEADER: access.page}, cookie=access.cookie(time.time()), changes=True
    )

    assert access.refusal(by_cookie, 0) == "page"
    assert access.refusal(proven, 0) == ""
    assert access.refusal(Asked(OWN, token="right", changes=True), 0) == ""
