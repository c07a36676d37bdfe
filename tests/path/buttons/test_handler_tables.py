"""What each decision and each tap leads to is a table, held to its union at start."""

from __future__ import annotations

from typing import get_args

import pytest

from aouo.facts.taps import Approve, Choose, Ours
from aouo.facts.work import Job
from aouo.flow.handlers.table import on, table
from aouo.routing.decisions import Decision

BOTH = Choose | Approve


async def handle(job: Job, case: object) -> None:
    del job, case


@pytest.mark.parametrize("union", [Decision, Ours], ids=["decisions", "taps"])
def test_a_table_of_all_cases_finds_the_handler_of_each(union: object) -> None:
    cases: tuple[type, ...] = get_args(union)

    assert set(table(union, *(on(case, handle) for case in cases))) == set(cases)


def test_a_case_without_a_handler_does_not_start() -> None:
    with pytest.raises(ValueError, match="Approve"):
        table(BOTH, on(Choose, handle))


def test_a_handler_of_no_case_does_not_start() -> None:
    with pytest.raises(ValueError, match="Choose"):
        table(Approve | int, on(Choose, handle), on(Approve, handle), on(int, handle))


def test_a_case_with_two_handlers_does_not_start() -> None:
    with pytest.raises(ValueError, match="twice"):
        table(BOTH, on(Choose, handle), on(Approve, handle), on(Choose, handle))
