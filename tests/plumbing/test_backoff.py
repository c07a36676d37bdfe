"""Pauses between tries; the rules are ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.waiting import pause_s

SECONDS = st.floats(0.01, 3600)
SHARE = st.floats(0, 1)
BACKOFFS = st.fixed_dictionaries(
    {"first_s": SECONDS, "factor": st.floats(1, 8), "most_s": SECONDS, "jitter": SHARE}
)
FAILURES = st.one_of(st.integers(1, 20), st.integers(1, 1_000_000))


@given(BACKOFFS, FAILURES, SHARE, st.floats(0, 7200))
def test_a_pause_begins_small_grows_by_its_factor_and_stops_growing(
    backoff: dict[str, float], failures: int, chance: float, asked_s: float
) -> None:
    """Chance takes its share and no more; who was asked to wait longer does; none failed, none
    waits."""

    def whole_s(failures: int) -> float:
        return pause_s(failures, **backoff)

    assert pause_s(0, **backoff) == 0
    assert whole_s(1) == min(backoff["first_s"], backoff["most_s"])
    assert whole_s(failures) <= whole_s(failures + 1) <= backoff["most_s"]
    assert whole_s(failures + 1) <= whole_s(failures) * backoff["factor"] * (1 + 1e-9)
    if whole_s(failures + 1) < backoff["most_s"]:
        assert whole_s(failures + 1) >= whole_s(failures) * backoff["factor"] * (1 - 1e-9)

    by_chance_s = pause_s(failures, chance=chance, **backoff)
    assert whole_s(failures) * (1 - backoff["jitter"]) <= by_chance_s * (1 + 1e-9)
    assert by_chance_s <= whole_s(failures)
    assert pause_s(failures, asked_s=asked_s, **backoff) == max(asked_s, whole_s(failures))
