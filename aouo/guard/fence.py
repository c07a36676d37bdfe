"""Judges which files a tool may touch: the owner's fence, and the runtime's own, closed.

Paths are judged as they resolve, with links followed, so another spelling is no way around.

A path has to be inside the fence **and** among the files that its pack asks for; the pack's own
data folder needs neither. Links are followed before a path is judged, and the tool is given the
path that was judged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias, TypeGuard

from aouo.facts.errors import ToolFailed
from aouo.guard.paths import listed, looks_local, mentioned, quoted, refused, resolved
from aouo.guard.prepared import Allowed, Ask, Blocked, Lasting, PreparedCall, Touched, Verdict
from aouo.guard.sent_files import SentFiles
from aouo.plumbing.logs import log

_Mode: TypeAlias = Literal["ask", "deny", "allow"]

_TOUCHING = {
    "read_file": "path",
    "write_file": "path",
    "list_dir": "path",
    "read_document": "path",
    "msg": "url",
}
"""The argument in which a built-in tool takes a file; `msg` takes an address there as well, and an
album several of both. A pack's tool may take files in any argument; a tool of an MCP server runs
with its server, which the owner has set up."""

_ONE_QUESTION = (
    "The owner would have to allow several of these files, and is asked about one file at a time. "
    "Make a call for each of them."
)


@dataclass(frozen=True, slots=True)
class Area:
    """Files that a path or a glob covers: everything below `root` if `below` is empty.

    `*` and `?` match within a name, `**` matches any depth, and a name that begins with a dot is
    matched only by a pattern that begins with a dot.
    """

    root: Path
    below: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str, base: Path) -> Area:
        """Read one entry of a list; relative ones are below `base`, links are followed."""
        parts = (base / os.path.expanduser(text.strip())).parts  # noqa: PTH111 - keeps "~x"
        literal = next((n for n, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
        return cls(Path(*parts[:literal]).resolve(), parts[literal:])

    def covers(self, path: Path) -> bool:
        """Whether the area covers `path`, which is resolved already."""
        if not path.is_relative_to(self.root):
            return False
        return not self.below or _fits(path.relative_to(self.root).parts, self.below)


class Fence:
    """Binds the paths of calls, and judges them.

    `files_of` gives a pack's `permissions.files`, `folder_of` a pack's data folder for a tenant,
    `files_for` what is open to the role of somebody who is not the owner, None = they are.
    An entry of `allowed` that is no absolute path opens nothing.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[str],
        mode: _Mode,
        files_of: Callable[[str], Sequence[str]],
        folder_of: Callable[[str, str], Path],
        sent: SentFiles | None = None,
        files_for: Callable[[str], Sequence[str] | None] = lambda person: None,
    ) -> None:
        self._sent = sent
        self._files_for = files_for
        self._allowed = tuple(text for text in allowed if _is_absolute(text))
        self._mode: _Mode = mode
        self._files_of = files_of
        self._folder_of = folder_of
        for text in set(allowed) - set(self._allowed):
            log.warning("fence_path_not_absolute", path=text)

    def bind(self, action: PreparedCall) -> PreparedCall:
        """Return the action with its paths resolved as of now.

        Raises:
            ToolFailed: one of them cannot be a path.
        """
        named = tuple(_named(action))
        if not named:
            return action
        own = self.own(action.facts.pack, action.facts.tenant)
        found: list[Touched] = []
        for key, text, at in named:
            if key and (why := refused(text)):
                raise ToolFailed(why)
            sent = self._sent.named(action, text) if self._sent else None
            path = sent or resolved(text, own)
            if path is None or (key and refused(str(path))):
                raise ToolFailed(f"{quoted(text)} is not a path that can be checked.")
            found.append(Touched(key, path, at))
        return replace(action, paths=tuple(found))

    def judge(self, action: PreparedCall) -> Verdict:
        """Judge a bound action. Pure except for resolving links.

        The owner is asked about one file of a call; a call with several such files is blocked.
        """
        question: Ask | None = None
        for touched in action.paths:
            match self._judge(action, touched.path):
                case Blocked() as blocked:
                    return blocked
                case Ask() as ask:
                    if question and question != ask:
                        return Blocked(_ONE_QUESTION, "several files to ask about", "fence")
                    question = ask
                case Allowed():
                    pass
        return question or Allowed("inside the fence")

    def root_of(self, pack: str, tenant: str, path: Path) -> Path | None:
        """Return the folder below which new folders may be made for `path`, None = nowhere."""
        own = self.own(pack, tenant)
        if path.is_relative_to(own):
            return own
        areas = self._areas(self._files_of(pack), own) if self._mode == "allow" else self._opened()
        return next((area.root for area in areas if area.covers(path)), None)

    def _judge(self, action: PreparedCall, path: Path) -> Verdict:
        own = self.own(action.facts.pack, action.facts.tenant)
        if path.is_relative_to(own):
            return Allowed("the pack's own data folder")
        if self._sent and self._sent.opens(action, path):
            return Allowed("a file that was sent to this conversation")
        asked_for = self._files_of(action.facts.pack)
        if not any(area.covers(path) for area in self._areas(asked_for, own)):
            return Blocked(
                f"{path} is not among the files of this pack (permissions.files: "
                f"{', '.join(asked_for) or 'none'}). Use a relative path: it is in the pack's "
                "own data folder.",
                rule="outside the pack's permissions.files",
                judge="permissions",
            )
        theirs = self._files_for(action.facts.person.id)
        opened = self._opened() if theirs is None else self._areas(theirs, Path("/"))
        everything = theirs is None and self._mode == "allow"
        if everything or any(area.covers(path) for area in opened):
            return Allowed("inside the fence")
        if self._mode != "ask":
            key = "security.allowed_paths" if theirs is None else "roles.member.files"
            return Blocked(
                f"{path} is outside of what the owner has opened ({key}). Use a relative path: it "
                "is in the pack's own data folder.",
                rule=f"outside {key}",
                judge="fence",
            )
        folder = path if action.tool == "list_dir" else path.parent
        for_good = theirs is None and not Path.home().resolve().is_relative_to(folder)
        lasting = (Lasting("folder", str(folder), str(folder)),) if for_good else ()
        outside, writes_bytes = "outside security.allowed_paths", _writes_bytes(action)
        return Ask(outside, str(path), writes_bytes, lasting, "fence")

    def areas(
        self, pack: str, tenant: str, person: str
    ) -> tuple[tuple[Area, ...], tuple[Area, ...] | None]:
        """Return the areas that a pack asks for, and those the owner opened for `person`, None =
        all."""
        asked = tuple(self._areas(self._files_of(pack), self.own(pack, tenant)))
        if (theirs := self._files_for(person)) is not None:
            return asked, tuple(self._areas(theirs, Path("/")))
        return asked, None if self._mode == "allow" else tuple(self._opened())

    def own(self, pack: str, tenant: str) -> Path:
        """Return the pack's own data folder, resolved."""
        return self._folder_of(pack, tenant).resolve()

    def _opened(self) -> Iterator[Area]:
        return self._areas(self._allowed, Path("/"))

    def _areas(self, texts: Sequence[str], base: Path) -> Iterator[Area]:
        return (Area.of(text, base) for text in texts if text.strip())


def _named(action: PreparedCall) -> Iterator[tuple[str, str, int | None]]:
    """Find the call's paths: (argument or "", path as the model wrote it, its place in a list)."""
    if key := _TOUCHING.get(action.tool):
        given = action.payload.get(key)
        if action.tool == "msg" and (action.payload.get("type") == "album" or not _is_text(given)):
            for at, text in enumerate(listed(given)):
                if looks_local(text):
                    yield key, text, at
        elif _is_text(given) and (action.tool != "msg" or looks_local(given)):
            yield key, given, None
    elif "__" in action.tool and not action.tool.startswith("mcp__"):
        for text in mentioned(action.payload):
            yield "", text, None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _is_absolute(text: str) -> bool:
    return os.path.expanduser(text.strip()).startswith("/")  # noqa: PTH111 - keeps "~x"


def _writes_bytes(action: PreparedCall) -> int:
    content = action.payload.get("content")
    if action.tool != "write_file" or not isinstance(content, str):
        return -1
    return len(content.encode("utf-8", "surrogatepass"))


def _fits(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether names match patterns one by one; `**` matches any number of names.

    It holds the set of patterns that could come next, so that a manifest's `**/**/…` costs no
    more than its length for each name.
    """
    places = _past_any({0}, patterns)
    for name in names:
        places = _past_any(_after(name, places, patterns), patterns)
    return len(patterns) in places


def _after(name: str, places: set[int], patterns: Sequence[str]) -> set[int]:
    """Return the pattern places that one more name leads to."""
    found: set[int] = set()
    for at in places:
        if at == len(patterns):
            continue
        pattern = patterns[at]
        if pattern == "**":
            if not name.startswith("."):
                found.add(at)
        elif name.startswith(".") and not pattern.startswith("."):
            continue
        elif fnmatchcase(name, pattern):
            found.add(at + 1)
    return found


def _past_any(places: set[int], patterns: Sequence[str]) -> set[int]:
    """Add the places after each `**`, which may match no name at all."""
    found = set(places)
    for at in range(len(patterns)):
        if at in found and patterns[at] == "**":
            found.add(at + 1)
    return found
