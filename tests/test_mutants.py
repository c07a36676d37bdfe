"""`scripts/mutate`: which mistakes it makes, and how it learns which test executes a line."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import Any

import pytest

from scripts.house import ROOT
from scripts.mutants.__main__ import Drawn, _tests
from scripts.mutants.copies import Executed
from scripts.mutants.mistakes import Mistake, mistakes
from scripts.mutants.probe import probed


@pytest.mark.parametrize(
    ("source", "wronged"),
    [
        ("a < b", {"(a <= b)"}),
        ("a and not b", {"(a or not b)", "a and (b)"}),
        ("a if b else c", {"(a)", "(c)"}),
        ("limit_s = 5", {"limit_s = 6"}),
        ("f(a, b, durable=True)", {"f(b, a, durable=True)", "f(a, b)", "f(a, b, durable=False)"}),
        ("x = 'SELECT a FROM b WHERE c IS NULL'", {"x = 'SELECT a FROM b WHERE c IS NOT NULL'"}),
        ("x = 'UPDATE a SET b = 1 WHERE c < 2'", {"x = 'UPDATE a SET b = 1 WHERE c <= 2'"}),
        ("def f():\n    g()", {"def f():\n    pass"}),
        ("def f():\n    return a", {"def f():\n    return None"}),
        (
            "def f():\n    if a: b = c",
            {"def f():\n    if False: b = c", "def f():\n    if True: b = c"},
        ),
        ("é = {'é'}; é - b", {"é = {'é'}; (é + b)"}),
        ("def f(a: int) -> str:\n    '''One.'''\n    _log.info('done', seconds=1)", set()),
    ],
)
def test_a_mistake_is_one_edit_of_one_expression_or_statement(
    source: str, wronged: set[str]
) -> None:
    assert {mistake.made_in(source) for mistake in mistakes(source)} == wronged


def test_each_mistake_can_be_compiled_and_changes_something() -> None:
    source = (ROOT / "aouo" / "queue" / "inbox.py").read_text("utf-8")
    whole = ast.dump(ast.parse(source))

    found = mistakes(source)

    assert len(found) > 100
    assert all(ast.dump(ast.parse(mistake.made_in(source))) != whole for mistake in found)


SOURCE = "scripts/mutants/mistakes.py"
LINES = (ROOT / SOURCE).read_text("utf-8").splitlines()
BINDS, USES, *_ = [at for at, text in enumerate(LINES, 1) if "self._bytes" in text]


def chosen(line: int, **executed: list[int]) -> list[str]:
    """Which of these tests run against a mistake in that line, in order."""
    wrong = Drawn("queue", SOURCE, Mistake(line, "statement", 0, 0, "", local=True))
    told = {
        test: Executed(1.0, {SOURCE: lines, "aouo/queue/lanes.py": lines})
        for test, lines in executed.items()
    }
    return _tests(wrong, told, limit_s=9)


def test_where_something_is_bound_those_run_first_that_use_it() -> None:
    tests = chosen(BINDS, makes=[BINDS], uses=[BINDS, USES, USES + 1], not_made=[USES])

    assert tests == ["uses", "makes"]


def test_what_no_test_tells_of_has_the_tests_that_do_most_in_its_room() -> None:
    assert chosen(USES, little=[1], more=[1, 2], nothing=[]) == ["more", "little"]


def test_a_probed_source_says_each_line_that_it_executes() -> None:
    source = dedent('''
        """A module."""
        from __future__ import annotations

        def f(a):
            """Double what is small."""
            if a > 2:
                return a
            elif a:
                a = (
                    a * 2
                )
            return a
    ''')
    told: list[tuple[str, int]] = []
    names: dict[str, Any] = {}
    exec(probed(source, "a.py"), names)

    def hit(file: str, line: int) -> None:
        told.append((file, line))

    names["_hit_"] = hit
    f = names["f"]

    assert (f(1), told) == (2, [("a.py", line) for line in (7, 9, 10, 13)])
    assert f.__doc__ == "Double what is small."
