"""`aouo service`: a unit that systemd takes, for any home, and nobody else's is touched.

Source: issue 29, "Running" and "Bad input".
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home

_FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
  *is-system-running*) echo "${STATE-running}" ;;
  *Linger*) echo no ;;
  *restart*) [ -z "$FAILS" ] || { echo "Job failed." >&2; exit 1; } ;;
esac
"""
"""systemctl(1) and loginctl(1) as far as they are asked; `offline` is what systemctl says in a
container."""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs, log = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    for name in ("systemctl", "loginctl", "journalctl"):
        (programs / name).write_text(_FAKE)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(log))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return log


def unit(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "config/systemd/user").glob("*.service")
    return found


def ready(home: Home) -> None:
    home.create()
    token = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
    home.config.write_text(json.dumps({"telegram": {"bot_token": token}}))


def test_it_is_installed_told_about_and_removed(
    runner: CliRunner, home: Home, calls: Path, tmp_path: Path
):
    ready(home)
    without = runner.invoke(aouo, ["service", "status"])
    installed = runner.invoke(aouo, ["service", "install"])
    text = unit(tmp_path).read_text()
    again = runner.invoke(aouo, ["service", "install"])
    runner.invoke(aouo, ["service", "uninstall"])

    assert without.exit_code == 1
    assert "service install" in without.stderr
    assert installed.exit_code == 0, installed.output
    assert "loginctl enable-linger" in installed.output
    assert f'"{home.path}" "start"' in text
    assert again.exit_code == 0
    assert not list((tmp_path / "config/systemd/user").iterdir())
    said = calls.read_text()
    assert said.index("daemon-reload") < said.index("enable") < said.index("restart")
    assert "disable --now" in said
    assert home.config.exists()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_takes_the_unit_of_any_home(
    runner: CliRunner, calls: Path, tmp_path: Path, home: Home
):
    odd = Home(tmp_path / 'my 100% $HOME "bot" \\ ü')
    ready(odd)
    done = runner.invoke(aouo, ["--home", str(odd.path), "service", "install"])
    assert done.exit_code == 0, done.output
    verify = ("systemd-analyze", "--user", "verify", str(unit(tmp_path)))
    mine = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    told = subprocess.run(verify, capture_output=True, text=True, check=False, env=mine)

    assert told.returncode == 0, told.stderr
    assert not told.stderr


def test_what_stands_in_its_way_is_said_and_nothing_is_written(
    runner: CliRunner,
    home: Home,
    calls: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    home.create()
    unready = runner.invoke(aouo, ["service", "install"])
    ready(home)
    with home.lock():
        runs = runner.invoke(aouo, ["service", "install"])
    monkeypatch.setenv("STATE", "offline")
    without = runner.invoke(aouo, ["service", "install"])
    monkeypatch.setenv("STATE", "running")
    monkeypatch.setenv("FAILS", "1")
    failed = runner.invoke(aouo, ["service", "install"])
    unit(tmp_path).write_text("[Unit]\n")
    others = runner.invoke(aouo, ["service", "install"])

    assert "There is no bot token." in unready.stderr
    assert "runs already" in runs.stderr
    assert "no systemd" in without.stderr
    assert "Job failed" in failed.stderr
    assert "not of aouo" in others.stderr
    assert unit(tmp_path).read_text() == "[Unit]\n"
    assert {one.exit_code for one in (unready, runs, without, failed, others)} == {3}
