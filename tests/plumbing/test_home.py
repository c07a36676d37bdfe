"""The home: made once for the owner's eyes, and worked on by one process at a time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from aouo.facts.errors import SetupError
from aouo.plumbing.home import (
    RULES,
    SOUL,
    Home,
    home_path,
    is_locked,
    reachable,
    running_pid,
    write_atomically,
)


def test_a_home_is_made_for_its_owner_alone(tmp_path: Path):
    home = Home(tmp_path / "deep" / "home")

    home.create()

    assert home.path.stat().st_mode & 0o777 == 0o700
    assert all(
        folder.stat().st_mode & 0o777 == 0o700
        for folder in (home.packs, home.skills, home.store, home.pack_data, home.media, home.run)
    )
    assert home.soul.read_text() == SOUL
    assert home.rules.stat().st_mode & 0o777 == 0o600


def test_making_a_home_again_changes_nothing(tmp_path: Path):
    home = Home(tmp_path)
    home.create()
    home.soul.write_text("mine")

    made = home.create()

    assert made == ()
    assert home.soul.read_text() == "mine"


def test_a_home_that_others_can_read_is_closed(tmp_path: Path):
    tmp_path.chmod(0o755)

    Home(tmp_path).create()

    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_home_that_cannot_be_made_says_what_to_do(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(SetupError, match="--home"):
        Home(tmp_path / "file" / "home").create()


def test_the_default_texts_are_short_since_they_enter_every_prompt():
    assert len(SOUL.encode()) <= 600
    assert len(RULES.encode()) <= 600


@pytest.mark.parametrize(
    ("option", "environ", "path"),
    [
        ("/a", {"AOUO_HOME": "/b", "HOME": "/h"}, "/a"),
        (None, {"AOUO_HOME": "/b", "HOME": "/h"}, "/b"),
        (None, {"HOME": "/h"}, "/h/.aouo"),
        ("~/x", {"HOME": "/h"}, "/h/x"),
        ("", {"AOUO_HOME": "", "HOME": "/h"}, "/h/.aouo"),
    ],
)
def test_the_option_comes_before_the_environment(
    option: str | None, environ: dict[str, str], path: str
):
    assert home_path(option, environ) == Path(path)


def test_a_locked_home_refuses_a_second_owner_and_names_the_first(tmp_path: Path):
    home = Home(tmp_path)
    with home.lock():
        assert is_locked(home)
        assert running_pid(home) == os.getpid()

        with pytest.raises(SetupError, match=f"pid {os.getpid()}") as caught, home.lock():
            pass

    assert caught.value.exit_code == 4
    assert not is_locked(home)
    assert running_pid(home) == 0


def test_a_lock_ends_with_its_process_even_when_killed(tmp_path: Path):
    home = Home(tmp_path)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from aouo.plumbing.home import Home\n"
            "with Home(Path(sys.argv[1])).lock(): print('held', flush=True); input()",
            str(tmp_path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        held = is_locked(home)
        holder.kill()

    assert held
    with home.lock():
        assert running_pid(home) == os.getpid()


def test_writing_replaces_a_file_in_one_step_and_leaves_no_draft(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text("old")

    write_atomically(file, "new")

    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_socket_below_a_long_path_can_be_reached(tmp_path: Path):
    """Linux takes 108 bytes for the path of a socket."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    path = folder / "control.sock"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with reachable(path) as address:
            server.bind(address)
        server.listen()
        with reachable(path) as address:
            client.connect(address)

    assert path.exists()
