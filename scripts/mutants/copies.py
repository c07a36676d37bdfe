"""Copies of the tree, outside it: one tells which test executes which line, one is wronged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from scripts.mutants.probe import HITS, probed

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aouo-mutants"
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none")


class Executed(NamedTuple):
    """How long a test took, and the lines it executed of each file."""

    seconds: float
    lines: dict[str, list[int]]


def copied(to: Path) -> Path:
    """A copy of what git knows or would add, with an environment in which it is `aouo`."""
    shutil.rmtree(to, ignore_errors=True)
    listed = subprocess.run(
        ("git", "ls-files", "-co", "--exclude-standard", "-z"),
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", to / ".venv"), check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = to / ".venv" / "lib" / version / "site-packages"
    (packages / "tree.pth").write_text(f"{to}\n{sysconfig.get_path('purelib')}\n", "utf-8")
    return to


def recorded(names: list[str], *, workers: int, minutes: float) -> dict[str, Executed]:
    """What each passing test of these files executes; only what changed is run again.

    A change in `aouo/` makes all of it new, a change in a test file that file alone. What did not
    end within `minutes` is run the next time.
    """
    kept = CACHE / _digest(*sorted((ROOT / "aouo").rglob("*.py")))
    kept.mkdir(parents=True, exist_ok=True)
    records = {name: kept / f"{_digest(ROOT / name)}.json" for name in names}
    missing = [name for name, record in records.items() if not record.exists()]
    tests, ended = _record(missing, workers=workers, minutes=minutes) if missing else ({}, True)
    for name in missing:
        found = {test: one for test, one in tests.items() if test.startswith(f"{name}::")}
        if found or ended:
            records[name].write_text(json.dumps(found), "utf-8")
    kept_tests = [json.loads(one.read_text("utf-8")) for one in records.values() if one.exists()]
    return {test: Executed(*one) for tests in kept_tests for test, one in tests.items()}


def pytest(tree: Path, *arguments: str, tests: list[str], limit_s: float) -> tuple[int | None, str]:
    """Run tests in a copy: pytest's exit code, or None when they did not end; what it printed."""
    listed = tree / ".tests"
    listed.write_text("\n".join(tests), "utf-8")
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    process = subprocess.Popen(
        (tree / ".venv/bin/python", *_PYTEST, f"--basetemp={tree}/.tmp", *arguments, f"@{listed}"),
        cwd=tree, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=limit_s)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        _kill(process.pid)
        process.wait()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _record(names: list[str], *, workers: int, minutes: float) -> tuple[dict[str, Executed], bool]:
    """What they execute, and whether all of them came to their end."""
    tree = copied(CACHE / "probed")
    hits = tree / HITS.name
    hits.mkdir()
    for file in (tree / "aouo").rglob("*.py"):
        name = file.relative_to(tree).as_posix()
        file.write_text(probed(file.read_text("utf-8"), name), "utf-8")
    print(f"recording what {len(names)} files of tests execute", flush=True)
    options = ("-p", "scripts.mutants.probe", "-n", str(workers), "--dist", "loadfile")
    code, _ = pytest(tree, *options, tests=names, limit_s=minutes * 60)
    return _told(hits), code is not None


def _told(hits: Path) -> dict[str, Executed]:
    lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    took: dict[str, float] = {}
    for file in hits.iterdir():
        test = ""
        for said in file.read_text("utf-8").splitlines():
            match said.split("\t"):
                case ["test", test]:
                    pass
                case ["hit", name, line]:
                    lines[test][name].add(int(line))
                case ["done", done, seconds, "passed"]:
                    took[done] = float(seconds)
                case _:
                    pass
    return {
        test: Executed(seconds, {name: sorted(on) for name, on in lines[test].items()})
        for test, seconds in took.items()
    }


def _digest(*files: Path) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return whole.hexdigest()[:16]
