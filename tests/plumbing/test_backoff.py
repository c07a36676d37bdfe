"""Pauses between tries; the rules are ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.backoff import Backoff

SECONDS = st.floats(0.01, 3600)
SHARE = st.floats(0, 1)
BACKOFFS = st.builds(Backoff, SECONDS, st.floats(1, 8), SECONDS, SHARE)
FAILURES = st.one_of(st.integers(1, 20), st.integers(1, 1_000_000))


@given(BACKOFFS, FAILURES, SHARE, st.floats(0, 7200))
def test_a_pause_begins_small_grows_by_its_factor_and_stops_growing(
    backoff: Backoff, failures: int, chance: float, asked_s: float
) -> None:
    """Chance takes its share and no more; who was asked to wait longer does; none failed, none
    waits."""

    def whole_s(failures: int) -> float:
        return backoff.pause_s(failures)

    assert backoff.pause_s(0) == 0
    assert whole_s(1) == min(backoff.first_s, backoff.most_s)
    assert whole_s(failures) <= whole_s(failures + 1) <= backoff.most_s
    assert whole_s(failures + 1) <= whole_s(failures) * backoff.factor * (1 + 1e-9)
    if whole_s(failures + 1) < backoff.most_s:
        assert whole_s(failures + 1) >= whole_s(failures) * backoff.factor * (1 - 1e-9)

    by_chance_s = backoff.pause_s(failures, chance=chance)
    assert whole_s(failures) * (1 - backoff.jitter) <= by_chance_s * (1 + 1e-9)
    assert by_chance_s <= whole_s(failures)
    assert backoff.pause_s(failures, asked_s=asked_s) == max(asked_s, whole_s(failures))
