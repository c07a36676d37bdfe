"""Reads what a pack answers without a model: its menu, and its texts in other languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from aouo.packs.format import i18n, menu
from aouo.packs.format.i18n import Translations, translated
from aouo.packs.format.inside import NotInside, list_inside, read_inside
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.menu import Page
from aouo.packs.format.problems import Problem, Severity, did_you_mean

_FIELD = re.compile(r"\{[^}]*\}")  # of a row's template


def read_menu(
    folder: Path, manifest: Manifest, skills: Collection[str], severity: Severity
) -> tuple[tuple[Page, ...], Sequence[Problem]]:
    """Read the pages of the menu; `skills` are the names a button may have.

    What is wrong is said and left out, since the pack works without it.
    """
    named = manifest.fast_paths.menu
    file = _plain(named or menu.FILE)
    try:
        text = read_inside(folder, file)
    except FileNotFoundError:
        message = f"there is no file {file}"
        found = [Problem(FILE, 0, "fast_paths.menu", message, severity)] if named else []
        return (), found
    except NotInside as error:
        return (), [Problem(file, 0, "", str(error), severity)]
    return menu.parse_menu(text, file=file, pack=manifest.name, skills=skills, severity=severity)


def read_translations(
    root: Path, manifest: Manifest, severity: Severity
) -> tuple[Translations, Sequence[Problem]]:
    """Read every language; a path that names one file means the folder it is in.

    What is wrong is said and left out, as by `read_menu`.
    """
    problems: list[Problem] = []

    def add(file: str, field: str, message: str) -> None:
        problems.append(Problem(file, 0, field, message, severity))

    named = manifest.fast_paths.i18n
    folder = _plain(named or i18n.FOLDER)
    if folder.endswith(".json"):
        folder = PurePosixPath(folder).parent.as_posix()
    if named and not (root / folder).is_dir():
        add(FILE, "fast_paths.i18n", f"there is no folder {folder}")
    files = [name for name in list_inside(root, folder) if name.endswith(".json")]
    if len(files) > i18n.LANGUAGES_MAX:
        add(folder, "", f"has more than {i18n.LANGUAGES_MAX} languages")
    seen, languages = set[str](), dict[str, Mapping[str, str]]()
    for name in files[: i18n.LANGUAGES_MAX]:
        file, language = f"{folder}/{name}", i18n.language_of(name)
        if not language or language in seen:
            why = "is named like another one" if language else "is not named after a language"
            add(file, "", f"{why}: write de.json or pt-br.json")
            continue
        seen.add(language)
        try:
            text = read_inside(root, file)
        except FileNotFoundError:
            continue
        except NotInside as error:
            add(file, "", str(error))
            continue
        languages[language], found = i18n.parse_language(text, file=file, severity=severity)
        problems += found
    return MappingProxyType(languages), problems


def unused(translations: Translations, texts: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each key of a language that nothing of the pack says."""
    for language, entries in translations.items():
        for key in entries:
            if key not in texts:
                message = f"nothing in this pack says this{did_you_mean(key, texts)}"
                yield Problem(f"{i18n.FOLDER}/{language}.json", 0, key[:100], message, "warning")


def missing(translations: Translations, texts: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each language that leaves some of the menu's `texts` as they stand."""
    worded = sorted(text for text in texts if re.search(r"\w", _FIELD.sub("", text)))
    for language, own in translations.items():
        left = [
            text
            for text in worded
            if text not in own and translated(translations, language, text) == text
        ]
        if left and language != "en":
            more = f", and {len(left) - 1} more" if left[1:] else ""
            message = f'does not say "{left[0][:60]}"{more}'
            yield Problem(f"{i18n.FOLDER}/{language}.json", 0, "", message, "warning")


def _plain(path: str) -> str:
    return PurePosixPath(path).as_posix()
