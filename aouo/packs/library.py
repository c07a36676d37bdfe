"""Reads the packs below some folders into a library; a broken one hides no other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.format import manifest as manifests
from aouo.packs.format import needs
from aouo.packs.format.manifest import Dependency
from aouo.packs.format.manifest_text import Parsed
from aouo.packs.format.needs import Allowance
from aouo.packs.format.problems import Problem, accepts, did_you_mean, errors
from aouo.packs.format.skills import FILE as SKILL
from aouo.packs.format.skills import Skill
from aouo.packs.load import LoadedPack, Pack, load_pack
from aouo.packs.shipping.archive import content_hash


@dataclass(frozen=True, slots=True)
class Library:
    """What is installed now: the packs that load, and why the others do not.

    `warnings` are the findings that keep nothing from loading, by pack. While the bot runs, a
    linked pack that no longer loads is among both: it goes on as it was.

    The rest follows from `packs`: their sorted `names`, and `workflows`, the qualified names of
    all skills.
    """

    packs: Mapping[str, Pack]
    broken: Mapping[str, tuple[Problem, ...]]
    warnings: Mapping[str, tuple[Problem, ...]]
    names: tuple[str, ...] = field(init=False, compare=False)
    workflows: frozenset[str] = field(init=False, compare=False)
    _commands: Mapping[str, Mapping[str, str]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        skills = [skill for pack in self.packs.values() for skill in pack.skills.values()]
        object.__setattr__(self, "names", tuple(sorted(self.packs)))
        object.__setattr__(self, "workflows", frozenset(skill.qualified for skill in skills))
        object.__setattr__(self, "_commands", self._commands_by_pack())

    def get(self, name: str) -> Pack | None:
        """Return a pack that loads, or None."""
        return self.packs.get(name)

    def named(self, text: str, language: str = "") -> str:
        """Return the pack that a person means, in any letter case: by its name, or by its shown
        name in their language if only one pack has it; `text` itself if there is none."""
        wanted = text.strip().casefold()
        if text in self.packs or not wanted:
            return text
        if found := next((name for name in self.names if name.casefold() == wanted), ""):
            return found
        called = [
            name
            for name, pack in self.packs.items()
            if wanted
            in {
                pack.manifest.display_name.casefold(),
                pack.said(language, pack.manifest.display_name).casefold(),
            }
        ]
        return called[0] if len(called) == 1 else text

    def resolve_skill(self, pack: str, name: str) -> Skill:
        """Return a skill of `pack` by its bare or its qualified name, whichever letters are large.

        Raises:
            ToolFailed: not a skill of this pack; says which there are.
        """
        skills: Mapping[str, Skill] = self.packs[pack].skills if pack in self.packs else {}
        owner, colon, bare = name.strip().rpartition(":")
        there = ", ".join(skills) or "none"
        if colon and owner.casefold() != pack.casefold():
            raise ToolFailed(
                f"{name!r} belongs to another pack; this conversation is with {pack!r}. "
                f"Skills here: {there}."
            )
        if bare not in skills:
            folded = bare.casefold()
            bare = next((one for one in skills if one.casefold() == folded), bare)
        if bare not in skills:
            hint = did_you_mean(bare, skills)
            raise ToolFailed(f"There is no skill {name!r}{hint}. Skills here: {there}.")
        return skills[bare]

    def commands(self, pack: str = "") -> Mapping[str, str]:
        """Return command name → qualified skill; `pack`'s own come before all others'."""
        return self._commands.get(pack, self._commands[""])

    @property
    def actions(self) -> Mapping[str, str]:
        """Return `pack:action` by itself, and by its command; of two the first pack's."""
        found: dict[str, str] = {}
        for name in self.names:
            for action, takes in self.packs[name].declared.actions.items():
                found[f"{name}:{action}"] = f"{name}:{action}"
                if takes.command:
                    found.setdefault(takes.command, f"{name}:{action}")
        return found

    def _commands_by_pack(self) -> Mapping[str, Mapping[str, str]]:
        """`commands` of each pack, and of none as ""."""
        first: dict[str, str] = {}
        own: dict[str, dict[str, str]] = {"": {}}
        for skill in self._command_skills():
            first.setdefault(skill.command_name, skill.qualified)
            own.setdefault(skill.pack, {}).setdefault(skill.command_name, skill.qualified)
        return {pack: MappingProxyType(first | commands) for pack, commands in own.items()}

    def _command_skills(self) -> Sequence[Skill]:
        """In the order of their packs' names."""
        packs = [self.packs[name] for name in self.names]
        return [skill for pack in packs for skill in pack.skills.values() if skill.command]

    def command_collisions(self) -> tuple[Problem, ...]:
        """Return a warning for each skill whose command name another skill already has."""
        chosen = self.commands()
        return tuple(
            Problem(
                f"skills/{skill.name}/SKILL.md",
                0,
                "command",
                f"/{skill.command_name} runs {chosen[skill.command_name]} outside this pack",
                "warning",
            )
            for skill in self._command_skills()
            if chosen[skill.command_name] != skill.qualified
        )

    def listed(self) -> dict[str, object]:
        """Return the packs and why others do not load, as `aouo pack list --json` says it."""
        return {
            "packs": [
                {
                    "name": name,
                    "display_name": pack.manifest.display_name,
                    "version": pack.manifest.version,
                    "description": pack.manifest.description,
                    "folder": str(pack.folder.resolve()),
                    "skills": list(pack.skills),
                    "warnings": [str(problem) for problem in self.warnings.get(name, ())],
                }
                for name, pack in self.packs.items()
            ],
            "broken": {
                name: [asdict(problem) for problem in problems]
                for name, problems in self.broken.items()
            },
        }


EMPTY = Library(MappingProxyType({}), MappingProxyType({}), MappingProxyType({}))


def scan(
    home_packs: Path,
    scan_dirs: Iterable[Path] = (),
    enabled: Sequence[str] = (),
    overrides: Path | None = None,
    enabled_tools: Sequence[str] = (),
    pinned: Mapping[str, str] | None = None,
) -> Library:
    """Read every pack below `home_packs` and `scan_dirs`; never raises.

    `enabled` lists the wanted packs, empty = all. `overrides` is `<home>/skills`, `pinned` the
    content hash with which a pack of the home was installed. Of two packs with one name the one
    that was installed wins, whether it loads or not, else the first found, the home's before the
    others'. `enabled_tools` is `tools.enabled` of the settings, empty = all: a skill without its
    tools is not there.
    """
    places = {name: home_packs / name for name in pinned or {}}
    installed = {name: place for name, place in places.items() if os.path.lexists(place)}
    shelf = _Shelf(enabled, enabled_tools, installed)
    for root in (home_packs, *scan_dirs):
        for folder in _candidates(root.expanduser()):
            at_home = folder.parent == home_packs
            pin = (pinned or {}).get(folder.name, "") if at_home else ""
            shelf.put(folder, overrides, pin)
    shelf.check_enabled()
    shelf.check_dependencies()
    shelf.check_overrides()
    return shelf.library()


def link(folder: Path, home_packs: Path) -> Path:
    """Install a pack by a link to where it lies, so that edits there count at once.

    Returns the link. The same link again changes nothing; a dangling one is replaced.

    Raises:
        PackError: the pack does not load, or another one has its name.
    """
    loaded = load_pack(folder)
    if loaded.pack is None:
        first, *others = errors(loaded.problems)
        more = f" (and {len(others)} more)" if others else ""
        raise PackError(
            f"{folder} cannot be linked: {first}{more}.", fix=f"See `aouo pack validate {folder}`."
        )
    target, source = home_packs / loaded.name, folder.resolve()
    home_packs.mkdir(parents=True, exist_ok=True, mode=0o700)
    if target.exists() and target.resolve() == source:
        return target
    if target.exists():
        raise PackError(
            f'A pack named "{loaded.name}" is already installed at {target}.',
            fix="Uninstall it first, or give this one another name.",
        )
    temporary = home_packs / f".{loaded.name}.link"
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    temporary.symlink_to(source, target_is_directory=True)
    temporary.replace(target)
    return target


def _without_override(pack: Pack, name: str, enabled_tools: Sequence[str]) -> Pack:
    """Give the pack its own skill again, or what takes its place where that cannot work."""
    skill = pack.skills.get(name)
    if skill is None:
        return pack
    own = skill.original or skill
    if own.name != name:  # it stands in for the one of this name
        own = replace(own, name=name, command=skill.command)
    allowance = Allowance(pack.manifest, enabled_tools, [tool.name for tool in pack.tools])
    skills = needs.fitted({**pack.skills, name: own}, allowance)
    return replace(pack, skills=MappingProxyType(skills))


class _Shelf:
    """The packs found so far."""

    def __init__(
        self, enabled: Sequence[str], enabled_tools: Sequence[str], installed: Mapping[str, Path]
    ) -> None:
        self._installed = installed
        self._enabled = frozenset(enabled)
        self._enabled_tools = enabled_tools
        self._seen: set[str] = set()
        self._packs: dict[str, Pack] = {}
        self._parsed: dict[str, Parsed] = {}
        self._broken: dict[str, tuple[Problem, ...]] = {}
        self._warnings: dict[str, list[Problem]] = {}

    def put(self, folder: Path, overrides: Path | None, pin: str) -> None:
        if why := _unusable(folder, pin):
            loaded = LoadedPack(folder.name, None, (Problem(folder.name, 0, "", why),))
        else:
            loaded = load_pack(folder, overrides=overrides, enabled_tools=self._enabled_tools)
        self._seen |= {loaded.name, folder.name}
        if self._enabled and not self._enabled & {loaded.name, folder.name}:
            return
        if loaded.name in self._packs or self._installed.get(loaded.name, folder) != folder:
            message = f"{folder} has the same name and is not used"
            self._warn(loaded.name, Problem(manifests.FILE, 0, "name", message, "warning"))
        elif loaded.pack is None:
            self._broken.setdefault(loaded.name, loaded.problems)
        else:
            self._packs[loaded.name] = loaded.pack
            self._parsed[loaded.name] = loaded.parsed
            for problem in loaded.problems:
                self._warn(loaded.name, problem)

    def check_enabled(self) -> None:
        for name in self._enabled - self._seen:
            message = f"is in packs.enabled but not installed{did_you_mean(name, self._seen)}"
            self._broken[name] = (Problem("config.json", 0, "packs.enabled", message),)

    def check_dependencies(self) -> None:
        """Take out what depends on a pack that does not load, and what depends on that."""
        while missing := [
            (pack.name, index, why)
            for pack in self._packs.values()
            for index, need in enumerate(pack.manifest.depends_on)
            if (why := self._missing(need))
        ]:
            for name, index, why in missing:
                line = self._parsed[name].line_of(("depends_on", index))
                found = Problem(manifests.FILE, line, f"depends_on[{index}]", why)
                self._broken[name] = (*self._broken.get(name, ()), found)
                self._packs.pop(name, None)

    def check_overrides(self) -> None:
        """Leave out a skill of the owner's that might be meant for several packs, and say so."""
        meant: dict[Path, list[tuple[Pack, str]]] = {}
        for pack in self._packs.values():
            for name, skill in pack.skills.items():
                if skill.anybodys:
                    meant.setdefault(skill.folder, []).append((pack, name))
        for folder, places in meant.items():
            packs = sorted({pack.name for pack, _ in places})
            if len(packs) == 1:
                continue
            message = (
                f"might be meant for {', '.join(packs)}, so it is not used: name one as `pack:` in "
                f"its front matter, or put it into {folder.parent}/<pack>/{folder.name}/"
            )
            for pack, name in places:
                left = _without_override(self._packs[pack.name], name, self._enabled_tools)
                self._packs[pack.name] = left
                self._warn(pack.name, Problem(str(folder / SKILL), 0, "", message, "warning"))

    def _missing(self, need: Dependency) -> str:
        """Say why a dependency is not met, or ""."""
        there = self._packs.get(need.name)
        if there is None:
            why = "does not load" if need.name in self._broken else "is not installed"
            return f'the pack "{need.name}" {why}'
        if need.version and not accepts(need.version, there.manifest.version):
            version = there.manifest.version
            return f'needs "{need.name}" {need.version}, and {version} is installed'
        return ""

    def library(self) -> Library:
        packs = MappingProxyType(dict(sorted(self._packs.items())))
        for name in [name for name in self._broken if name in packs]:
            for problem in self._broken.pop(name):
                self._warn(name, problem)
        warnings = {name: tuple(found) for name, found in self._warnings.items() if name in packs}
        return Library(packs, MappingProxyType(self._broken), MappingProxyType(warnings))

    def _warn(self, name: str, problem: Problem) -> None:
        self._warnings.setdefault(name, []).append(problem)


def _candidates(root: Path) -> Iterator[Path]:
    """Return the folders below `root` that are packs or dangling links; a pack is its own."""
    if os.path.lexists(root / manifests.FILE):
        yield root
        return
    try:
        children = sorted(root.iterdir())
    except OSError:
        return
    for child in children:
        if child.name.startswith((".", "_")):
            continue
        dangling = child.is_symlink() and not child.exists()
        if dangling or os.path.lexists(child / manifests.FILE):
            yield child


def _unusable(folder: Path, pin: str) -> str:
    """Why a folder is not even read, "" = it is."""
    if folder.is_symlink() and not folder.exists():
        return f"the link {folder} leads nowhere; restore its target or remove it"
    if pin and folder.is_symlink():
        return (
            f"a link to {folder.resolve()} is where it was installed; remove the link and "
            "install it again, or uninstall it and link it with `aouo pack link`"
        )
    try:
        changed = bool(pin) and content_hash(folder) != pin
    except PackError as error:
        return str(error)
    if changed:
        return (
            f"its files are not those that were installed: `aouo pack upgrade {folder.name}` puts "
            f"those back; if you changed them, `aouo pack install {folder}` shows what they may do "
            "now and asks for a yes"
        )
    return ""
