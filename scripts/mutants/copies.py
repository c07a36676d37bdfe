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
from dataclasses import dataclass, field
from pathlib import Path

from scripts.mutants.probe import HITS, probed

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aouo-mutants"
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")


@dataclass(frozen=True, slots=True)
class Executed:
    """What a test took and executed."""

    seconds: float
    lines: dict[str, list[int]] = field(default_factory=dict)


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


def recorded(places: list[str], *, workers: int, minutes: float) -> dict[str, Executed]:
    """What each passing test below `places` executes; only what changed is run again.

    A change in `aouo/` makes all of it new, a change in a test file that file alone.
    """
    kept = CACHE / _digest(*sorted((ROOT / "aouo").rglob("*.py")))
    kept.mkdir(parents=True, exist_ok=True)
    files = {file: kept / f"{_digest(file)}.json" for file in _test_files(places)}
    missing = [file for file, record in files.items() if not record.exists()]
    if missing:
        tests = _record(missing, workers=workers, minutes=minutes)
        for file in missing:
            name = file.relative_to(ROOT).as_posix()
            found = {test: one for test, one in tests.items() if test.startswith(f"{name}::")}
            if found:
                written = {test: [one.seconds, one.lines] for test, one in found.items()}
                files[file].write_text(json.dumps(written), "utf-8")
    return {
        test: Executed(seconds, lines)
        for record in files.values() if record.exists()
        for test, (seconds, lines) in json.loads(record.read_text("utf-8")).items()
    }  # fmt: skip


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


def _record(files: list[Path], *, workers: int, minutes: float) -> dict[str, Executed]:
    tree = copied(CACHE / "probed")
    hits = tree / HITS.name
    hits.mkdir()
    for file in (tree / "aouo").rglob("*.py"):
        name = file.relative_to(tree).as_posix()
        file.write_text(probed(file.read_text("utf-8"), name), "utf-8")
    print(f"recording what {len(files)} files of tests execute", flush=True)
    names = [file.relative_to(ROOT).as_posix() for file in files]
    options = ("-p", "scripts.mutants.probe", "-n", str(workers), "--dist", "loadfile")
    pytest(tree, *options, tests=names, limit_s=minutes * 60)
    return _told(hits)


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


def _test_files(places: list[str]) -> list[Path]:
    found: set[Path] = set()
    for place in places:
        path = ROOT / place
        found |= {path} if path.is_file() else set(path.rglob("test_*.py"))
    return sorted(file for file in found if "sample_packs" not in file.parts)


def _digest(*files: Path) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return whole.hexdigest()[:16]
