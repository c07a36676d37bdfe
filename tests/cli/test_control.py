"""Verbs that talk to the running bot, against a bot that is played by a real socket and lock."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.cli.status import _duration
from aouo.plumbing import client
from aouo.plumbing.client import NoAnswer, NotRunning, answers, ask
from aouo.plumbing.home import Home, is_locked, reachable

Handle: TypeAlias = Callable[[dict[str, Any]], list[dict[str, Any]]]
ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def bot(home: Home, handle: Handle) -> Generator[list[dict[str, Any]]]:
    """Answer requests on the home's socket; yields the list of what was asked."""
    home.create()
    asked: list[dict[str, Any]] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as lines:
                if request := lines.readline():
                    asked.append(json.loads(request))
                    for answer in handle(asked[-1]):
                        lines.write(json.dumps(answer).encode() + b"\n")

    with socket.socket(socket.AF_UNIX) as server:
        with reachable(home.control_socket) as address:
            server.bind(address)
        server.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            home.control_socket.unlink()


FACTS = {
    "pid": 4711,
    "since": "2026-11-21T10:00:00Z",
    "uptime_s": 11000.5,
    "telegram": {"state": "polling", "bot": "@my_bot", "last_poll_s": 3.2},
    "model": {"provider": "local", "model": "SmolLM2", "note": "for trying"},
    "models": [{"model": "SmolLM2", "window_tokens": 131_072, "sees": True}],
    "packs": ["notes", "vocab"],
    "broken_packs": {"odd": ["pack.yml:1: no name", "pack.yml:2: no version"]},
    "broken_commands": ["commands/a.md:2: type: must be agent, pipeline or local", "b.md: x"],
    "mcp": {
        "mcp:hub": {"state": "up", "tools": 8, "why": ""},
        "mcp:far": {"state": "down", "tools": 0, "why": "it ended"},
        "mcp:new": {"state": "not connected", "tools": 0, "why": ""},
    },
    "lanes": {"running": 1, "waiting": 0},
    "config": {"from_last_good": True, "problems": ["log.levell: unknown key"]},
}


def test_status_says_what_the_bot_says(runner: CliRunner, home: Home):
    def handle(request: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"ok": True, **(FACTS if request["verb"] == "status" else {"unread": {}})}]

    with bot(home, handle) as asked:
        result = runner.invoke(aouo, ["status"])
        as_json = runner.invoke(aouo, ["status", "--json"])

    assert asked == [{"verb": "status"}, {"verb": "pack_unread"}] * 2
    assert json.loads(as_json.stdout) == {"running": True, **FACTS, "unread_packs": {}}
    assert result.stdout.splitlines() == [
        "aouo is running: pid 4711, since 2026-11-21T10:00:00Z, up 3 h 3 min",
        "  telegram   state polling, bot @my_bot, last poll 3 s ago",
        "  model      provider local, model SmolLM2, note for trying",
        "  models     model SmolLM2, window tokens 131,072, sees yes",
        "  packs      notes, vocab",
        "  broken packs odd: pack.yml:1: no name",
        "             odd: pack.yml:2: no version",
        "  broken commands commands/a.md:2: type: must be agent, pipeline or local",
        "             b.md: x",
        "  mcp        hub: up, 8 tools; far: down, it ended; new: not connected",
        "  lanes      running 1, waiting 0",
        "  config     BROKEN, the last good one is in force: log.levell: unknown key",
    ]


def test_a_time_in_seconds_is_shown_as_a_date(runner: CliRunner, home: Home):
    with bot(home, lambda _: [{"ok": True, "pid": 1, "since": 1_700_000_000.5, "uptime_s": 1}]):
        result = runner.invoke(aouo, ["status"])

    assert result.stdout.startswith("aouo is running: pid 1, since 2023-11-1")


HEALTH = {
    "ok": True,
    "reasons": [],
    "last_poll_s": 12.3,
    "jobs": {"ready": 2, "running": 1, "parked": 0},
    "oldest_waiting_s": 4.5,
    "lanes": 1,
}


def test_health_is_an_exit_code_and_what_it_was_judged_by(runner: CliRunner, home: Home):
    ill = {**HEALTH, "ok": False, "reasons": ["The task that asks Telegram hangs."]}
    with bot(home, lambda _: [{"ok": True, "health": HEALTH}]) as asked:
        well, as_json = (
            runner.invoke(aouo, ["status", "--health", *more]) for more in ([], ["--json"])
        )
    with bot(home, lambda _: [{"ok": True, "health": ill}]):
        bad, bad_json = (
            runner.invoke(aouo, ["status", "--health", *more]) for more in ([], ["--json"])
        )

    assert asked == [{"verb": "health"}] * 2
    assert [one.exit_code for one in (well, as_json, bad, bad_json)] == [0, 0, 1, 1]
    assert (json.loads(as_json.stdout), json.loads(bad_json.stdout)) == (HEALTH, ill)
    assert well.stdout.splitlines() == [
        "aouo is well",
        "  last poll  12 s ago",
        "  jobs       ready 2, running 1, parked 0",
        "  oldest waiting 4.5 s",
        "  lanes      1",
    ]
    assert bad.stdout.splitlines()[:2] == [
        "aouo is not well",
        "  reasons    The task that asks Telegram hangs.",
    ]


def test_health_without_a_bot_is_exit_1(runner: CliRunner, home: Home):
    assert runner.invoke(aouo, ["status", "--health"]).exit_code == 1


def test_status_without_a_bot_is_exit_1_and_one_line(runner: CliRunner, home: Home):
    result = runner.invoke(aouo, ["status"])
    as_json = runner.invoke(aouo, ["status", "--json"])

    assert (result.exit_code, as_json.exit_code) == (1, 1)
    assert result.stderr == f"aouo is not running at {home.path}. Start it with `aouo start`.\n"
    assert not json.loads(as_json.stdout)["running"]


def test_status_of_a_bot_that_only_begins_says_so(runner: CliRunner, home: Home):
    with home.lock():
        result = runner.invoke(aouo, ["status"])

    assert result.exit_code == 1
    assert "does not answer (yet)" in result.stderr


def test_a_bot_that_has_the_lock_and_does_not_listen_yet_is_waited_for(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch
):
    """It begins to listen when it has been looked for once, and not found."""
    looked: list[Home] = []

    def locked(there: Home) -> bool:
        looked.append(there)
        if len(looked) == 1:
            begun.enter_context(bot(home, lambda _: [{"ok": True, **FACTS}]))
        return True

    monkeypatch.setattr(client, "_BEGINS_S", 60.0)
    monkeypatch.setattr(client, "is_locked", locked)
    with contextlib.ExitStack() as begun:
        assert ask(home, "status")["pid"] == FACTS["pid"]
        assert looked


def test_a_terminal_says_that_a_bot_does_not_listen(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "_BEGINS_S", 0.1)
    with home.lock():
        result = runner.invoke(aouo, ["chat"])

    assert result.exit_code == 3
    assert "The running bot does not answer. Try again in a moment." in result.stderr


def test_who_ends_before_it_listens_is_not_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "_BEGINS_S", 1e9)
    with home.lock():
        pass

    with pytest.raises(NotRunning):
        ask(home, "status")


def test_a_socket_that_nobody_serves_counts_as_not_running(home: Home):
    home.create()
    with socket.socket(socket.AF_UNIX) as server, reachable(home.control_socket) as address:
        server.bind(address)

    with pytest.raises(NotRunning):
        ask(home, "status")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([{"ok": False, "error": "No such verb.", "fix": "Update."}], "No such verb. Update."),
        ([], "closed the connection"),
        ([[]], "something else"),
    ],
)
def test_a_refusal_and_a_broken_answer_are_errors(home: Home, said: list[Any], words: str):
    with bot(home, lambda _: said), pytest.raises(NoAnswer, match=words):
        ask(home, "reload")


def test_a_bot_that_is_silent_is_not_waited_for_forever(home: Home):
    silence = threading.Event()

    def never(_: dict[str, Any]) -> list[dict[str, Any]]:
        silence.wait(5)
        return []

    with bot(home, never):
        with pytest.raises(NoAnswer, match="did not answer within"):
            ask(home, "status", timeout_s=0.05)
        silence.set()


async def test_a_stream_ends_when_it_is_done(home: Home):
    lines = [{"n": 1}, {"ok": True, "n": 2}, {"done": True}, {"n": 3}]
    with bot(home, lambda _: lines) as asked:
        found = [answer async for answer in answers(home, "chat", pack="notes")]

    assert found == [{"n": 1}, {"n": 2}]
    assert asked == [{"verb": "chat", "pack": "notes"}]


def test_stop_without_a_bot_has_nothing_to_do(runner: CliRunner, home: Home):
    result = runner.invoke(aouo, ["stop"])

    assert (result.exit_code, result.stdout) == (0, f"aouo is not running at {home.path}.\n")


def test_stop_asks_and_waits_until_the_home_is_free(runner: CliRunner, home: Home):
    lock = ExitStack()
    lock.enter_context(home.lock())

    def close(_: dict[str, Any]) -> list[dict[str, Any]]:
        threading.Timer(0.1, lock.close).start()
        return [{"ok": True}]

    with bot(home, close) as asked:
        result = runner.invoke(aouo, ["stop", "--timeout", "5"])

    assert (result.exit_code, result.stdout) == (0, "Stopped.\n")
    assert asked == [{"verb": "stop"}]
    assert not is_locked(home)


def test_a_bot_without_a_socket_is_ended_by_a_signal(runner: CliRunner, home: Home):
    program = (
        "import sys; from pathlib import Path; from aouo.plumbing.home import Home\n"
        "with Home(Path(sys.argv[1])).lock(): print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        result = runner.invoke(aouo, ["stop", "--timeout", "5"])

    assert result.exit_code == 0
    assert holder.returncode == -signal.SIGTERM


def test_a_bot_that_will_not_end_is_exit_1(runner: CliRunner, home: Home):
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with home.lock():
            result = runner.invoke(aouo, ["stop", "--timeout", "0.1"])
    finally:
        signal.signal(signal.SIGTERM, previous)

    assert result.exit_code == 1
    assert "still runs" in result.stderr


def test_restart_waits_for_the_bot_to_come_back(runner: CliRunner, home: Home):
    since = ["first", "first", "second"]

    def handle(request: dict[str, Any]) -> list[dict[str, Any]]:
        if request["verb"] == "restart":
            return [{"ok": True}]
        return [{"ok": True, "pid": 7, "since": since.pop(0)}]

    with bot(home, handle) as asked:
        result = runner.invoke(aouo, ["restart", "--timeout", "5"])

    assert (result.exit_code, result.stdout) == (0, "Restarted: pid 7.\n")
    assert [request["verb"] for request in asked] == ["status", "restart", "status", "status"]


def test_restart_without_a_bot_is_exit_1(runner: CliRunner):
    assert runner.invoke(aouo, ["restart"]).exit_code == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5.9, "5 s"), (65, "1 min 5 s"), (7320, "2 h 2 min"), (180_000, "2 d 2 h")],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, text: str):
    assert _duration(seconds) == text
