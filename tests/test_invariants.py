"""Each of the twenty invariants of issue 14 is held by tests that are there (`invariants.yml`)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.test_findings import HERE, made_in

INVARIANTS: dict[int, dict[str, Any]] = yaml.safe_load((HERE / "invariants.yml").read_text())


def test_there_are_twenty() -> None:
    assert list(INVARIANTS) == list(range(1, 21))


@pytest.mark.parametrize("number", INVARIANTS)
def test_an_invariant_is_said_in_a_line_and_held_by_tests_that_are_there(number: int) -> None:
    invariant = INVARIANTS[number]

    assert invariant.keys() == {"what", "tests"}
    assert invariant["what"].endswith(".")
    assert invariant["tests"]
    for named in invariant["tests"]:
        file, _, test = named.partition("::")
        assert test in made_in(file), named
