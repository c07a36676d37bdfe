"""Ids sort in the order they were made. Source: github.com/ulid/spec, "Monotonicity"."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from aouo.facts.ids import ulid


def test_ids_sort_in_the_order_they_were_made_within_a_millisecond_too() -> None:
    made = [ulid() for _ in range(5_000)]

    assert made == sorted(set(made))
    assert {len(one) for one in made} == {26}


def test_two_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [each.result() for each in [threads.submit(ulid) for _ in range(5_000)]]

    assert len(set(made)) == 5_000
