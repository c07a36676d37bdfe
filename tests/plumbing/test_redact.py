"""No secret is ever written down, however deep it sits."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.redact import REDACTED, Redactor

BODY = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
secrets = st.text(min_size=6, max_size=40).filter(lambda text: text not in REDACTED)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)


def nested(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        PLAIN | text,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(text, inner, max_size=3)
        ),
        max_leaves=8,
    )


@st.composite
def leaky(draw: st.DrawFn) -> tuple[str, Any]:
    secret = draw(secrets)
    around = st.text(max_size=10)
    text = st.tuples(around, st.just(secret), around).map("".join)
    return secret, draw(nested(text | around))


def texts_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for pair in value.items() for part in pair for text in texts_in(part)]
        case list() | tuple() | set():
            return [text for item in value for text in texts_in(item)]
        case _:
            return []


@given(leaky())
def test_a_configured_secret_never_gets_through(case: tuple[str, Any]):
    secret, value = case

    clean = Redactor([secret]).value(value)

    assert not any(secret in text for text in texts_in(clean))


@given(nested(st.text(alphabet="abc :/", max_size=20)))
def test_what_holds_no_secret_is_unchanged(value: Any):
    assert Redactor(["not in there"]).value(value) == value


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"123456789:{BODY}", "[redacted]"),
        (f"https://a.org/bot123456789:{BODY}/getMe", "https://a.org/bot[redacted]/getMe"),
        (f"key sk-proj-{BODY}", "key [redacted]"),
        (f"api_key_sk-{BODY}", "api_key_[redacted]"),
        (f"gsk_{BODY}", "[redacted]"),
        (f"AIza{BODY}", "[redacted]"),
        (f"tvly-{BODY}", "[redacted]"),
        (f"ghp_{BODY}", "[redacted]"),
        (f"github_pat_{BODY}", "[redacted]"),
        (f"xoxb-{BODY}", "[redacted]"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id [redacted]."),
        (f"eyJhbGciOiJIUzI1NiJ9.{BODY}.{BODY}", "[redacted]"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
            "a [redacted] b",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII…", "[redacted]"),
        ("postgresql://me:hunter2@host/db", "postgresql://me:[redacted]@host/db"),
        ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer [redacted]"),
        ("/v1/models?key=abcdefgh1234&x=1", "/v1/models?key=[redacted]&x=1"),
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, clean: str):
    assert Redactor().text(text) == clean
    assert Redactor().value({"a": [text]}) == {"a": [clean]}


@pytest.mark.parametrize(
    "text",
    [
        "a task-oriented desk-side note at 12:30, see https://example.org/a?b=c#d",
        "turn t_01J8Z6Q4R5V7W8X9Y0Z1A2B3C4 of tg:-1001234567890:thread:7",
        "2026-11-21T23:51:00.663Z 100%",
        "the bearer of bad news",
    ],
)
def test_ordinary_text_is_left_alone(text: str):
    assert Redactor(["supersecret"]).text(text) is text


def test_a_secret_is_found_as_json_and_as_a_url_write_it():
    secret = 'pa"ss/wörd'
    redactor = Redactor([secret])

    for written in (secret, json.dumps(secret), json.dumps({"a": [secret]}, ensure_ascii=False)):
        assert "wörd" not in redactor.text(written)
        assert "w\\u00f6rd" not in redactor.text(written)
    assert redactor.text("?p=pa%22ss%2Fw%C3%B6rd") == f"?p={REDACTED}"


def test_a_configured_value_that_is_too_short_blanks_out_nothing():
    assert Redactor(["on"]).text("only one") == "only one"


def test_an_exception_becomes_its_text_without_secrets():
    assert Redactor(["supersecret"]).value(ValueError("supersecret!")) == f"ValueError: {REDACTED}!"


def test_a_text_made_of_beginnings_is_looked_through_once() -> None:
    """Tried from each beginning to the end, a page of these would stop everybody for hours."""
    begun_s = time.process_time()

    assert Redactor().text("-eyJ" * 100_000) == "-eyJ" * 100_000
    assert time.process_time() - begun_s < 2
