"""`aouo update` asks the clone's remote, changes nothing, and names one line that does.

Source: issue 29, "Running".
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import aouo

_ME = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    command = ("git", *_ME, *words)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_it_tells_what_the_remote_has_and_changes_nothing(tmp_path: Path) -> None:
    remote, clone, other = (tmp_path / name for name in ("remote", "clone", "other"))
    remote.mkdir()
    git(remote, "init", "--bare", "--quiet")
    git(tmp_path, "clone", "--quiet", str(remote), str(clone))
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(aouo.__file__).parent, clone / "aouo", ignore=skip)

    def update(*words: str) -> subprocess.CompletedProcess[str]:
        home = tmp_path / "home"
        return subprocess.run(
            [sys.executable, "-m", "aouo", "--home", str(home), "update", *words],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )

    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "What is here")
    git(clone, "push", "--quiet", "-u", "origin", "HEAD")
    nothing = update()
    git(tmp_path, "clone", "--quiet", str(remote), str(other))
    (other / "new").write_text("new")
    git(other, "add", ".")
    git(other, "commit", "--quiet", "-m", "Add what is new")
    git(other, "push", "--quiet")
    before = git(clone, "rev-parse", "HEAD")
    new, facts = update(), update("--json")
    shutil.rmtree(remote)
    gone = update()

    assert nothing.stdout.endswith("There is nothing new.\n"), nothing.stderr
    assert "Add what is new" in new.stdout
    assert "backup" in new.stdout
    assert "pull --ff-only" in new.stdout
    assert json.loads(facts.stdout)["installed"] == "clone"
    assert git(clone, "rev-parse", "HEAD") == before
    assert gone.returncode == 1
    assert "fetch" in gone.stderr
    assert "Traceback" not in gone.stderr
