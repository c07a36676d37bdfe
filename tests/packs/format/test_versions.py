"""Which versions a requirement accepts, and how one is not written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.packs.format.versions import accepts, numbers


@pytest.mark.parametrize(
    ("rule", "yes", "no"),
    [
        (">=0.1,<2", ["0.1.0", "1.9.9", "0.1.0-beta"], ["0.0.9", "2.0.0"]),
        (">=0.1.0", ["0.1.0", "9.0.0"], ["0.0.1"]),
        (">0.1 <=0.3", ["0.1.1", "0.3.0"], ["0.1.0", "0.3.1"]),
        ("1.2.3", ["1.2.3"], ["1.2.4", "1.2.2"]),
        ("^1.2", ["1.2.0", "1.99.0"], ["2.0.0", "1.1.9"]),
        ("^0.2", ["0.2.9"], ["0.3.0"]),
        ("~1.2", ["1.2.9"], ["1.3.0"]),
        (">=1, !=1.1.0", ["1.0.0", "1.1.1"], ["1.1.0"]),
    ],
)
def test_a_requirement_accepts_what_it_says(rule: str, yes: list[str], no: list[str]) -> None:
    assert [version for version in yes + no if accepts(rule, version)] == yes


@pytest.mark.parametrize("rule", ["", "latest", ">=", "1.2.x", ">=1 || <3", "*", "2026-01-01 x"])
def test_what_is_no_requirement_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        accepts(rule, "1.0.0")


@given(*[st.integers(0, 999)] * 3)
def test_every_version_accepts_itself_and_nothing_below_it(a: int, b: int, c: int) -> None:
    version = f"{a}.{b}.{c}"

    assert accepts(f">={version}", version)
    assert not accepts(f"<{version}", version)
    assert numbers(version) == (a, b, c)
