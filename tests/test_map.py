"""Everything is found in one guess, the map says where, and a budget holds how much it is.

Source: issues 13 and 26.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scripts.house import HOUSE, MAP, above, drawn, layers, sentence, size

FOUND = {
    "outbound/flood_control.py": ("flood", "telegram"),
    "words/money.py": ("reached", "limits", "money"),
    "flow/handlers/taps.py": ("taps", "buttons"),
    "facts/commands.py": ("commands", "every installation"),
    "installer/packs.py": ("installing", "removing"),
    "agent/spending/money.py": ("call costs",),
    "schedules/service.py": ("schedules", "terminal"),
    "plumbing/redact.py": ("redact",),
    "installer/unfinished.py": ("not ended", "start"),
    "flow/job.py": ("one job", "claim"),
    "agent/steps.py": ("what a turn does",),
    "providers/failures.py": ("model service", "refusal"),
}
"""Telegram's flood control, the words of a budget's refusal, what a button does, where a command is
declared, installing, the price of a call, a schedule, redaction, what a kill leaves behind, the way
of a job, the steps of a turn, what a model's refusal means: the words of whoever looks for one of
these, and the one line of the map that has them all."""


def test_the_map_is_that_of_the_tree() -> None:
    """Made anew by `.venv/bin/python -m scripts.house`."""
    assert MAP.read_text("utf-8") == drawn()


@pytest.mark.parametrize(("place", "words"), FOUND.items())
def test_what_somebody_looks_for_is_found_in_one_guess(place: str, words: tuple[str, ...]) -> None:
    lines = {
        path.relative_to(HOUSE).as_posix(): f"{path.relative_to(HOUSE)} {sentence(path)}".lower()
        for path in HOUSE.rglob("*.py")
        if path.name != "__init__.py" and "emulator" not in path.parts
    }

    assert [name for name, line in lines.items() if all(word in line for word in words)] == [place]


def test_the_layers_of_the_docs_are_those_that_are_held() -> None:
    text = (MAP.parent / "design.md").read_text("utf-8")

    assert "\n".join(layers()) in text


def test_each_room_and_file_says_in_a_sentence_what_it_is_for() -> None:
    silent = [file for file in HOUSE.rglob("*.py") if not sentence(file) and file.stat().st_size]

    assert silent == []


def test_nothing_lies_loose_in_the_hall() -> None:
    assert {file.name for file in HOUSE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_lines_are_counted_without_blanks_comments_and_docstrings(tmp_path: Path) -> None:
    (tmp_path / "rooms.py").write_text(
        '"""A room."""\n\nfrom a import (\n    b,\n)\n\n# a remark\nDOORS = _walls = 1\n'
        'class Room:\n    """It has doors."""\n\n    class _Door:\n        """Of it."""\n\n'
        'def _open() -> None:\n    """Open it."""\n    close = 1\n'
    )

    assert size(tmp_path) == {
        "modules": 1,
        "classes": 2,
        "public_names": 2,
        "code_lines": 8,
        "import_lines": 3,
    }


def test_what_is_over_the_budget_is_named() -> None:
    (over,) = above(Counter(modules=1, classes=10_000))

    assert over.startswith("10,000 classes are ")
