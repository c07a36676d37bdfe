"""The broken packs: those of the table broken.yml, and those that only code can make."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from aouo.packs.format.folder import _BYTES_MAX, _FILES_MAX

TABLE: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
)
SKILL = "skills/hello/SKILL.md"
HEAD = ("version: 1.0.0", "display_name: Broken", "provided_skills: [hello]")


@dataclass(frozen=True, slots=True)
class Expected:
    """What is said of a pack; `loads`: it still loads, and only `validate` refuses it."""

    file: str
    field: str
    message: str
    loads: bool = False


def _put(file: Path, text: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


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
    for number in range(_FILES_MAX + 1):
        (folder / "cards" / str(number)).touch()


def _large(folder: Path) -> None:
    with (folder / "film.bin").open("wb") as file:
        file.truncate(_BYTES_MAX + 1)


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


def _huge_skill(folder: Path) -> None:
    with (folder / SKILL).open("a") as file:
        file.write("x" * 70_000)


def _bomb(file: Path) -> None:
    """Aliases of aliases, below the first line."""
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdef", "bcdefg", strict=True):
        bomb.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    first, _, others = file.read_text().partition("\n")
    file.write_text("\n".join([first, *bomb, others]))


def _no_skills(folder: Path) -> None:
    shutil.rmtree(folder / "skills")


def _large_template(folder: Path) -> None:
    _more("memory: {max_bytes: 300}")(folder)
    _put(folder / "templates" / "USER.md.tmpl", "- what is known before a word is said\n" * 17)


def _more(line: str) -> Callable[[Path], None]:
    """What pack.yml goes on with."""

    def put(folder: Path) -> None:
        with (folder / "pack.yml").open("a") as file:
            file.write(line + "\n")

    return put


def _holding(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: _put(folder / name, text)


def _links_of_links(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "up").symlink_to("../..")
    (folder / "out").symlink_to("deep/er/up/../../..")


def _link_to_the_core(folder: Path) -> None:
    (folder / "menu.json").symlink_to(folder.parent.parent / "data" / "aouo.db")


MADE: dict[str, tuple[Callable[[Path], None], Expected]] = {
    "additions-endless": (
        _holding("soul-additions.md", "x" * 20_000),
        Expected("soul-additions.md", "", "is larger than 16 kB"),
    ),
    "menu-deep": (
        _holding("menu.json", "[" * 60 + "]" * 60),
        Expected("menu.json", "[0][0]", "is nested deeper than 16 levels", loads=True),
    ),
    "skill-missing": (
        _no_skills,
        Expected(SKILL, "", "is listed in provided_skills but has no SKILL.md"),
    ),
    "skill-yaml-bomb": (
        lambda folder: _bomb(folder / SKILL),
        Expected(SKILL, "", "more than 20000 values"),
    ),
    "template-too-large": (
        _large_template,
        Expected("templates/USER.md.tmpl", "", "bytes; a memory file holds 300", loads=True),
    ),
    "yaml-alias-bomb": (
        lambda folder: _bomb(folder / "pack.yml"),
        Expected("pack.yml", "", "more than 20000 values"),
    ),
    "yaml-deep": (
        _more("x: " + "[" * 200 + "]" * 200),
        Expected("pack.yml", "", "nested deeper than 32 levels"),
    ),
    "yaml-huge-line": (
        _more("description: " + "x" * 20_000),
        Expected("pack.yml", "description", "at most 4000 characters"),
    ),
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
    "made-huge-manifest": (
        _more("description: " + "x" * 270_000),
        Expected("pack.yml", "", "is larger than 256 kB"),
    ),
    "made-huge-skill": (_huge_skill, Expected(SKILL, "", "is larger than 64 kB")),
    "made-link-of-links": (_links_of_links, Expected("out", "", "leads out of the pack")),
    "made-link-to-the-core": (
        _link_to_the_core,
        Expected("menu.json", "", "leads out of the pack"),
    ),
}

ALL: dict[str, Expected] = {
    **{
        name: Expected("pack.yml", *row[1:])
        for kind in ("lines", "instead")
        for name, row in TABLE[kind].items()
    },
    **{name: Expected(row[0], *row[2:]) for name, row in TABLE["files"].items()},
    **{name: Expected(row[0], "", "leads out of the pack") for name, row in TABLE["links"].items()},
    **{name: expected for name, (_, expected) in MADE.items()},
}


def install(name: str, packs: Path) -> Path:
    """Lay a broken pack below `packs`, as a person would who copies a folder there."""
    folder = packs / name
    _put(folder / SKILL, "---\nname: hello\ndescription: Says hello\n---\nSay hello.\n")
    instead, *_ = TABLE["instead"].get(name, ("",))
    key = instead.partition(":")[0]
    lines = [
        line if line.partition(":")[0] != key else instead for line in (f"name: {name}", *HEAD)
    ]
    line, *_ = TABLE["lines"].get(name, ("",))
    after = line if isinstance(line, bytes) else line.encode()
    _put(folder / "pack.yml", "\n".join(lines).encode() + b"\n" + after + b"\n")
    for file, text, *_ in (
        TABLE[kind][name] for kind in ("files", "beside") if name in TABLE[kind]
    ):
        _put(folder / file, text)
    if name in TABLE["links"]:
        link, to = TABLE["links"][name]
        shutil.rmtree(folder / link, ignore_errors=True)
        (folder / link).unlink(missing_ok=True)
        (folder / link).parent.mkdir(exist_ok=True)
        (folder / link).symlink_to(to)
    elif name in MADE:
        MADE[name][0](folder)
    return folder
