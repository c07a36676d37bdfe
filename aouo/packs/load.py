"""Reads one pack's folder into one frozen value, or into everything that keeps it from loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from aouo.packs.actions import declared, reading
from aouo.packs.actions.declared import Declared
from aouo.packs.actions.patterns import TELLING
from aouo.packs.actions.phrases import Phrase
from aouo.packs.data.migrations import Migration, read_migrations
from aouo.packs.data.schema_text import trial
from aouo.packs.format import fast_paths, needs
from aouo.packs.format.folder import NotInside, look_around, read_inside
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.manifest_check import is_column_type, is_identifier
from aouo.packs.format.manifest_text import Parsed, parse
from aouo.packs.format.menu import Page
from aouo.packs.format.needs import Allowance, with_overrides
from aouo.packs.format.problems import Problem, Severity, did_you_mean, errors
from aouo.packs.format.skills import FILE as SKILL_FILE
from aouo.packs.format.skills import Skill, load_skill, skills_below
from aouo.packs.format.texts import YamlMapping
from aouo.packs.format.tools_text import PackTool, tools_of

_ADDITIONS_MAX_BYTES = 16 * 1024  # they enter every prompt of the pack
_NO_EXAMPLES = "has no use any more: its sentences are phrases in actions.yml"
_SKILLS_MOST = 100
"""So many skill folders are read if no manifest lists the skills."""
_TEMPLATES = ("USER.md", "MEMORY.md", "SOUL.md", "STATE.md")


@dataclass(frozen=True, slots=True)
class Pack:
    """An installed app as the runtime uses it; `templates` is keyed by the file they start.

    The first page of its `menu` is what `/menu` opens; without one it has no menu.
    """

    manifest: Manifest
    folder: Path
    skills: Mapping[str, Skill]
    soul_additions: str
    rules_additions: str
    templates: Mapping[str, str]
    schema_sql: str
    menu: tuple[Page, ...] = ()
    translations: fast_paths.Translations = field(default_factory=dict[str, Mapping[str, str]])
    migrations: tuple[Migration, ...] = ()
    tools: tuple[PackTool, ...] = ()
    declared: Declared = field(default_factory=Declared)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def phrases(self) -> list[Phrase]:
        """Return the ways to reach its actions in words."""
        return [
            Phrase(
                self.name,
                one.action,
                one.text,
                one.language,
                one.given,
                TELLING if one.whole else self.declared.actions[one.action].kinds,
                one.whole,
                one.only,
            )
            for one in self.declared.patterns
        ]

    def said(self, language: str, text: str) -> str:
        """Return a text of the pack as its translations have it in a person's language."""
        return fast_paths.translated(self.translations, language, text)


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """A pack (None: broken) with its problems; `name` is the manifest's, else the folder's.

    `draft` is what could be read of it if pack.yml is a manifest, for finding more problems,
    and `parsed` what that says, and where.
    """

    name: str
    pack: Pack | None
    problems: tuple[Problem, ...]
    draft: Pack | None = None
    parsed: Parsed = field(default_factory=lambda: Parsed(None))


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
    except Exception as error:  # noqa: BLE001 - it must not keep other packs from loading
        # A stranger found what nothing below looks for.
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
    reader = _PackLoader(folder, parsed, strict)
    pack = reader.pack(overrides, enabled_tools)
    found = _once((*around, *parsed.problems, *reader.found()))
    if parsed.manifest is None:
        return LoadedPack(folder.name, None, found, pack if parsed.draft else None, parsed)
    usable = None if errors(found) else pack
    return LoadedPack(pack.name, usable, found, pack, parsed)


def _broken(folder: Path, problems: tuple[Problem, ...]) -> LoadedPack:
    return LoadedPack(folder.name, None, _once(problems))


def _once(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Report a file that cannot be read once, however often it was tried."""
    unreadable: set[str] = set()
    found: list[Problem] = []
    for problem in problems:
        if problem.file not in unreadable or problem.field or problem.line:
            found.append(problem)
        if not problem.field and not problem.line:
            unreadable.add(problem.file)
    return tuple(found)


def _draft(folder: Path, parsed: Parsed) -> Manifest:
    """Return what to read the other files by; columns that were refused never reach SQL."""
    if parsed.manifest is not None:
        return parsed.manifest
    name, skills = folder.name, skills_below(folder)[:_SKILLS_MOST]
    manifest = parsed.draft or Manifest(name, "0.0.0", name, provided_skills=skills)
    extends = {
        table: {
            column: kind
            for column, kind in columns.items()
            if is_identifier(column) and is_column_type(kind)
        }
        for table, columns in manifest.schema.extends_columns.items()
        if is_identifier(table)
    }
    return replace(manifest, schema=replace(manifest.schema, extends_columns=extends))


class _PackLoader:
    """Reads the files that a manifest names, and without one those that are usual."""

    def __init__(self, folder: Path, parsed: Parsed, strict: bool) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._parsed = parsed
        self._manifest = _draft(folder, parsed)
        self._strict = strict
        self._softly: Severity = "error" if strict else "warning"
        self._headers: dict[str, YamlMapping] = {}

    def found(self) -> Iterator[Problem]:
        """Yield the problems with their lines; what pack.yml was told of itself is not repeated."""
        told = {problem.field for problem in errors(self._parsed.problems)}
        for problem in self.problems:
            header = self._headers.get(problem.file)
            if problem.file == FILE:
                placed = self._parsed.placed(problem)
                if placed and placed.field not in told:
                    yield placed
            elif header and not problem.line:
                yield replace(problem, line=header.line_of((problem.field,)))
            else:
                yield problem

    def pack(self, overrides: Path | None, enabled_tools: Sequence[str]) -> Pack:
        if (self._folder / "examples.yml").is_file():
            self._add("examples.yml", "", _NO_EXAMPLES, "warning")
        skills = self._skills()
        if overrides is not None:
            skills, found = with_overrides(skills, overrides)
            self.problems += found
        self._check_named_files()
        menu, found = fast_paths.read_menu(
            self._folder,
            self._manifest,
            skills,
            reading.names(self._text(declared.FILE)),
            self._softly,
        )
        self.problems += found
        translations, found = fast_paths.read_translations(
            self._folder, self._manifest, self._softly
        )
        self.problems += found
        tools = self._tools()
        allowance = Allowance(self._manifest, own=[tool.name for tool in tools])
        if self._parsed.sure("permissions", "tools"):
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
            menu=menu,
            translations=translations,
            migrations=self._migrations(),
            tools=tools,
            declared=self._declared(tools, menu),
        )

    def _declared(self, tools: Sequence[PackTool], menu: Sequence[Page]) -> Declared:
        """What is wrong is left out; the pack works without it."""
        found, problems = reading.parse(
            self._text(declared.FILE),
            tools=[tool.name for tool in tools],
            pages=[page.id for page in menu],
            severity=self._softly,
        )
        self.problems += problems
        return found

    def _tools(self) -> tuple[PackTool, ...]:
        """A tool that is wrong is left out; the pack works without it."""
        found, problems = tools_of(self._folder, self._manifest, self._softly)
        self.problems += problems
        return found

    def _skills(self) -> dict[str, Skill]:
        skills: dict[str, Skill] = {}
        for name in self._manifest.provided_skills:
            skill, header, problems = load_skill(
                self._manifest.name, self._folder, name, strict=self._strict
            )
            self.problems += problems
            if skill is not None:
                skills[name] = skill
                self._headers[f"skills/{name}/{SKILL_FILE}"] = header
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
        found = trial(text, schema.extends_columns, strict=self._strict)
        for refused in found.refused:
            self.problems.append(Problem(schema.file, refused.line, "", refused.problem))
        for name, why in found.not_added.items():
            self._add(FILE, f"schema.extends_columns.{name}", why)
        # The original read no shared_tables: a pack of it may name a table that is elsewhere.
        severities: dict[str, Severity] = {"owned_tables": "error", "shared_tables": self._softly}
        for key, severity in severities.items():
            listed: tuple[str, ...] = getattr(schema, key)
            for index, table in enumerate(listed):
                if not found.makes(table):
                    hint = did_you_mean(table, found.tables)
                    message = f'{schema.file} makes no table "{table}"{hint}'
                    self._add(FILE, f"schema.{key}[{index}]", message, severity)
        return text

    def _migrations(self) -> tuple[Migration, ...]:
        found, problems = read_migrations(self._folder)
        self.problems += problems
        return found

    def _check_named_files(self) -> None:
        for index, tool in enumerate(self._manifest.custom_tools):
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
