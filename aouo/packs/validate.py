"""Finds everything wrong with a pack's folder, as strictly as possible: `aouo pack validate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

from aouo.facts import schedule
from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_trial import selected
from aouo.packs.evals import cases as evals
from aouo.packs.format import i18n, menu
from aouo.packs.format import manifest as manifests
from aouo.packs.format.fast_paths import missing, unused
from aouo.packs.format.inside import list_inside, read_inside
from aouo.packs.format.json_text import read_json
from aouo.packs.format.menu import Page
from aouo.packs.format.problems import Problem, did_you_mean, errors
from aouo.packs.format.skills import skills_below
from aouo.packs.format.yaml_text import field_name, nearest_line
from aouo.packs.load import LoadedPack, Pack, load_pack

_LAST_ZONE = timezone(-timedelta(hours=12))  # where a moment comes last


def validate(folder: Path, *, now: datetime | None = None) -> tuple[Problem, ...]:
    """Return every problem of the pack in `folder`; what loading forgives is an error here.

    `now` (aware) is for finding what lies in the past; None = that is not looked for.
    The schema runs in a throw-away database; nothing is written anywhere.
    """
    loaded = load_pack(folder, strict=True)
    found = list(loaded.problems)
    found += evals.load(folder)[1]
    found += _unused_skills(loaded)
    found += _past(loaded, now) if now else ()
    if loaded.draft is not None:
        found += _translations(loaded.draft)
        schema = loaded.draft.manifest.schema.file
        if not any(each.file == schema and not each.line for each in errors(found)):
            found += _listings(loaded.draft)
            found += _watched(loaded)
    files = list(dict.fromkeys(problem.file for problem in found))
    return tuple(sorted(found, key=lambda problem: (files.index(problem.file), problem.line)))


def _unused_skills(loaded: LoadedPack) -> list[Problem]:
    """Name the folders below skills/ that provided_skills forgets."""
    pack = loaded.draft
    if pack is None or not loaded.parsed.sure("provided_skills"):
        return []
    line = loaded.parsed.line_of(("provided_skills",))
    message = '"{}" lies below skills/ and is not listed, so nobody can use it'
    return [
        Problem(manifests.FILE, line, "provided_skills", message.format(name), "warning")
        for name in skills_below(pack.folder)
        if name not in pack.manifest.provided_skills
    ]


def _past(loaded: LoadedPack, now: datetime) -> Iterator[Problem]:
    """Name the moments of cron_defaults that are over, wherever the owner is."""
    jobs = loaded.draft.manifest.cron_defaults if loaded.draft else ()
    for index, job in enumerate(jobs):
        with suppress(schedule.NotASchedule):
            match schedule.parse(job.schedule, now, _LAST_ZONE):
                case schedule.Once(at) if at < now:
                    field = f"cron_defaults[{index}].schedule"
                    message = f'"{job.schedule}" is in the past: it never comes'
                    found = Problem(manifests.FILE, 0, field, message, "warning")
                    yield from filter(None, [loaded.parsed.placed(found)])
                case _:
                    pass


def _listings(pack: Pack) -> list[Problem]:
    """Try the queries of the menu's pages, and find the columns that their rows show."""
    found: list[Problem] = []
    for page in pack.menu:
        if not page.sql:
            continue
        try:
            made = selected(pack.schema_sql, pack.manifest.schema.extends_columns, page.sql)
        except SchemaRefused as refused:
            found.append(_of_page(pack, page, "sql", refused.problem))
            continue
        for name in page.columns:
            if made is not None and name not in made:
                hint = did_you_mean(name, made)
                found.append(_of_page(pack, page, "row", f'sql has no column "{name}"{hint}'))
    return found


def _of_page(pack: Pack, page: Page, key: str, message: str) -> Problem:
    """What is wrong with a page that was read, where its author has it."""
    file = PurePosixPath(pack.manifest.fast_paths.menu or menu.FILE).as_posix()
    value, lines = read_json(read_inside(pack.folder, file))
    pages = value if isinstance(value, list) else []
    ids = [each.get("id") if isinstance(each, dict) else None for each in pages]
    path = (ids.index(page.id), key)
    line, field = nearest_line(lines, path), field_name(path)
    return Problem(file, line, field, f'the page "{page.id}": {message}')


def _watched(loaded: LoadedPack) -> Iterator[Problem]:
    """Try the queries of the watches."""
    pack = loaded.draft
    for index, watch in enumerate(pack.manifest.watches if pack else ()):
        if not pack or not watch.sql:
            continue
        try:
            selected(pack.schema_sql, pack.manifest.schema.extends_columns, watch.sql)
        except SchemaRefused as refused:
            problem = Problem(manifests.FILE, 0, f"watches[{index}].sql", refused.problem)
            yield from filter(None, [loaded.parsed.placed(problem)])


def _translations(pack: Pack) -> list[Problem]:
    """Name what a language says for nothing, and what it leaves as it stands."""
    manifest = pack.manifest
    texts = {manifest.display_name, manifest.description}
    for skill in pack.skills.values():
        texts |= {skill.display_name, skill.description}
    shown = {text for page in pack.menu for text in page.texts}
    found = (*unused(pack.translations, texts | shown), *missing(pack.translations, shown))
    folder = manifest.fast_paths.i18n or i18n.FOLDER
    files = {
        f"{i18n.FOLDER}/{i18n.normal(PurePosixPath(name).stem)}.json": f"{folder}/{name}"
        for name in list_inside(pack.folder, folder)
    }
    return [replace(each, file=files.get(each.file, each.file)) for each in found]
