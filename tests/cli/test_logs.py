"""`aouo logs`: the last lines, and with -f those to come, across the file's renaming."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.cli.trace import _readable
from aouo.plumbing.home import Home

ROOT = Path(__file__).parents[2]


def test_no_log_yet_is_said_on_stderr(runner: CliRunner, home: Home):
    result = runner.invoke(aouo, ["logs"])

    assert (result.exit_code, result.stdout) == (0, "")
    assert str(home.log_file) in result.stderr


def test_the_last_lines_are_shown_also_from_the_file_before(runner: CliRunner, home: Home):
    home.create()
    home.log_file.with_name("aouo.log.1").write_text('{"n": 1}\n{"n": 2}\n')
    home.log_file.write_text('{"n": 3}\n')

    assert runner.invoke(aouo, ["logs", "-n", "2"]).stdout == '{"n": 2}\n{"n": 3}\n'


def test_following_goes_on_after_the_file_was_renamed(home: Home):
    home.create()
    home.log_file.write_text("first\n")
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "aouo", "logs", "-f", "--home", str(home.path)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    ) as follower:
        assert follower.stdout is not None
        bound = threading.Timer(20, follower.kill)
        bound.start()
        seen = [follower.stdout.readline()]
        with home.log_file.open("a") as log:
            log.write("second\n")
        home.log_file.rename(home.log_file.with_name("aouo.log.1"))
        home.log_file.write_text("third\n")
        seen += [follower.stdout.readline(), follower.stdout.readline()]
        bound.cancel()
        follower.kill()

    assert seen == ["first\n", "second\n", "third\n"]


def test_a_line_is_made_readable():
    line = json.dumps(
        {"event": "turn_done", "level": "info", "timestamp": "T", "pack": "notes", "exception": "E"}
    )

    assert _readable(line) == "T info    turn_done pack=notes\nE"
    assert _readable("no json") == "no json"
