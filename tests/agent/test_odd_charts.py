"""Odd arguments of a chart are named, never a failure of unknown outcome. Source: issue 44, 13."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aouo.agent.tools.asks import drawn
from aouo.facts.errors import ToolFailed


@pytest.mark.parametrize("rows", [[["a", 10**400]], [["a", 1e308]], [["a", [[1]]]], [["a"]], 5])
@pytest.mark.parametrize("kind", ["bars", "lines", "parts", "csv"])
def test_what_is_no_chart_is_told(tmp_path: Path, kind: str, rows: Any) -> None:
    with pytest.raises(ToolFailed, match="row"):
        drawn({"kind": kind, "rows": rows}, tmp_path)


@pytest.mark.parametrize("kind", ["bars", "csv"])
def test_letters_that_are_none_are_question_marks(tmp_path: Path, kind: str) -> None:
    rows = [{"l\ud800": "a\ud800\0", "n": 1}]

    assert drawn({"kind": kind, "rows": rows, "title": "t\ud800" * 300}, tmp_path).is_file()
