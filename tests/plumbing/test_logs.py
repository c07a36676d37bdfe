"""The log: one fact a line, in a file and on stderr, secrets taken out at the root."""

from __future__ import annotations

import io
import json
import logging
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.log_reading import Spot, newer, older
from aouo.plumbing.logs import Level, LogFile, Logs, get_logger
from aouo.plumbing.redact import Redactor

SECRET = "correct-horse-battery"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(
    act: Callable[[], object], *, level: Level = "info", file: Path | None = None
) -> list[dict[str, Any]]:
    out = io.StringIO()
    with Logs(
        level=level,
        file=file,
        redactor=Redactor([SECRET]),
        stderr=out,
        now=lambda: 1_700_000_000.25,
    ):
        act()
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_fact_is_one_json_line_with_its_fields_in_order():
    def act() -> None:
        get_logger().info("turn_done", turn_id="t_1", duration_ms=12, pack=None)

    (line,) = written(act)

    assert list(line.items()) == [
        ("event", "turn_done"),
        ("level", "info"),
        ("timestamp", "2023-11-14T22:13:20.250Z"),
        ("turn_id", "t_1"),
        ("duration_ms", 12),
        ("pack", None),
    ]


def test_the_file_holds_the_same_lines_as_stderr_for_the_owner_alone(tmp_path: Path):
    file = tmp_path / "logs" / "aouo.log"

    lines = written(lambda: get_logger().warning("delivery_refused", chat="7"), file=file)

    assert [json.loads(line) for line in file.read_text().splitlines()] == lines
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_terminal_reads_short_lines():
    out = Terminal()
    with Logs(stderr=out):
        get_logger().info("turn_done", pack="notes", duration_ms=12)

    _, _, rest = out.getvalue().partition(" ")
    assert rest == "info    turn_done pack=notes duration_ms=12\n"


def test_no_secret_is_written_wherever_it_hides(tmp_path: Path):
    class Odd:
        def __repr__(self) -> str:
            return f"<Odd {SECRET}>"

    def act() -> None:
        log = get_logger().bind(bound=[SECRET])
        log.info("a", text=f"x {SECRET} y", nested={"k": ({SECRET: 1},)}, odd=Odd())
        try:
            raise ValueError(SECRET)
        except ValueError:
            log.exception("b")
        logging.getLogger("somewhere").warning("look: %s", SECRET)

    lines = written(act, file=tmp_path / "aouo.log")

    assert [line["event"] for line in lines] == ["a", "b", "library_message"]
    assert SECRET not in json.dumps(lines)
    assert SECRET not in (tmp_path / "aouo.log").read_text()
    assert "ValueError: [redacted]" in lines[1]["exception"]


@pytest.mark.parametrize(
    ("level", "events"),
    [("debug", ["d", "w", "e"]), ("info", ["w", "e"]), ("error", ["e"])],
)
def test_the_level_decides_what_is_written(level: Level, events: list[str]):
    def act() -> None:
        get_logger().debug("d")
        get_logger().warning("w")
        get_logger().error("e")

    assert [line["event"] for line in written(act, level=level)] == events


def test_libraries_are_heard_from_warning_on():
    def act() -> None:
        logging.getLogger("lib").info("chatter")
        logging.getLogger("lib").error("it broke: %d", 7)

    (line,) = written(act)

    assert (line["event"], line["level"]) == ("library_message", "error")
    assert (line["logger"], line["message"]) == ("lib", "it broke: 7")


def test_a_reload_brings_another_level_and_other_secrets_to_loggers_that_exist():
    out = io.StringIO()
    log = get_logger()
    with Logs(level="error", stderr=out) as logs:
        log.info("unheard")
        logs.adopt("info", Redactor([SECRET]))
        log.info("heard", text=SECRET)

    assert [json.loads(line)["text"] for line in out.getvalue().splitlines()] == ["[redacted]"]


def test_before_and_after_the_log_is_open_only_warnings_are_written(
    capsys: pytest.CaptureFixture[str],
):
    structlog.reset_defaults()  # whatever another test made of it
    log = get_logger()
    log.info("quiet")
    with Logs(stderr=io.StringIO()):
        pass
    log.info("quiet")
    log.warning("loud")

    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("loud") == 1
    assert "quiet" not in err


def test_an_urgent_line_is_in_the_file_at_once_and_others_soon(tmp_path: Path):
    file = LogFile(tmp_path / "log")
    try:
        file.write("soon")
        before = (tmp_path / "log").read_text()
        file.write("now", urgent=True)

        assert before == ""
        assert (tmp_path / "log").read_text() == "soon\nnow\n"
    finally:
        file.close()


def test_a_line_nobody_calls_urgent_is_written_within_half_a_second(tmp_path: Path):
    file = LogFile(tmp_path / "log")
    try:
        file.write("soon")
        for _ in range(300):
            if (tmp_path / "log").read_text():
                break
            threading.Event().wait(0.01)

        assert (tmp_path / "log").read_text() == "soon\n"
    finally:
        file.close()


def test_a_full_file_is_renamed_and_five_are_kept(tmp_path: Path):
    file = LogFile(tmp_path / "log", max_bytes=10)
    for number in range(8):
        file.write(f"line {number:03}", urgent=True)
    file.close()

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "log": "line 007\n",
        "log.1": "line 006\n",
        "log.2": "line 005\n",
        "log.3": "line 004\n",
        "log.4": "line 003\n",
    }


def test_lines_of_many_threads_stay_whole(tmp_path: Path):
    file = LogFile(tmp_path / "log", max_bytes=2_000)
    threads = [
        threading.Thread(target=lambda: [file.write("x" * 50) for _ in range(20)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.close()

    lines = [line for part in tmp_path.iterdir() for line in part.read_text().splitlines()]
    assert lines == ["x" * 50] * 80


def test_a_closed_log_file_drops_lines_and_can_be_closed_again(tmp_path: Path):
    file = LogFile(tmp_path / "log")
    file.close()

    file.write("late", urgent=True)
    file.close()

    assert (tmp_path / "log").read_text() == ""


# Reading the log in pieces leaves out nothing and shows nothing twice, wherever it was rotated


LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=3_000)
STEPS = st.lists(st.one_of(LINE, st.just("\n")), max_size=25)
"""Lines, and "\\n" for a rotation."""


def play(log: Path, steps: list[str]) -> None:
    files = 20
    for step in steps:
        if step == "\n":
            for number in range(files, 0, -1):
                newest = Path(f"{log}.{number - 1}") if number > 1 else log
                if newest.exists():
                    newest.rename(f"{log}.{number}")
            log.touch()
        else:
            with log.open("ab") as file:
                file.write(f"{step}\n".encode())


@given(steps=STEPS, most=st.integers(1, 5))
def test_reading_back_and_reading_on_find_every_line_once(steps: list[str], most: int) -> None:
    rotations = steps.count("\n")
    steps = steps if rotations <= 4 else [step for step in steps if step != "\n"]
    written = [step for step in steps if step != "\n"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "aouo.log")
        log.touch()
        begin = older(log, None, lambda _: True, 1).after
        followed, at = list[str](), begin
        for step in steps:
            play(log, [step])
            while at and (piece := newer(log, at, lambda _: True, most)).lines:
                followed += [line.text for line in piece.lines]
                at = piece.after
        back, spot = list[str](), None
        while piece := older(log, spot, lambda _: True, most):
            back[:0] = [line.text for line in piece.lines]
            spot = piece.before
            if spot is None:
                break

    assert followed == written
    assert back == written


@given(inode=st.integers(0, 2**63), offset=st.integers(0, 10**14), mark=st.integers(0, 2**32 - 1))
def test_a_spot_is_read_as_it_was_written(inode: int, offset: int, mark: int) -> None:
    spot = Spot(inode, offset, mark)

    assert Spot.read(str(spot)) == spot
