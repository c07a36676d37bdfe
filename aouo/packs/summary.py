"""Sums up what an app may do, keeps and brings, with its files, for a permission card."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from aouo.facts.errors import PackError
from aouo.packs.authoring import validate
from aouo.packs.data.rows import Column
from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import normal, split, trial
from aouo.packs.format.fast_paths import Translations
from aouo.packs.format.manifest import FILE, Budget, Manifest
from aouo.packs.format.problems import errors
from aouo.packs.format.tools_text import PackTool
from aouo.packs.load import Pack, load_pack
from aouo.packs.shipping.archive import SIGNATURE_FILE, app_files, content_hash
from aouo.packs.shipping.signing import Signature, verify

Matter: TypeAlias = Literal["programs", "soul", "skill_texts"]
_SOUL = frozenset({"soul-additions.md", "rules-additions.md", "menu.json"})
_SPEAKS = frozenset({"i18n", "templates"})
_ABOUT = frozenset(
    {"authors", "changelog", "contributing", "copying", "license", "notice", "readme"}
)
_TABLES = frozenset({"CREATE TABLE", "CREATE VIRTUAL TABLE", "CREATE INDEX", "PRAGMA"})
"""What of a schema a card tells as tables, or what changes nothing that is read or done."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One file: what it is for, its hash and its size."""

    matter: Matter
    sha256: str
    size_bytes: int


def parts(manifest: Manifest, files: Mapping[str, Path]) -> dict[str, _Part]:
    """Say of each file of an app that runs or speaks what it holds."""
    found: dict[str, _Part] = {}
    for name, path in files.items():
        matter = _matter(manifest, name)
        if matter is not None:
            content = path.read_bytes()
            kept = _besides_tables(content) if name == manifest.schema.file else content
            found[name] = _Part(matter, hashlib.sha256(kept).hexdigest(), len(content))
    said = json.dumps(
        [
            [job.prompt for job in manifest.cron_defaults],
            [
                (tool.name, tool.description, dict(tool.parameters))
                for tool in manifest.runtime.external_tools
            ],
            [asdict(manifest.context), asdict(manifest.fast_paths)],
            [(watch.skill, watch.prompt, watch.sql) for watch in manifest.watches],
        ],
        default=str,
    ).encode()
    size = files[FILE].stat().st_size if FILE in files else 0
    found[FILE] = _Part("soul", hashlib.sha256(said).hexdigest(), size)
    return found


def _matter(manifest: Manifest, name: str) -> Matter | None:
    """None = it is told elsewhere on a card, or nobody obeys it. What is unknown may be run."""
    path = PurePosixPath(name)
    if name in (FILE, SIGNATURE_FILE, "examples.yml"):
        return None
    if path.parts[0] == "skills":
        return "skill_texts"
    if name in _named_by_commands(manifest):
        return "programs"
    menu = PurePosixPath(manifest.fast_paths.menu).as_posix()
    if name in _SOUL or path.parts[0] in _SPEAKS or name == menu:
        return "soul"
    about = len(path.parts) == 1 and path.suffix in ("", ".md", ".txt")
    is_about = about and path.stem.lower() in _ABOUT
    is_eval = path.parts[0] == "evals" and path.suffix in (".yml", ".yaml")
    return None if is_about or is_eval else "programs"


def _named_by_commands(manifest: Manifest) -> frozenset[str]:
    """The words of the commands that a model may start, as paths inside the app."""
    words: list[str] = []
    for tool in manifest.runtime.external_tools:
        with contextlib.suppress(ValueError):  # an open quote: it is no tool then
            words += shlex.split(tool.command)
    return frozenset(PurePosixPath(word).as_posix() for word in words)


def _besides_tables(content: bytes) -> bytes:
    """What a schema has besides tables: triggers and views, which run, and first rows."""
    try:
        statements = split(content.decode("utf-8-sig"))
    except (SchemaRefused, UnicodeDecodeError):
        return content
    kept = [normal(one.sql) for one in statements if one.head not in _TABLES]
    return "\n".join(kept).encode()


_INDEX_LINE_BYTES = 8  # bullet, colon and newline around a skill's name and description


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A tool that an app brings; `runs` is its Python file, or its command."""

    name: str
    runs: str
    kind: Literal["python", "command"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A schedule that an app proposes, as its author wrote it."""

    id: str
    schedule: str
    skill: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Watched:
    """What an app looks at by itself, as its author wrote it; `target` "" = its own data."""

    id: str
    target: str
    every: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """One version of an app. Sizes are bytes; `prompt_bytes` is what each prompt holds of it.

    `tools` are names and groups as the manifest has them, `memory` the files beside USER.md and
    MEMORY.md, `content` the hash that pins it; `titles` says how people read the names of skills.
    """

    name: str
    version: str
    display_name: str
    description: str
    content: str
    files: int
    size_bytes: int
    signature: Signature
    tools: tuple[str, ...]
    pack_tools: tuple[OwnTool, ...]
    network: tuple[str, ...]
    file_paths: tuple[str, ...]
    external_commands: tuple[str, ...]
    platforms: tuple[str, ...]
    may_schedule: bool
    schedules: tuple[Planned, ...]
    scope: Literal["shared", "person"]
    tables: Mapping[str, tuple[Column, ...]]
    migrations: tuple[str, ...]
    memory: tuple[str, ...]
    skills: tuple[str, ...]
    commands: tuple[str, ...]
    prompt_bytes: int
    budget: Budget
    requires_core: str
    depends_on: tuple[str, ...]
    watches: tuple[Watched, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    actions: tuple[str, ...] = ()
    """What can be done with it without a model, in plain words."""
    unused: tuple[str, ...] = ()
    """What a pack of the original says that does nothing here, each with its place."""
    translations: Translations = field(default_factory=dict[str, dict[str, str]])
    parts: Mapping[str, _Part] = field(default_factory=dict[str, _Part])
    """Its files that run or speak."""


def summarize(pack: Pack, signature: Signature | None = None) -> Summary:
    """Say what a loaded app may do.

    Raises:
        PackError: its folder cannot be read as an app.
    """
    manifest, files = pack.manifest, app_files(pack.folder)
    asked = manifest.permissions
    return Summary(
        name=manifest.name,
        version=manifest.version,
        display_name=manifest.display_name,
        description=manifest.description,
        content=content_hash(pack.folder),
        files=len(files),
        size_bytes=sum(path.stat().st_size for path in files.values()),
        signature=signature or Signature(),
        tools=asked.tools,
        pack_tools=tuple(map(_own_tool, pack.tools)),
        network=asked.network,
        file_paths=asked.files,
        external_commands=asked.external_commands,
        platforms=asked.platforms,
        may_schedule=asked.cron,
        schedules=tuple(
            Planned(job.id, job.schedule, job.skill or job.do or job.say, job.enabled_by_default)
            for job in manifest.cron_defaults
        ),
        actions=tuple(one.title for one in pack.declared.actions.values()),
        scope=manifest.schema.scope,
        tables=trial(pack.schema_sql, manifest.schema.extends_columns).tables,
        migrations=tuple(
            name for name in files if name.startswith("migrations/") and name.endswith(".sql")
        ),
        memory=tuple(
            file
            for file, kept in (
                ("SOUL.md", manifest.memory.soul),
                ("STATE.md", manifest.memory.state),
            )
            if kept
        ),
        skills=tuple(pack.skills),
        commands=tuple(skill.command_name for skill in pack.skills.values() if skill.command),
        prompt_bytes=_prompt_bytes(pack),
        budget=manifest.budget,
        requires_core=manifest.requires_core,
        depends_on=tuple(f"{need.name} {need.version}".strip() for need in manifest.depends_on),
        watches=tuple(
            Watched(watch.id, watch.file or watch.url, watch.every, watch.quiet)
            for watch in manifest.watches
        ),
        titles={name: one.title for name, one in pack.declared.actions.items()}
        | {skill.name: skill.display_name for skill in pack.skills.values()},
        translations={one: dict(said) for one, said in pack.translations.items()},
        parts=parts(manifest, files),
    )


def summarize_folder(folder: Path, trusted: Mapping[str, str] | None = None) -> Summary:
    """Load the app in `folder` as an install has to, verify who signed it, and sum it up.

    Raises:
        PackError: it is not sound, or its signature is wrong.
    """
    signature = verify(folder, trusted)
    signature.refuse_wrong()
    pack = sound_pack(folder)
    loaded = load_pack(folder)
    unused = tuple(map(str, loaded.problems)) if loaded.parsed.of_original else ()
    return replace(summarize(pack, signature), unused=unused)


def sound_pack(folder: Path, *, strict: bool = True) -> Pack:
    """Load the app in `folder`; `strict` as `validate` reads, but for packs of the original.

    Raises:
        PackError: something keeps it from loading.
    """
    loaded = load_pack(folder)
    strictly = strict and not loaded.parsed.of_original
    found = errors(validate(folder) if strictly else loaded.problems)
    if not found and loaded.pack is not None:
        return loaded.pack
    first, *others = found
    more = f" (and {len(others)} more)" if others else ""
    known = loaded.draft is not None and loaded.draft.name == loaded.name
    name = f" {loaded.name}" if known else ""  # else the folder's, which may be our copy's
    raise PackError(
        f"The pack{name} is broken: {first}{more}.",
        fix="All of it is said by `aouo pack validate`.",
    )


def _own_tool(tool: PackTool) -> OwnTool:
    if tool.function:
        return OwnTool(tool.name, tool.runs[0], "python")
    return OwnTool(tool.name, shlex.join(tool.runs), "command")


def _prompt_bytes(pack: Pack) -> int:
    texts = [pack.soul_additions, pack.rules_additions]
    if pack.manifest.context.skill_loading == "eager":
        texts += [skill.body for skill in pack.skills.values()]
    index = [f"{skill.name}{skill.description}" for skill in pack.skills.values()]
    return sum(len(text.encode()) for text in (*texts, *index)) + _INDEX_LINE_BYTES * len(index)
