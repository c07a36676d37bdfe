"""An answer's bytes give the same events however they are cut, wrapped or ended."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import NoModelService, ProviderBusy
from aouo.providers.event_stream import Event, EventStream

VALUES = st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(), max_size=3)
FRAMES = st.sampled_from([": ping", "event: message", "id: 7", "retry: 10", ""])


def read(data: bytes, cuts: list[int]) -> list[Event]:
    stream = EventStream("fake")
    events: list[Event] = []
    at = 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        events += stream.feed(data[at:cut])
        at = cut
    return [*events, *stream.end()]


@given(
    values=st.lists(VALUES, max_size=5),
    frame=FRAMES,
    space=st.sampled_from(["", " "]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    ascii_only=st.booleans(),
    last=st.booleans(),
    cuts=st.lists(st.integers(min_value=0, max_value=10_000), max_size=6),
)
def test_any_cutting_of_a_stream_gives_its_events(
    values: list[Event],
    frame: str,
    space: str,
    end: str,
    ascii_only: bool,
    last: bool,
    cuts: list[int],
) -> None:
    lines = [frame]
    for value in values:
        lines += [f"data:{space}{json.dumps(value, ensure_ascii=ascii_only)}", ""]
    text = end.join(lines) + (end if last else "")

    assert read(text.encode("utf-8", "surrogatepass"), cuts) == values


@given(
    values=st.lists(VALUES, min_size=1, max_size=5),
    indent=st.sampled_from([None, 1]),
    cuts=st.lists(st.integers(min_value=0, max_value=10_000), max_size=6),
)
def test_plain_json_is_one_event_or_a_list_of_them(
    values: list[Event], indent: int | None, cuts: list[int]
) -> None:
    whole = values if len(values) > 1 else values[0]

    assert read(b"\xef\xbb\xbf\n" + json.dumps(whole, indent=indent).encode(), cuts) == values


def test_half_an_event_is_none() -> None:
    assert read(b'data: {"a": 1}\n\ndata: {"b": ', []) == [{"a": 1}]


@pytest.mark.parametrize("data", [b"d", b"dat", b"event", b"\nda"])
def test_the_first_letters_of_a_stream_that_breaks_off_are_no_other_servers(data: bytes) -> None:
    assert read(data, []) == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"data: {broken\n", ProviderBusy),
        (b"data: [1]\n", ProviderBusy),
        (b"[" * 100_000, ProviderBusy),
        (b"<html>\n", NoModelService),
        (b"data: " + b"x" * (17 * 1024 * 1024), ProviderBusy),
    ],
)
def test_what_is_no_stream(data: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        read(data, [])
