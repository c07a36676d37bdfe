"""Reads a SKILL.md, one workflow of a pack, and the files beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aouo.facts.errors import ToolFailed
from aouo.packs.format.folder import NotInside, list_inside, read_inside
from aouo.packs.format.problems import Problem, Severity, did_you_mean
from aouo.packs.format.texts import PlainValue, TextRefused, YamlMapping, field_name, read_mapping

FILE = "SKILL.md"
MAX_BYTES = 64 * 1024
"""Of one SKILL.md: it enters prompts whole."""
_ATTACHMENT_MAX_BYTES = 64 * 1024
_OURS = {"name", "description", "command", "triggers", "requires", "fallback", "display_name"}
# `pack` is the original's; the rest belongs to the Agent Skills format (agentskills.io).
_ACCEPTED = {"pack", "license", "compatibility", "metadata", "allowed-tools", "version"}
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class Skill:
    """One workflow; `name` is its folder's, `body` what the model reads of it.

    `original` is the pack's own where the owner has replaced it: its files lie beside it still.
    `anybodys`: the owner did not say which pack's skill that is meant to replace.
    """

    pack: str
    name: str
    display_name: str
    description: str
    command: bool
    body: str
    folder: Path
    triggers: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    fallback: str = ""
    original: Skill | None = None
    anybodys: bool = False

    @property
    def qualified(self) -> str:
        """`<pack>:<name>`, the only form that is stored."""
        return f"{self.pack}:{self.name}"

    @property
    def command_name(self) -> str:
        """The skill as a chat command: at most 32 of a-z, 0-9 and _.

        Source: core.telegram.org/bots/api#botcommand.
        """
        name = self.name.lower()
        return "".join(c if c in _COMMAND_LETTERS else "_" for c in name)[:32]

    @property
    def attachments(self) -> tuple[str, ...]:
        """The files beside SKILL.md, as paths that `attachment` takes."""
        there = dict.fromkeys(name for folder in self._folders for name in list_inside(folder))
        return tuple(name for name in there if name != FILE)

    @property
    def _folders(self) -> tuple[Path, ...]:
        return (self.folder, *((self.original.folder,) if self.original else ()))

    @property
    def shown(self) -> str:
        """What a model reads of it: name, text, and what lies beside it."""
        beside = self.attachments
        files = f"\n\nFiles beside it: {', '.join(beside)}" if beside else ""
        return f"# {self.display_name}\n\n{self.body}{files}"

    def attachment(self, file: str) -> str:
        """Return the text of a file beside SKILL.md.

        Raises:
            ToolFailed: not there, not inside, not text; says what is there.
        """
        problem, cause = f"The skill {self.qualified} has no file {file!r}.", None
        for folder in self._folders:
            try:
                return read_inside(folder, file, max_bytes=_ATTACHMENT_MAX_BYTES)
            except FileNotFoundError as error:
                cause = error
            except NotInside as error:
                problem, cause = f"{str(error)[:200]}.", error
                break
        there = ", ".join(self.attachments) or "none"
        raise ToolFailed(f"{problem} Files of this skill: {there}.") from cause


_COMMAND_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def skills_below(folder: Path) -> tuple[str, ...]:
    """Return the folders below skills/ that hold a skill."""
    root = folder / "skills"
    found = root.glob(f"*/{FILE}") if root.is_dir() else ()
    return tuple(sorted(file.parent.name for file in found))


def load_skill(
    pack: str, root: Path, name: str, *, strict: bool = False
) -> tuple[Skill | None, YamlMapping, tuple[Problem, ...]]:
    """Read `<root>/skills/<name>/SKILL.md` as `parse_skill` does; never raises.

    Returns:
        None for the skill if the file cannot be read.
    """
    relative = f"skills/{name}/{FILE}"
    try:
        text = read_inside(root, relative, max_bytes=MAX_BYTES)
    except FileNotFoundError:
        message = f'the skill "{name}" is listed in provided_skills but has no {FILE}'
        return None, YamlMapping({}, {}), (Problem(relative, 0, "", message),)
    except NotInside as error:
        return None, YamlMapping({}, {}), (Problem(relative, 0, "", str(error)),)
    return parse_skill(text, pack, root / "skills" / name, file=relative, strict=strict)


def parse_skill(
    text: str, pack: str, folder: Path, *, file: str = FILE, strict: bool = False
) -> tuple[Skill, YamlMapping, tuple[Problem, ...]]:
    """Read the front matter and the body of one skill; never raises.

    Returns:
        What could be read of it, its front matter, and every problem: an error keeps it from use.
    """
    header, body = split(text)
    document = front_matter(header)
    front = FrontMatter(document, file)
    title = front.text("name")
    skill = Skill(
        pack=pack,
        name=folder.name,
        display_name=front.text("display_name") or title or folder.name,
        description=front.text("description") or _first_line(body),
        command=front.flag("command"),
        body=body.strip(),
        folder=folder,
        triggers=front.texts("triggers"),
        requires=front.texts("requires"),
        fallback=front.text("fallback"),
    )
    if document.values or not document.faults:
        _check(front, skill, strict)
    return skill, document, tuple(front.problems)


def front_matter(text: str) -> YamlMapping:
    """Read a front matter, without its fences, as far as it can be read."""
    try:
        return read_mapping(text, first_line=2)
    except TextRefused as refused:
        return YamlMapping({}, {}, (refused,))


def split(text: str) -> tuple[str, str]:
    """Separate the front matter, without its fences, from the body."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        return "", text
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:index]), "\n".join(lines[index + 1 :])
    return "\n".join(lines[1:]), ""


def _first_line(body: str) -> str:
    for line in body.splitlines():
        if line.strip() and not line.startswith("#"):
            return line.strip()[:200]
    return ""


class FrontMatter:
    """Takes typed values out of a front matter and collects what is wrong with it."""

    def __init__(self, document: YamlMapping, file: str) -> None:
        self.problems = [
            Problem(file, each.line, each.field, each.message) for each in document.faults
        ]
        self.values: dict[str, PlainValue] = document.values
        self._document = document
        self._file = file

    def text(self, key: str) -> str:
        return self._get(key, str, "", "must be text").strip()

    def flag(self, key: str) -> bool:
        return self._get(key, bool, False, "must be true or false")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key)
        items: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(item, str) for item in items):
            self.add(key, "must be a list of texts")
            return ()
        return tuple(items)

    def _get(self, key: str, kind: type[_Kind], default: _Kind, message: str) -> _Kind:
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            self.add(key, message)
            return default
        return value

    def add(self, key: str, message: str, severity: Severity = "error") -> None:
        path = (key,) if key else ()
        line = self._document.line_of(path)
        self.problems.append(Problem(self._file, line, field_name(path), message, severity))


def _check(front: FrontMatter, skill: Skill, strict: bool) -> None:
    """Check what one field alone cannot say."""
    stated = front.values
    softly: Severity = "error" if strict else "warning"
    for key in stated:
        if key not in _OURS | _ACCEPTED:
            front.add(key, f"unknown key{did_you_mean(key, _OURS)}", softly)
    if stated.get("pack", skill.pack) != skill.pack:
        front.add("pack", f'belongs to "{skill.pack}"; correct it or leave it out', "warning")
    if strict and isinstance(stated.get("name"), str) and stated["name"] != skill.name:
        message = f'is not that of its folder, which counts: write "{skill.name}"'
        front.add("name", f"{message}, and what people read as display_name", "warning")
    if not stated.get("description"):
        front.add("description", "say in one line what the skill does", softly)
    if not skill.body:
        front.add("", "has no body: nothing would tell the model what to do")
