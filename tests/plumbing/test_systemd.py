"""What systemd is told, over a real datagram socket. Source: sd_notify(3), sd_watchdog_enabled(3);
issue 14 ("Events and life")."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from aouo.plumbing.systemd import Systemd
from tests.fakes.clock import START, LeapingClock

WAIT_S = 10.0
NOBODY = "/nowhere/at/all.sock"


@contextmanager
def manager(address: str) -> Generator[socket.socket]:
    """Listen as systemd does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + address[1:] if address[0] == "@" else address)
        heard.settimeout(WAIT_S)
        yield heard


def told(heard: socket.socket) -> list[str]:
    """All that was said so far, one text a message."""
    heard.setblocking(False)
    messages = list[str]()
    try:
        while True:
            messages.append(heard.recv(4096).decode())
    except BlockingIOError:
        return messages


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "path":
        return str(tmp_path / "notify")
    if sys.platform != "linux":
        pytest.skip("abstract sockets are Linux's")
    return f"@aouo-test-{os.getpid()}"


def test_facts_arrive_as_one_message_of_lines(address: str) -> None:
    with manager(address) as heard:
        Systemd({"NOTIFY_SOCKET": address}).tell("READY=1", "STATUS=two\nlines")

        assert told(heard) == ["READY=1\nSTATUS=two lines"]


def test_an_end_is_told_and_a_restart_is_a_reload_to_systemd(address: str) -> None:
    with manager(address) as heard:
        Systemd({"NOTIFY_SOCKET": address}).stopping(restarts=False)
        Systemd({"NOTIFY_SOCKET": address}).stopping(restarts=True)
        end, restart = told(heard)

    assert end.splitlines() == ["STOPPING=1", "STATUS=stopping"]
    reloading, moment = restart.splitlines()
    assert reloading == "RELOADING=1"
    assert moment.removeprefix("MONOTONIC_USEC=").isdigit()


@pytest.mark.parametrize(
    "value", ["", NOBODY, "relative", "vsock:2:1", "/" + "x" * 500, "/nul\0byte", "@"]
)
def test_whatever_the_environment_says_nothing_fails(value: str) -> None:
    Systemd({"NOTIFY_SOCKET": value, "WATCHDOG_USEC": "soon"}).tell("READY=1")


def test_a_manager_that_does_not_read_keeps_nobody_waiting(address: str) -> None:
    with manager(address):
        systemd = Systemd({"NOTIFY_SOCKET": address})
        for _ in range(5000):
            systemd.tell("STATUS=" + "x" * 500)


async def report(
    environ: dict[str, str], *, alive: list[bool], lines: list[str], for_s: float
) -> None:
    """Report for so long; `alive` and `lines` are found look by look, and the last one stays."""
    clock = LeapingClock(START, START + timedelta(seconds=for_s))

    def lives() -> bool:
        return alive.pop(0) if len(alive) > 1 else alive[0]

    async def line() -> str:
        return lines.pop(0) if len(lines) > 1 else lines[0]

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        task = group.create_task(Systemd(environ).report(clock, alive=lives, status=line))
        await clock.over.wait()
        task.cancel()


def watched(address: str, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000000", **more}


async def test_a_sign_of_life_comes_twice_in_the_time_that_systemd_gives(address: str) -> None:
    with manager(address) as heard:
        await report(watched(address), alive=[True], lines=["well"], for_s=45)
        messages = told(heard)

    assert messages == ["READY=1\nSTATUS=well", *["WATCHDOG=1"] * 4]


async def test_who_does_not_live_gives_no_sign_of_life(address: str) -> None:
    """Then systemd ends the process, and starts it again."""
    with manager(address) as heard:
        await report(watched(address), alive=[True, False], lines=["well"], for_s=45)
        messages = told(heard)

    assert messages.count("WATCHDOG=1") == 1


async def test_a_state_is_told_when_it_changes(address: str) -> None:
    with manager(address) as heard:
        lines = ["well", "well", "Telegram is gone", "Telegram is gone"]
        await report({"NOTIFY_SOCKET": address}, alive=[True], lines=lines, for_s=125)
        messages = told(heard)

    assert messages == ["READY=1\nSTATUS=well", "STATUS=Telegram is gone"]


@pytest.mark.parametrize(
    "more", [{"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "-5"}]
)
async def test_a_watchdog_of_somebody_else_gets_nothing_of_us(
    address: str, more: dict[str, str]
) -> None:
    with manager(address) as heard:
        await report(watched(address, **more), alive=[True], lines=["well"], for_s=45)
        messages = told(heard)

    assert messages == ["READY=1\nSTATUS=well"]
