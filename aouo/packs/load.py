"""One pack's folder read into one frozen value, or everything that keeps it from loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from aouo.packs import needs
from aouo.packs.examples import FILE as EXAMPLES
from aouo.packs.examples import Example
from aouo.packs.examples import parse as parse_examples
from aouo.packs.fast_paths import FastPathReader
from aouo.packs.folder import look_around
from aouo.packs.i18n import Translations
from aouo.packs.inside import NotInside, read_inside
from aouo.packs.manifest import FILE, Manifest
from aouo.packs.manifest_text import parse
from aouo.packs.menu import Menu
from aouo.packs.migrations import Migration, read_migrations
from aouo.packs.needs import Allowance
from aouo.packs.overrides import with_overrides
from aouo.packs.problems import Problem, Severity, did_you_mean, errors
from aouo.packs.schema import trial
from aouo.packs.schema_guard import SchemaRefused
from aouo.packs.skills import Skill, load_skill
from aouo.packs.tools_text import PackTool, tools_of

_ADDITIONS_MAX_BYTES = 16 * 1024  # they enter every prompt of the pack
_TEMPLATES = ("USER.md", "MEMORY.md", "SOUL.md", "STATE.md")


@dataclass(frozen=True, slots=True)
class Pack:
    """An installed app as the runtime uses it; `templates` is keyed by the file they start."""

    manifest: Manifest
    folder: Path
    skills: Mapping[str, Skill]
    soul_additions: str
    rules_additions: str
    templates: Mapping[str, str]
    schema_sql: str
    examples: tuple[Example, ...] = ()
    menu: Menu = field(default_factory=Menu)
    translations: Translations = field(default_factory=Translations)
    migrations: tuple[Migration, ...] = ()
    tools: tuple[PackTool, ...] = ()

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """A pack (None: broken) with its problems; `name` is the manifest's, else the folder's.

    `draft` is what could be read of it where the manifest is sound, for finding more problems.
    """

    name: str
    pack: Pack | None
    problems: tuple[Problem, ...]
    draft: Pack | None = None


def load_pack(
    folder: Path,
    *,
    overrides: Path | None = None,
    strict: bool = False,
    enabled_tools: Sequence[str] = (),
) -> LoadedPack:
    """Read everything a pack's folder holds; never raises.

    `overrides` is the owner's folder of skills that replace the pack's; `strict` is how
    `validate` reads: what loading forgives is an error there. `enabled_tools` are the tools
    and groups that the owner has not switched off, () = all.
    """
    try:
        return _loaded(folder, overrides, enabled_tools, strict=strict)
    except (OSError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        # A stranger found what nothing below looks for; it must not keep others from loading.
        return _broken(folder, (Problem(folder.name, 0, "", f"cannot be read: {error!r:.200}"),))


def _loaded(
    folder: Path, overrides: Path | None, enabled_tools: Sequence[str], *, strict: bool
) -> LoadedPack:
    around = look_around(folder)
    try:
        text = read_inside(folder, FILE)
    except (FileNotFoundError, NotInside) as error:
        missing = isinstance(error, FileNotFoundError)
        said = "there is no pack.yml in this folder" if missing else str(error)
        said = said if folder.is_dir() else "there is no such folder"
        return _broken(folder, (*around, Problem(FILE, 0, "", said)))
    parsed = parse(text, strict=strict)
    if parsed.draft is None:
        return _broken(folder, (*around, *parsed.problems))
    reader = _Reader(folder, parsed.draft, strict, trusted=parsed.manifest is not None)
    pack = reader.pack(overrides, enabled_tools)
    found = _once((*around, *parsed.problems, *reader.problems))
    if parsed.manifest is None:
        return LoadedPack(folder.name, None, found)
    return LoadedPack(pack.name, None if errors(found) else pack, found, pack)


def _broken(folder: Path, problems: tuple[Problem, ...]) -> LoadedPack:
    return LoadedPack(folder.name, None, _once(problems))


def _once(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """A file that cannot be read is said once, however often somebody tried."""
    unreadable: set[str] = set()
    found: list[Problem] = []
    for problem in problems:
        if problem.file not in unreadable or problem.field:
            found.append(problem)
        if not problem.field and not problem.line:
            unreadable.add(problem.file)
    return tuple(found)


class _Reader:
    """Reads the files that a manifest names; an untrusted manifest has errors of its own."""

    def __init__(self, folder: Path, manifest: Manifest, strict: bool, *, trusted: bool) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._manifest = manifest
        self._strict = strict
        self._softly: Severity = "error" if strict else "warning"
        self._trusted = trusted

    def pack(self, overrides: Path | None, enabled_tools: Sequence[str]) -> Pack:
        skills = self._skills()
        if overrides is not None:
            skills, found = with_overrides(skills, overrides)
            self.problems += found
        self._check_named_files()
        menu, translations = self._fast_paths(skills)
        tools = self._tools()
        allowance = Allowance(self._manifest, own=[tool.name for tool in tools])
        self.problems += needs.problems(skills, allowance, self._softly)
        skills = needs.fitted(skills, replace(allowance, enabled=enabled_tools))
        return Pack(
            manifest=self._manifest,
            folder=self._folder,
            skills=MappingProxyType(skills),
            soul_additions=self._text("soul-additions.md", _ADDITIONS_MAX_BYTES).strip(),
            rules_additions=self._text("rules-additions.md", _ADDITIONS_MAX_BYTES).strip(),
            templates=MappingProxyType(self._templates()),
            schema_sql=self._schema(),
            examples=self._examples(),
            menu=menu,
            translations=translations,
            migrations=self._migrations(),
            tools=tools,
        )

    def _tools(self) -> tuple[PackTool, ...]:
        """A tool that is wrong is left out; the pack works without it."""
        found, problems = tools_of(self._folder, self._manifest, self._softly)
        self.problems += problems
        return found

    def _fast_paths(self, skills: Mapping[str, Skill]) -> tuple[Menu, Translations]:
        reader = FastPathReader(self._folder, self._manifest, self._softly)
        found = reader.menu(skills), reader.translations()
        self.problems += reader.problems
        return found

    def _skills(self) -> dict[str, Skill]:
        skills: dict[str, Skill] = {}
        for name in self._manifest.provided_skills:
            parsed = load_skill(self._manifest.name, self._folder, name, strict=self._strict)
            self.problems += parsed.problems
            if parsed.skill is not None:
                skills[name] = parsed.skill
        return skills

    def _templates(self) -> dict[str, str]:
        most = self._manifest.memory.max_bytes
        found: dict[str, str] = {}
        for name in _TEMPLATES:
            file = f"templates/{name}.tmpl"
            text = self._text(file)
            if (size := len(text.encode())) > most:
                message = f"has {size:,} bytes; a memory file holds {most:,} (memory.max_bytes)"
                self._add(file, "", message, self._softly)
            elif text:
                found[name] = text
        return found

    def _schema(self) -> str:
        schema = self._manifest.schema
        text = self._text(schema.file)
        if schema.owned_tables and not text:
            message = f"owned_tables are declared but {schema.file} is missing or empty"
            self._add(FILE, "schema.file", message)
            return text
        try:
            made = trial(text, schema.extends_columns if self._trusted else {}, strict=self._strict)
        except SchemaRefused as refused:
            self.problems.append(Problem(schema.file, refused.line, "", refused.message))
            return text
        names = {name.lower() for name in made}
        # The original read no shared_tables: a pack of it may name a table that is elsewhere.
        severities: dict[str, Severity] = {"owned_tables": "error", "shared_tables": self._softly}
        for key, severity in severities.items():
            listed: tuple[str, ...] = getattr(schema, key)
            for index, table in enumerate(listed):
                if table.lower() not in names:
                    message = f'{schema.file} makes no table "{table}"{did_you_mean(table, made)}'
                    self._add(FILE, f"schema.{key}[{index}]", message, severity)
        return text

    def _migrations(self) -> tuple[Migration, ...]:
        found, problems = read_migrations(self._folder)
        self.problems += problems
        return found

    def _examples(self) -> tuple[Example, ...]:
        """They help and are not needed: what is wrong with them keeps no pack from loading."""
        found, problems = parse_examples(self._text(EXAMPLES))
        self.problems += [replace(problem, severity=self._softly) for problem in problems]
        return found

    def _check_named_files(self) -> None:
        for index, tool in enumerate(self._manifest.custom_tools):
            if not self._trusted:
                continue
            field = f"custom_tools[{index}].path"
            try:
                read_inside(self._folder, tool.path)
            except FileNotFoundError:
                self._add(FILE, field, f"there is no file {tool.path}")
            except NotInside as error:
                self._add(FILE, field, str(error))

    def _text(self, relative: str, max_bytes: int = 256 * 1024) -> str:
        try:
            return read_inside(self._folder, relative, max_bytes=max_bytes)
        except FileNotFoundError:
            return ""
        except NotInside as error:
            self._add(relative, "", str(error))
            return ""

    def _add(self, file: str, field: str, message: str, severity: Severity = "error") -> None:
        self.problems.append(Problem(file, 0, field, message, severity))
