"""The wheel alone tries, sets up and starts: it holds its packs, pages and tables.

Source: issue 29, "Running".
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`aouo` as the wheel installs it, beside the packages of this check."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    uv = ROOT / ".venv/.aouo/uv/bin/uv"
    quietly = ("--offline", "--no-deps", "--quiet", "--python", str(python))
    subprocess.run([uv, "pip", "install", *quietly, str(wheel)], check=True)
    (packages,) = folder.glob("env/lib/python*/site-packages")
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "env/bin/aouo"


def run(program: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    alone = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [str(program), *words]
    return subprocess.run(
        command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=120
    )


def test_it_tries_makes_a_home_and_installs_what_comes_along(program: Path, tmp_path: Path) -> None:
    said = run(program, tmp_path, "try", "--no-model", "--say", "hello")
    made = run(program, tmp_path, "init", "--yes")
    installed = run(program, tmp_path, "pack", "install", "notes", "--yes")
    doctor = run(program, tmp_path, "doctor", "--fast")
    update = run(program, tmp_path, "update", "--offline", "--json")

    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Hello, good to see you.")
    assert made.returncode == 0, made.stderr
    assert installed.returncode == 0, installed.stderr
    assert "ok   packs: notes" in doctor.stdout
    assert str(ROOT / "aouo") not in said.stderr + doctor.stdout
    assert '"wheel"' in update.stdout
