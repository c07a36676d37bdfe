"""`aouo pack validate`: everything wrong with a pack's folder, as strictly as we can say it."""

from __future__ import annotations

from pathlib import Path

from aouo.packs import evals
from aouo.packs import manifest as manifests
from aouo.packs.fast_paths import unused
from aouo.packs.load import Pack, load_pack
from aouo.packs.problems import Problem


def validate(folder: Path) -> tuple[Problem, ...]:
    """Return every problem of the pack in `folder`; what loading forgives is an error here.

    The schema runs in a throw-away database; nothing is written anywhere.
    """
    loaded = load_pack(folder, strict=True)
    found = list(loaded.problems)
    if loaded.pack is not None:
        found += _unused_skills(loaded.pack)
        found += _unused_translations(loaded.pack)
        found += evals.load(folder)[1]
    return tuple(found)


def _unused_skills(pack: Pack) -> list[Problem]:
    """Name the folders below skills/ that provided_skills forgets."""
    root = pack.folder / "skills"
    there = sorted(child.parent.name for child in root.glob("*/SKILL.md")) if root.is_dir() else []
    message = '"{}" lies below skills/ and is not listed, so nobody can use it'
    return [
        Problem(manifests.FILE, 0, "provided_skills", message.format(name), "warning")
        for name in there
        if name not in pack.skills
    ]


def _unused_translations(pack: Pack) -> list[Problem]:
    manifest = pack.manifest
    texts = {manifest.display_name, manifest.description}
    for skill in pack.skills.values():
        texts |= {skill.display_name, skill.description}
    for page in pack.menu.pages:
        texts |= set(page.texts)
    return list(unused(pack.translations, texts))
