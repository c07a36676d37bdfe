"""The container: its file is linted, and its steps make a program that runs without root and
without writing beside its home. There is no engine on this machine: its steps run as a script.

Source: issue 29, "Running".
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def said(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.*)$", LINES, re.MULTILINE)


def test_the_file_is_linted_and_it_runs_without_root():
    linted = subprocess.run(
        [Path(sys.executable).parent / "hadolint", ROOT / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )
    (service,) = yaml.safe_load((ROOT / "compose.yml").read_text())["services"].values()

    assert linted.returncode == 0, linted.stdout
    assert said("USER") == ["10001"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert f"home:{said('VOLUME')[0]}" in service["volumes"]


def context(target: Path) -> None:
    """Copy what the build is given: all that .dockerignore lets through."""
    rules = (ROOT / ".dockerignore").read_text().split()
    wanted = [rule[1:].partition("/")[0] for rule in rules if rule[0] == "!"]
    for there in ROOT.iterdir():
        if any(fnmatch(there.name, rule) for rule in wanted):
            skip = shutil.ignore_patterns("__pycache__")
            if there.is_dir():
                shutil.copytree(there, target / there.name, ignore=skip)
            else:
                shutil.copy(there, target / there.name)


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_its_steps_make_a_program_that_writes_nothing_but_its_home(tmp_path: Path) -> None:
    target, home = tmp_path / "opt", tmp_path / "home"
    target.mkdir()
    home.mkdir()
    context(target)
    (steps,) = said("RUN")
    made = [step.strip() for step in steps.split("&&")]
    mine = [step for step in made if not step.startswith(("useradd", "install "))]
    shutil.copytree(ROOT / ".venv/.aouo/uv", target / ".venv/.aouo/uv")
    shutil.copy(ROOT / ".venv/.aouo/uv.lock", target / ".venv/.aouo/uv.lock")
    for step in mine:
        subprocess.run(["bash", "-euc", step], cwd=target, check=True, capture_output=True)
    environ = dict(word.split("=", 1) for word in said("ENV")[0].split())
    environ |= {"AOUO_HOME": str(home / "bot"), "PATH": "/usr/bin:/bin", "HOME": str(home)}
    without_root = ("--unshare-user", "--uid", said("USER")[0], "--gid", said("USER")[0])
    read_only = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    read_only += ("--tmpfs", "/tmp", "--ro-bind", str(target), str(target))
    written = ("--bind", str(home), str(home), "--chdir", str(home))
    program = (str(target / ".venv/bin/aouo"), "try", "--no-model", "--say", "hello")
    answers = subprocess.run(
        ["bwrap", *without_root, *read_only, *written, *program],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert len(mine) == len(made) - 2
    assert answers.returncode == 0, answers.stderr
    assert answers.stdout.startswith("Hello, good to see you.")
    (check,) = said("HEALTHCHECK")
    assert json.loads(check[check.index("CMD") + 3 :])[1:] == ["status", "--health"]
