"""Computes how long to wait before a retry; pure."""

from __future__ import annotations


def pause_s(
    failures: int,
    *,
    first_s: float,
    factor: float,
    most_s: float,
    jitter: float = 0.0,
    asked_s: float = 0.0,
    chance: float = 1.0,
) -> float:
    """Return the seconds to wait after so many failures in a row; 0 failures = no pause.

    Exponential backoff: `first_s` after the first failure, `factor` (1 or more) times as long after
    each further one, never over `most_s`. `jitter` (0 to 1) is the random share of a pause, so
    that many waiting clients do not retry together; `chance` is a random number from 0 to 1 for
    it. The pause is at least `asked_s`, which the other side asked for, also over `most_s`.
    """
    if failures <= 0:
        return asked_s
    try:
        grown_s = first_s * factor ** (failures - 1)
    except OverflowError:  # it has failed for days
        grown_s = most_s
    return max(asked_s, min(grown_s, most_s) * (1 - jitter * (1 - chance)))
