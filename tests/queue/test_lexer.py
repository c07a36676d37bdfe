"""Lines that begin with a slash. Source: design §3.8, Telegram's bot commands."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.events import Command
from aouo.queue.lexer import Words, command, words


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/help", "help", ""),
        ("  /help  ", "help", ""),
        ("/HELP", "help", ""),
        ("/use notes", "use", "notes"),
        ("/use@some_bot notes:review", "use", "notes:review"),
        ("/use\nnotes", "use", "notes"),
        ("/daily-note now", "daily-note", "now"),
        ("/daily_note  a  b ", "daily_note", "a  b"),
        ("/1", "1", ""),
    ],
)
def test_a_command_is_a_slash_a_name_and_the_rest(text: str, name: str, rest: str) -> None:
    assert command(text) == Command(name, rest, text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/ help",
        "help",
        "see /help",
        "//help",
        "/etc/passwd",
        "/а",
        "/@bot",
        "/" + "x" * 65,
    ],
)
def test_anything_else_is_no_command(text: str) -> None:
    assert command(text) is None


@pytest.mark.parametrize(
    ("rest", "args", "flags"),
    [
        ("", (), {}),
        ("a b", ("a", "b"), {}),
        ("'a b' \"c d\"", ("a b", "c d"), {}),
        (r"a\ b \-\-c", ("a b",), {"c": "true"}),
        ("'--not a flag'", ("--not a flag",), {}),
        ("--in 5m --quiet", (), {"in": "5m", "quiet": "true"}),
        ("--In=5m x", ("x",), {"in": "5m"}),
        ("--a --b c", (), {"a": "true", "b": "c"}),
        ("--a=", (), {"a": "true"}),
        ("''", ("",), {}),
        ("-- x", ("--", "x"), {}),
        ("a'b c'd qu'il", ("a'b", "c'd", "qu'il"), {}),
        ('--name="Tea time" x', ("x",), {"name": "Tea time"}),
        ('--a "--b"', (), {"a": "--b"}),
        ('“a b” „c d“ ”e f" x', ("a b", "c d", "e f", "x"), {}),
        ("—name Tea — it’s —quiet", ("—", "it’s"), {"name": "Tea", "quiet": "true"}),
    ],
)
def test_words_and_flags(rest: str, args: tuple[str, ...], flags: dict[str, str]) -> None:
    assert words(rest) == Words(args, flags)


def test_all_words_are_there_in_their_order() -> None:
    assert words('a --k=v "b c" --q d').all == ("a", "--k=v", "b c", "--q", "d")


@pytest.mark.parametrize(
    ("rest", "why"),
    [("'open", "the quote ' is not closed"), ("x\\", "a backslash at the end escapes nothing")],
)
def test_what_is_not_closed_is_said(rest: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        words(rest)


@given(st.lists(st.text(min_size=1)))
def test_what_is_quoted_comes_back_whole(items: list[str]) -> None:
    quoted = ("'" + item.replace("\\", "\\\\").replace("'", "\\'") + "'" for item in items)

    assert words(" ".join(quoted)) == Words(tuple(items), {})


@given(st.text())
def test_no_text_breaks_the_lexer(text: str) -> None:
    found = command(text)
    if found:
        assert text.strip().lower().startswith(f"/{found.name}")
        assert found.raw.endswith(found.rest)
    with suppress(ValueError):
        words(text)
