"""Each finding of issue 12 is held by tests that are there (`findings.yml`)."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.models import names, profile

HERE = Path(__file__).parent
FINDINGS: dict[int, dict[str, Any]] = yaml.safe_load((HERE / "findings.yml").read_text())
SPOKEN_OF = re.compile(r"\bFindings? ((?:\d+(?:, | and )?)+)")


@cache
def made_in(file: str) -> frozenset[str]:
    found = ast.parse((HERE / file).read_text()).body
    made = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(one.name for one in found if isinstance(one, made))


def test_they_are_counted_without_a_gap() -> None:
    assert list(FINDINGS) == list(range(1, 40))


@pytest.mark.parametrize("number", FINDINGS)
def test_a_finding_is_said_in_a_line_and_held_by_tests_that_are_there(number: int) -> None:
    finding = FINDINGS[number]

    assert finding.keys() <= {"what", "tests", "not_here"}
    assert finding["what"].endswith(".")
    assert finding["tests"]
    for named in finding["tests"]:
        file, _, test = named.partition("::")
        assert test in made_in(file), named


def test_whoever_speaks_of_a_finding_means_one_of_these() -> None:
    said = {
        int(number)
        for file in HERE.rglob("test_*.py")
        for numbers in SPOKEN_OF.findall(file.read_text())
        for number in re.findall(r"\d+", numbers)
    }
    ruled = {rule.finding for name in names() for rule in profile(name).rules} - {0}

    assert said | ruled <= FINDINGS.keys()
    assert ruled


# Each of the twenty invariants of issue 14 is held by tests that are there (`invariants.yml`)


INVARIANTS: dict[int, dict[str, Any]] = yaml.safe_load((HERE / "invariants.yml").read_text())


NEGATIVE: dict[int, dict[str, Any]] = yaml.safe_load((HERE / "negative.yml").read_text())


def test_there_are_forty_negative_tests() -> None:
    """Source: issue 31."""
    assert list(NEGATIVE) == list(range(1, 41))


def test_there_are_twenty() -> None:
    assert list(INVARIANTS) == list(range(1, 21))


@pytest.mark.parametrize("held", [*INVARIANTS.values(), *NEGATIVE.values()], ids=str)
def test_each_is_said_in_a_line_and_held_by_tests_that_are_there(held: dict[str, Any]) -> None:
    invariant = held

    assert invariant.keys() == {"what", "tests"}
    assert invariant["what"].endswith(".")
    assert invariant["tests"]
    for named in invariant["tests"]:
        file, _, test = named.partition("::")
        assert test in made_in(file), named
