"""The broken packs of tests/sample_packs/broken, and those that cannot be kept as files."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aouo.packs.format.folder import BYTES_MAX, FILES_MAX
from aouo.packs.format.yaml_text import read_mapping

FOLDER = Path(__file__).parents[1] / "sample_packs" / "broken"


@dataclass(frozen=True, slots=True)
class Expected:
    """What is said of a pack; `loads`: it still loads, and only `validate` refuses it."""

    file: str
    field: str
    message: str
    loads: bool = False


def kept() -> dict[str, Expected]:
    """The packs that lie in the repository, by name."""
    return {folder.name: _expected(folder) for folder in sorted(FOLDER.iterdir())}


def _expected(folder: Path) -> Expected:
    values = read_mapping((folder / "expected.yml").read_text(encoding="utf-8")).values
    return Expected(
        str(values["file"]),
        str(values.get("field", "")),
        str(values["message"]),
        values.get("loads") is True,
    )


SKILL = "skills/hello/SKILL.md"


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "soul-additions.md")


def _fifo_manifest(folder: Path) -> None:
    (folder / "pack.yml").unlink()
    os.mkfifo(folder / "pack.yml")


def _socket(folder: Path) -> None:
    there = Path.cwd()
    os.chdir(folder)  # its path would be longer than a socket's may be
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("templates.sock")
    finally:
        os.chdir(there)


def _many(folder: Path) -> None:
    (folder / "cards").mkdir()
    for number in range(FILES_MAX + 1):
        (folder / "cards" / str(number)).touch()


def _large(folder: Path) -> None:
    with (folder / "film.bin").open("wb") as file:
        file.truncate(BYTES_MAX + 1)


def _deep(folder: Path) -> None:
    (folder / "/".join("abcdefghijklmnopqr")).mkdir(parents=True)


def _two_names(folder: Path) -> None:
    (folder / "soul-additions.md").write_text("a")
    (folder / "Soul-Additions.md").write_text("b")


def _two_spellings(folder: Path) -> None:
    (folder / "caf\u00e9.md").write_text("a")
    (folder / "cafe\u0301.md").write_text("b")


def _not_utf8_name(folder: Path) -> None:
    os.close(os.open(os.fsencode(folder) + b"/caf\xe9.md", os.O_CREAT | os.O_WRONLY))


def _backslash(folder: Path) -> None:
    (folder / "skills\\..\\..\\notes").touch()


def _huge_manifest(folder: Path) -> None:
    with (folder / "pack.yml").open("a") as file:
        file.write(f"description: {'x' * 270_000}\n")


def _huge_skill(folder: Path) -> None:
    with (folder / SKILL).open("a") as file:
        file.write("x" * 70_000)


def _links_of_links(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "up").symlink_to("../..")
    (folder / "out").symlink_to("deep/er/up/../../..")


def _link_to_the_core(folder: Path) -> None:
    (folder / "menu.json").symlink_to(folder.parent.parent / "data" / "aouo.db")


MADE: dict[str, tuple[Callable[[Path], None], Expected]] = {
    "made-fifo": (_fifo, Expected("soul-additions.md", "", "is not a file")),
    "made-fifo-manifest": (_fifo_manifest, Expected("pack.yml", "", "is not a file")),
    "made-socket": (_socket, Expected("templates.sock", "", "is not a file")),
    "made-many-files": (_many, Expected(".", "", "more than 2,000 files")),
    "made-large": (_large, Expected(".", "", "more than 64 MB")),
    "made-deep": (
        _deep,
        Expected("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", "", "nested deeper than 16 folders"),
    ),
    "made-names-that-meet": (
        _two_names,
        Expected("soul-additions.md", "", "is the same name as 'Soul-Additions.md'"),
    ),
    "made-spellings-that-meet": (
        _two_spellings,
        Expected("caf\u00e9.md", "", "is the same name as"),
    ),
    "made-name-no-text": (_not_utf8_name, Expected("caf?.md", "", "has a name that is not text")),
    "made-backslash": (
        _backslash,
        Expected("skills\\..\\..\\notes", "", "has a \\ in its name"),
    ),
    "made-huge-manifest": (_huge_manifest, Expected("pack.yml", "", "is larger than 256 kB")),
    "made-huge-skill": (_huge_skill, Expected(SKILL, "", "is larger than 64 kB")),
    "made-link-of-links": (_links_of_links, Expected("out", "", "leads out of the pack")),
    "made-link-to-the-core": (
        _link_to_the_core,
        Expected("menu.json", "", "leads out of the pack"),
    ),
}

ALL: dict[str, Expected] = kept() | {name: expected for name, (_, expected) in MADE.items()}


def install(name: str, packs: Path) -> Path:
    """Lay a broken pack below `packs`, as a person would who copies a folder there."""
    folder = packs / name
    if name in MADE:
        (folder / "skills" / "hello").mkdir(parents=True)
        (folder / SKILL).write_text("---\nname: hello\ndescription: Hi\n---\nSay hello.\n")
        head = f"name: {name}\nversion: 1.0.0\ndisplay_name: Broken\nprovided_skills: [hello]\n"
        (folder / "pack.yml").write_text(head)
        MADE[name][0](folder)
    else:
        shutil.copytree(FOLDER / name, folder, symlinks=True)
    return folder
