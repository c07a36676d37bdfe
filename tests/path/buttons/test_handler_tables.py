"""What each decision leads to is a table, held to its union at start."""

from __future__ import annotations

from typing import get_args

import pytest

from aouo.facts.work import Job
from aouo.flow.handlers.taps import on, table
from aouo.queue.decide import AnswerGate, Decision, NameTopic

BOTH = AnswerGate | NameTopic


async def handle(job: Job, case: object) -> None:
    del job, case


def test_a_table_of_all_cases_finds_the_handler_of_each() -> None:
    cases: tuple[type, ...] = get_args(Decision)

    assert set(table(Decision, *(on(case, handle) for case in cases))) == set(cases)


def test_a_case_without_a_handler_does_not_start() -> None:
    with pytest.raises(ValueError, match="NameTopic"):
        table(BOTH, on(AnswerGate, handle))


def test_a_handler_of_no_case_does_not_start() -> None:
    with pytest.raises(ValueError, match="AnswerGate"):
        table(NameTopic | int, on(AnswerGate, handle), on(NameTopic, handle), on(int, handle))


def test_a_case_with_two_handlers_does_not_start() -> None:
    with pytest.raises(ValueError, match="twice"):
        table(BOTH, on(AnswerGate, handle), on(NameTopic, handle), on(AnswerGate, handle))
