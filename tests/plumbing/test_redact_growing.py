"""A text that grows is redacted as it would be in one piece, however it is cut."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.plumbing.redact import REDACTED, Redactor, Trickle
from tests.sampling import left

TOKEN = "7654321098:AAE-x_9fGhIjKlMnOpQrStUvWxYz012345"
SECRETS = (TOKEN, "hunter2!hunter2", 'pa"ss/wörd ok', "ababab", "tvly-short")
BODY = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
REDACTOR = Redactor(SECRETS)
PIECES = (
    *(TOKEN, TOKEN[:20], TOKEN[20:], "hunter2!", "hunter2", 'pa"ss/', "wörd ok", "abab", "ab"),
    *("sk-", BODY, BODY[:8], "gsk_", "AIza", "tvly-", "ghp_", "github_pat_", "xoxb-", "AKIA"),
    *("ABCDEFGHIJKLMNOP", "eyJ", ".", "-----BEGIN ", "RSA ", "PRIVATE KEY-----", "-----END "),
    *("https://", "me:", "@", "/", "?key=", "&token=", "Bearer ", "12345", "123456:", "678", "-"),
    *(" ", "\n", "word", "é", "😀", "_", ":", "--", "s", "e", "B", "**"),
    *(
        "*",
        "`",
        "\\",
        "\u200b",
        "\u202a",
        "*" * 40,
        "tvly-*sho",
        "rt",
        "hun*",
        "ter2!hun\u200bter2",
    ),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)


def cut(text: str, at: list[int]) -> list[str]:
    places = sorted({place % (len(text) + 1) for place in at} | {0, len(text)})
    return [text[start:stop] for start, stop in pairwise(places)]


def grown(redactor: Redactor, pieces: list[str]) -> tuple[str, list[str]]:
    """What came out in all, and how it stood after each piece."""
    trickle, shown, states = Trickle(redactor), "", list[str]()
    for piece in pieces:
        shown += trickle.add(piece)
        states.append(shown)
    return shown + trickle.end(), states


@given(texts, st.lists(st.integers(0, 400), max_size=12))
@example("a sk-learn and sk-" + BODY + " b", [3, 5, 6, 20])
@example(f"a00Bearer 678xoxb-{TOKEN}hIjKlMnOpQrStUvWxYz012345", [70])
@example("https://me:pa" + "ss@host https://me:80/a", [9, 11, 14])
def test_however_it_is_cut_the_same_comes_out(text: str, at: list[int]):
    whole, _ = grown(REDACTOR, cut(text, at))

    assert whole == REDACTOR.text(text)


@given(texts)
def test_sign_by_sign_the_same_comes_out(text: str):
    whole, _ = grown(REDACTOR, list(text))

    assert whole == REDACTOR.text(text)


@given(texts, st.sampled_from(SECRETS), texts, st.lists(st.integers(0, 400), max_size=12))
def test_no_part_that_could_be_a_secret_is_ever_out(
    before: str, secret: str, after: str, at: list[int]
):
    """What is shown at any time is the beginning of what is shown in the end."""
    whole, states = grown(REDACTOR, cut(before + secret + after, at))

    assert secret not in whole
    assert all(whole.startswith(state) for state in states)


HIDING = "*`~\\\u00ad\u200b\u200d\u202a\u2060\ufeff"


@given(
    texts,
    st.sampled_from((*SECRETS, f"sk-{BODY}", f"123456789:{BODY}")),
    st.data(),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_what_is_not_seen_once_it_is_shown_hides_no_secret(
    before: str, secret: str, data: st.DataObject, at: list[int]
):
    hidden = "".join(sign + data.draw(st.text(HIDING, max_size=3)) for sign in secret)
    text = f"{before} {hidden} after"

    whole, _ = grown(REDACTOR, cut(text, at))

    assert whole == REDACTOR.text(text)
    assert secret not in "".join(sign for sign in whole if sign not in HIDING)


def test_nothing_of_a_token_is_out_before_it_is_known_to_be_one():
    _, states = grown(Redactor(), list(f"key sk-{BODY}"))

    assert states[-1] == "key "


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello, how are you today? ", "Hello, how are you today? "),
        ("a desk", "a desk"),
        ("it is sk", "it is "),
        ("it is skill", "it is skill"),
        ("at 12:30 or 14:1", "at 12:30 or 14:"),
        ("see https://example.org/a?b=c and", "see https://example.org/a?b=c and"),
        ("my hunter", "my "),
        ("my hunting", "my hunting"),
        ("a line\n---", "a line\n"),
        ("a line\n---\nmore", "a line\n---\nmore"),
    ],
)
def test_no_more_is_held_back_than_could_be_a_secret(text: str, shown: str):
    assert Trickle(REDACTOR).add(text) == shown


@left()
def test_a_text_made_of_beginnings_grows_without_being_looked_through_again_and_again():
    for beginning in ("-eyJ", "sk-", "-----BEGIN PRIVATE KEY-----", "a://b:", "1234567:", "ab"):
        begun_s = time.process_time()
        pieces = [beginning * 10] * 4_000

        whole, _ = grown(REDACTOR, pieces)

        assert whole == REDACTOR.text(beginning * 40_000)
        assert time.process_time() - begun_s < 4


@given(st.dictionaries(st.text(max_size=5), st.sampled_from(SECRETS) | st.text(max_size=9)))
def test_arguments_stay_json(fields: dict[str, str]):
    clean = REDACTOR.json(json.dumps(fields))

    assert json.loads(clean) == REDACTOR.value(fields)


def test_a_secret_in_escapes_is_found_in_arguments():
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in "hunter2!hunter2")

    assert json.loads(REDACTOR.json(f'{{"a": "{escaped}", "n": 1e400}}')) == {
        "a": REDACTED,
        "n": "1e400",
    }
    assert REDACTED in REDACTOR.json(f'{{"a": "{escaped}"')
    assert "hunter2!" not in REDACTOR.json('{"a": "hunter2!hunter2", "a": "b"}')
    assert REDACTOR.json('{"a":  1.10}') == '{"a":  1.10}'
    assert Redactor(["1234567890"]).json('{"a": 1234567890}') == f'{{"a": "{REDACTED}"}}'
