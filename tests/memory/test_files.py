"""USER.md and MEMORY.md: small, whole, and written once however often a call is repeated."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.memory.files import _MAX_BYTES, MemoryFiles

TEMPLATES = {"USER.md": "# About you\n\n(empty)\n", "MEMORY.md": "# Themes\n"}


@pytest.fixture
def files(tmp_path: Path) -> MemoryFiles:
    return MemoryFiles(tmp_path / "notes", TEMPLATES)


def on_disk(files: MemoryFiles, name: str) -> str:
    return (files._folder / name).read_text(encoding="utf-8")


def test_until_something_changes_the_templates_are_read_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    files = MemoryFiles(tmp_path / "notes", {"USER.md": "You are kind.\n"})

    assert files.read("user") == "You are kind.\n"
    assert not (tmp_path / "notes").exists()


def test_with_the_first_change_the_other_templates_are_laid_beside_it_once(
    files: MemoryFiles,
) -> None:
    files.replace("user", "Ada")
    (files._folder / "MEMORY.md").write_text("mine\n", encoding="utf-8")
    files.replace("user", "Ben")

    assert (on_disk(files, "USER.md"), on_disk(files, "MEMORY.md")) == ("Ben\n", "mine\n")


@pytest.mark.parametrize("text", ["", "# A\n\n## B\n", "# A\n\n(empty)\n", "(Empty)", "  \n#\n"])
def test_a_file_with_nothing_to_say_reads_as_nothing(files: MemoryFiles, text: str) -> None:
    files.replace("user", text)

    assert files.read("USER.md") == ""


@pytest.mark.parametrize("text", ["#hashtag", "# A\nb", "(empty) no", "-"])
def test_a_file_with_something_to_say_is_read_as_it_is(files: MemoryFiles, text: str) -> None:
    files.replace("user", text)

    assert files.read("user") == f"{text}\n"


def test_nothing_there_reads_as_nothing(files: MemoryFiles) -> None:
    assert files.read("memory") == ""


def test_entries_follow_one_another_and_take_the_place_of_the_placeholder(
    files: MemoryFiles,
) -> None:
    files.append("user", "- Ada")
    files.append("user", " - likes tea \n")

    assert on_disk(files, "USER.md") == "# About you\n\n- Ada\n- likes tea\n"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["- a", "- b", "b", "- long\n  entry"]), max_size=6))
def test_the_last_entry_again_changes_nothing(entries: list[str]) -> None:
    """A call that is repeated after a crash has one effect."""
    with TemporaryDirectory() as once, TemporaryDirectory() as twice:
        for entry in entries:
            MemoryFiles(Path(once)).append("memory", entry)
            for _ in range(2):
                MemoryFiles(Path(twice)).append("memory", entry)

        assert MemoryFiles(Path(once)).read("memory") == MemoryFiles(Path(twice)).read("memory")


def test_a_file_that_would_be_too_long_stays_and_the_model_reads_what_to_do(
    files: MemoryFiles,
) -> None:
    files.replace("memory", "é" * (_MAX_BYTES // 2 - 1))

    with pytest.raises(ToolFailed) as failed:
        files.append("memory", "é")
    with pytest.raises(ToolFailed):
        files.replace("memory", "x" * _MAX_BYTES)

    assert str(failed.value) == (
        "MEMORY.md would hold 16,386 bytes; at most 16,384 fit. Shorten it: "
        'memory(target="memory", action="read"), then memory(target="memory", '
        'action="replace", content=…) with what still matters, in fewer words.'
    )
    assert files.read("memory") == "é" * (_MAX_BYTES // 2 - 1) + "\n"


@pytest.mark.parametrize("name", ["../USER.md", "soul", "", "USER.md.tmpl", "/etc/passwd"])
def test_only_the_two_files_can_be_named(files: MemoryFiles, name: str) -> None:
    with pytest.raises(ToolFailed, match="use user or memory"):
        files.read(name)


def test_an_empty_entry_and_half_a_character_are_refused(files: MemoryFiles) -> None:
    with pytest.raises(ToolFailed, match="needs content"):
        files.append("user", " \n")
    with pytest.raises(ToolFailed, match="cannot be stored"):
        files.append("user", "\ud800")


def test_what_the_owner_edits_is_read_at_once(files: MemoryFiles) -> None:
    files.replace("user", "one")
    (files._folder / "USER.md").write_text("two\n", encoding="utf-8")

    assert files.read("user") == "two\n"


def test_a_link_is_not_followed(files: MemoryFiles, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    files.append("user", "y")
    (files._folder / "USER.md").unlink()
    (files._folder / "USER.md").symlink_to(tmp_path / "secret")

    with pytest.raises(ToolFailed):
        files.read("user")
    with pytest.raises(ToolFailed):
        files.append("user", "x")

    assert (tmp_path / "secret").read_text(encoding="utf-8") == "key"


def test_the_files_are_the_owners_alone_and_nothing_is_left_beside_them(files: MemoryFiles) -> None:
    files.append("user", "x")

    assert sorted(path.name for path in files._folder.iterdir()) == ["MEMORY.md", "USER.md"]
    assert {path.stat().st_mode & 0o077 for path in files._folder.iterdir()} == {0}


def test_two_turns_that_write_at_once_both_keep_their_entries(tmp_path: Path) -> None:
    def work(letter: str) -> None:
        for number in range(20):
            MemoryFiles(tmp_path).append("memory", f"{letter}{number}")

    threads = [Thread(target=work, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    lines = MemoryFiles(tmp_path).read("memory").splitlines()
    assert sorted(lines) == sorted(f"{letter}{number}" for letter in "abc" for number in range(20))


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_killed_while_writing_the_old_text_is_whole(files: MemoryFiles, call: str) -> None:
    """The process dies at its fsync, or just before the new file takes the old one's place."""
    files.replace("user", "old")
    child = os.fork()
    if child == 0:
        setattr(os if call == "fsync" else Path, call, die)
        files.replace("user", "new")
        os._exit(0)
    _, status = os.waitpid(child, 0)

    assert os.WIFSIGNALED(status)
    assert MemoryFiles(files._folder).read("user") == "old\n"
    assert MemoryFiles(files._folder).append("user", "more") == "old\nmore\n"


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_said_and_never_waited_for(files: MemoryFiles, kind: str) -> None:
    """A pack's tools may put anything into their folder."""
    files.replace("memory", "kept")
    lying = files._folder / "USER.md"
    lying.unlink()
    match kind:
        case "folder":
            lying.mkdir()
        case "link":
            lying.symlink_to("/etc/hostname")
        case _:
            os.mkfifo(lying)

    with pytest.raises(ToolFailed, match=r"USER\.md cannot be read: .* Tell the person"):
        files.append("user", "x")
    assert files.shown("user").startswith("(USER.md cannot be read")
    assert not files.is_readable("user")
    assert files.replace("memory", "kept still") == "kept still\n"
