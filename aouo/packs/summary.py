"""Sums up what an app may do, keeps and brings, as plain values for a permission card."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from aouo.facts.errors import PackError
from aouo.packs.contents import Part, parts
from aouo.packs.data.columns import Column
from aouo.packs.data.schema_trial import trial
from aouo.packs.format.manifest import Budget
from aouo.packs.format.problems import errors
from aouo.packs.format.tools_text import PackTool
from aouo.packs.load import Pack, load_pack
from aouo.packs.shipping.archive import app_files, content_hash
from aouo.packs.shipping.signing import Signature, verify
from aouo.packs.validate import validate

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
    unused: tuple[str, ...] = ()
    """What a pack of the original says that does nothing here, each with its place."""
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])
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
            Planned(job.id, job.schedule, job.skill, job.enabled_by_default)
            for job in manifest.cron_defaults
        ),
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
        titles={skill.name: skill.display_name for skill in pack.skills.values()},
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
