"""Draws mistakes, runs the tests that execute their lines, tells what nobody noticed."""

from __future__ import annotations

import argparse
import difflib
import math
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.mutants.copies import CACHE, ROOT, Executed, copied, pytest, recorded
from scripts.mutants.mistakes import Mistake, mistakes
from tests.conftest import LONGEST

ROOMS = "queue,store,flow,agent,outbound,guard"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\s+self\.(\w+)(?:: .+)? = ")
_CONSTANT = re.compile(r"\s*(\w+)(?:: .+)? = ")
_LEAST_S = 60.0
_NEAR = 5
"""Lines after the mistake whose execution says which way was taken."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A mistake in a file of a room."""

    room: str
    file: str
    mistake: Mistake

    def diff(self) -> str:
        """What is changed, as a patch."""
        source = (ROOT / self.file).read_text("utf-8")
        before, after = source.splitlines(True), self.mistake.made_in(source).splitlines(True)
        return "".join(difflib.unified_diff(before, after, f"a/{self.file}", f"b/{self.file}", n=1))


def main() -> None:
    """Draw, run and report."""
    asked = _arguments()
    ends = time.monotonic() + asked.minutes * 60
    rooms: list[str] = asked.rooms.split(",")
    sites = {room: _sites(room, asked.since) for room in rooms}
    files = _test_files(asked.tests, longest=asked.longest)
    executed = recorded(files, workers=asked.workers, minutes=asked.record_minutes)
    tree = copied(CACHE / f"wronged-{asked.seed}")
    tally: dict[str, Counter[str]] = {room: Counter() for room in rooms}
    for drawn in _draw(sites, asked.seed, asked.draw):
        if time.monotonic() > ends:
            print("out of time")
            break
        tests = _tests(drawn, executed, asked.seconds)
        outcome, by = _run(tree, drawn, tests, executed)
        tally[drawn.room][outcome] += 1
        where = f"{drawn.file}:{drawn.mistake.line} {drawn.mistake.kind}"
        print(f"{outcome:>8}  {where}  {by}", flush=True)
        if outcome in ("SURVIVED", "unseen"):
            print(drawn.diff() + "".join(f"    {test}\n" for test in tests[:8]), flush=True)
    _report(tally)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("--rooms", default=ROOMS, help="names with commas (%(default)s)")
    parser.add_argument("--since", metavar="REF", help="only lines changed since this commit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", type=int, default=40, help="how many, all rooms together")
    parser.add_argument("--minutes", type=float, default=30, help="when to draw no more")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for each, at most")
    parser.add_argument("--record-minutes", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2, help="processes that record")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="files and folders to use")
    parser.add_argument("--longest", action="store_true", help="use the longest tests too")
    return parser.parse_args()


def _test_files(places: list[str], *, longest: bool) -> list[str]:
    paths = [ROOT / place for place in places]
    found = {file for path in paths for file in (path, *path.rglob("test_*.py")) if file.is_file()}
    names = {file.relative_to(ROOT).as_posix() for file in found}
    return sorted(names if longest else names - {f"tests/{name}.py" for name in LONGEST})


def _sites(room: str, since: str | None) -> list[Drawn]:
    found: list[Drawn] = []
    for path in sorted((ROOT / "aouo" / room).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        changed = _changed(file, since)
        for mistake in mistakes(path.read_text("utf-8")):
            if changed is None or mistake.line in changed:
                found += [Drawn(room, file, mistake)]
    return found


def _changed(file: str, since: str | None) -> set[int] | None:
    if since is None:
        return None
    command = ("git", "diff", "-U0", since, "--", file)
    said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    hunks = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", said, re.MULTILINE)
    return {int(at) + more for at, many in hunks for more in range(int(many or 1))}


def _draw(sites: dict[str, list[Drawn]], seed: int, many: int) -> Iterator[Drawn]:
    """In turns from each room, without a line twice."""
    chance = random.Random(seed)
    piles = [chance.sample(found, len(found)) for found in sites.values()]
    lines: set[tuple[str, int]] = set()
    while many and any(piles):
        for pile in piles:
            while pile and (pile[-1].file, pile[-1].mistake.line) in lines:
                pile.pop()
            if pile and many:
                drawn = pile.pop()
                lines.add((drawn.file, drawn.mistake.line))
                many -= 1
                yield drawn


def _tests(drawn: Drawn, executed: dict[str, Executed], limit_s: float) -> list[str]:
    """The tests that execute the line, as many as the time allows.

    First come those that go on where few go, since they may see which way was taken, then those
    that do little else. A line outside functions has the tests that execute anything in its file;
    one that no test tells of, such as one inside the sandbox, has those of its room and those that
    execute anything in it, first what executes most.
    """
    line, room = drawn.mistake.line, f"aouo/{drawn.room}/"
    inside = {test: one.lines.get(drawn.file, []) for test, one in executed.items()}
    many = Counter(at for lines in inside.values() for at in lines)
    if drawn.mistake.local:
        found = [test for test, lines in inside.items() if line in lines]
    else:
        found = [test for test, lines in inside.items() if lines]
    tells = _tells(drawn)

    def distance(test: str) -> tuple[int, int]:
        rare = min((many[at] for at in inside[test] if at in tells), default=len(executed))
        return rare, sum(map(len, executed[test].lines.values()))

    def share(test: str) -> int:
        lines = executed[test].lines
        return sum(len(on) for file, on in lines.items() if file.startswith(room))

    near = sorted(found, key=distance)
    if not found:
        own = f"tests/{drawn.room}/"
        found = [test for test in executed if test.startswith(own) or share(test)]
        near = sorted(found, key=share, reverse=True)
    chosen: list[str] = []
    spent_s = 0.0
    for test in near:
        if not chosen or spent_s + executed[test].seconds <= limit_s:
            chosen.append(test)
            spent_s += executed[test].seconds
    return chosen


def _tells(drawn: Drawn) -> set[int]:
    """The lines whose execution says what became of the mistake: where the attribute or the
    constant that it is in is used, else those below it."""
    lines = (ROOT / drawn.file).read_text("utf-8").splitlines()
    line = drawn.mistake.line
    if bound := (_ATTRIBUTE if drawn.mistake.local else _CONSTANT).match(lines[line - 1]):
        uses = {at for at, text in enumerate(lines, 1) if re.search(rf"\b{bound[1]}\b", text)}
        if uses := uses - {line}:
            return uses
    return {*range(line, line + _NEAR + 1)}


def _run(
    tree: Path, drawn: Drawn, tests: list[str], executed: dict[str, Executed]
) -> tuple[str, str]:
    """What came of it, and which test noticed."""
    if not tests:
        return "unseen", "no test executes it"
    source = (ROOT / drawn.file).read_text("utf-8")
    wronged = tree / drawn.file
    wronged.write_text(drawn.mistake.made_in(source), "utf-8")
    limit_s = _LEAST_S + 4 * sum(executed[test].seconds for test in tests)
    try:
        code, said = pytest(tree, "-x", "--tb=no", tests=tests, limit_s=limit_s)
    finally:
        wronged.write_text(source, "utf-8")
    match code:
        case 0:
            return "SURVIVED", f"{len(tests)} tests"
        case 1 | 2:
            return "noticed", next(iter(_FAILED.findall(said)), "")
        case None:
            return "noticed", "the tests did not end"
        case _:
            return "error", said[-300:]


def _report(tally: dict[str, Counter[str]]) -> None:
    whole: Counter[str] = Counter()
    for outcomes in tally.values():
        whole += outcomes
    for name, outcomes in {**tally, "together": whole}.items():
        counted = outcomes.total() - outcomes["error"]
        low, high = _interval(outcomes["noticed"], counted)
        share = outcomes["noticed"] / counted if counted else 0
        said = f"{outcomes['noticed']} of {counted} noticed, {share:.0%} ({low:.0%}-{high:.0%})"
        print(f"{name:>10}: {said}")


def _interval(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's, at 95 %."""
    if not of:
        return 0.0, 1.0
    share = hits / of
    middle = share + z * z / (2 * of)
    around = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - around) / (1 + z * z / of), (middle + around) / (1 + z * z / of)


if __name__ == "__main__":
    main()
