"""`aouo pack validate`: everything wrong with a pack's folder, as strictly as we can say it."""

from __future__ import annotations

from pathlib import Path

from aouo.packs import evals, menu
from aouo.packs import manifest as manifests
from aouo.packs.fast_paths import missing, unused
from aouo.packs.load import Pack, load_pack
from aouo.packs.problems import Problem, did_you_mean, errors
from aouo.packs.schema import selected
from aouo.packs.schema_guard import SchemaRefused


def validate(folder: Path) -> tuple[Problem, ...]:
    """Return every problem of the pack in `folder`; what loading forgives is an error here.

    The schema runs in a throw-away database; nothing is written anywhere.
    """
    loaded = load_pack(folder, strict=True)
    found = list(loaded.problems)
    found += evals.load(folder)[1]
    if loaded.draft is not None:
        found += _unused_skills(loaded.draft)
        found += _translations(loaded.draft)
        if not any(each.file == loaded.draft.manifest.schema.file for each in errors(found)):
            found += _listings(loaded.draft)
    return tuple(found)


def _unused_skills(pack: Pack) -> list[Problem]:
    """Name the folders below skills/ that provided_skills forgets."""
    root = pack.folder / "skills"
    there = sorted(child.parent.name for child in root.glob("*/SKILL.md")) if root.is_dir() else []
    message = '"{}" lies below skills/ and is not listed, so nobody can use it'
    return [
        Problem(manifests.FILE, 0, "provided_skills", message.format(name), "warning")
        for name in there
        if name not in pack.manifest.provided_skills
    ]


def _listings(pack: Pack) -> list[Problem]:
    """Try the queries of the menu's pages, and find the columns that their rows show."""
    file = pack.manifest.fast_paths.menu or menu.FILE
    found: list[Problem] = []
    for page in pack.menu.pages:
        if not page.sql:
            continue
        try:
            made = selected(pack.schema_sql, pack.manifest.schema.extends_columns, page.sql)
        except SchemaRefused as refused:
            found.append(Problem(file, 0, "sql", f'the page "{page.id}": {refused.message}'))
            continue
        for name in page.columns:
            if name not in made:
                hint = did_you_mean(name, made)
                message = f'the page "{page.id}": sql has no column "{name}"{hint}'
                found.append(Problem(file, 0, "row", message))
    return found


def _translations(pack: Pack) -> list[Problem]:
    """Name what a language says for nothing, and what it leaves as it stands."""
    manifest = pack.manifest
    texts = {manifest.display_name, manifest.description}
    for skill in pack.skills.values():
        texts |= {skill.display_name, skill.description}
    shown = {text for page in pack.menu.pages for text in page.texts}
    return [
        *unused(pack.translations, texts | shown),
        *missing(pack.translations, shown),
    ]
