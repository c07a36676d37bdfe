"""Checks what a manifest says of its watches: one source each, and within its permissions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from aouo.facts.errors import ToolFailed
from aouo.facts.spans import span_s
from aouo.packs.format.manifest import Manifest, Watch
from aouo.packs.format.problems import Finding, Severity, did_you_mean
from aouo.web.targets import Permits, target

_LEAST_S, _MOST_S = 60, 366 * 86_400


def check_watches(
    manifest: Manifest, sure: Callable[..., bool], softly: Severity
) -> Iterator[Finding]:
    """Yield what is wrong with each watch; a missing permission keeps them off, told `softly`."""
    if not manifest.watches:
        return
    if not manifest.permissions.cron and sure("permissions", "cron"):
        message = "has watches, which begin by themselves: set permissions.cron to true, or they "
        yield (("watches",), f"{message}stay off", softly)
    ids = [watch.id for watch in manifest.watches]
    for index, watch in enumerate(manifest.watches):
        here = ("watches", index)
        if watch.id in ids[:index]:
            yield ((*here, "id"), f'"{watch.id}" is used twice')
        if why := _unreadable(watch.every):
            yield ((*here, "every"), why)
        sources = [name for name in ("sql", "file", "url") if getattr(watch, name).strip()]
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            yield (here, f"looks at one thing: give one of sql, file and url, not {found}")
        elif why := _closed(manifest, watch, sure):
            yield ((*here, sources[0]), why)
        own = watch.skill.removeprefix(f"{manifest.name}:")
        if not own and not watch.prompt.strip():
            yield (here, "says nothing to do: give a skill, a prompt, or both")
        elif own and own not in manifest.provided_skills and sure("provided_skills"):
            hint = did_you_mean(own, manifest.provided_skills)
            yield ((*here, "skill"), f'"{watch.skill}" is not in provided_skills{hint}')


def _unreadable(every: str) -> str:
    """Return why this says not how often, "" = it does."""
    try:
        seconds = span_s(every)
    except ValueError as error:
        return str(error)
    return "" if _LEAST_S <= seconds <= _MOST_S else "give between 1m and 366d"


def _closed(manifest: Manifest, watch: Watch, sure: Callable[..., bool]) -> str:
    """Return why the pack may not look there, as far as its manifest says; "" = it may."""
    if watch.url and sure("permissions", "network"):
        try:
            target(watch.url, Permits(manifest.name, manifest.permissions.network))
        except ToolFailed as error:
            return str(error)
    if watch.file:
        if not watch.file.startswith(("/", "~/")):
            return "give a whole path, which begins with / or ~/"
        if sure("permissions", "files") and not _listed(watch.file, manifest.permissions.files):
            return "is not among permissions.files: name it there"
    return ""


def _listed(path: str, listed: Sequence[str]) -> bool:
    """Whether a list opens a path as far as their words say: what a pattern covers is seen when
    it is looked at, with links followed."""
    for text in (text.strip() for text in listed):
        if text[:1] != path[:1]:  # only one of them says ~
            return True
        parts = PurePosixPath(text).parts
        plain = itertools.takewhile(lambda part: not set(part) & set("*?["), parts)
        if PurePosixPath(path).is_relative_to(PurePosixPath(*plain)):
            return True
    return False
