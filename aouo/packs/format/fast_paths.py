"""Reads what a pack answers without a model: its menu, and its texts in other languages.

Flat: `{"Study": "Lernen"}`, keyed by the very text that menu.json, the manifest or a skill has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TypeAlias

from aouo.packs.format import menu
from aouo.packs.format.folder import NotInside, list_inside, read_inside
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.menu import Page
from aouo.packs.format.problems import Problem, Severity, did_you_mean
from aouo.packs.format.texts import TextRefused, field_name, nearest_line, read_json

FOLDER = "i18n"
_LANGUAGES_MAX = 50
_LAST_RESORT = "en"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*", re.ASCII)
_TEXT_MAX = 3000


Translations: TypeAlias = Mapping[str, Mapping[str, str]]
"""Language, in lower case with `-`, → text as written → text in that language."""


def translated(translations: Translations, language: str, text: str) -> str:
    """Return `text` for a person with that Telegram language, or as it stands.

    `de-at` is looked up, then `de`, then another kind of German, then `en`.
    """
    candidates = _candidates(translations, normal(language))
    found = (translations.get(one, {}).get(text) for one in candidates)
    return next(filter(None, found), text)


def _candidates(translations: Translations, language: str) -> Iterator[str]:
    shorter = language
    while shorter:
        yield shorter
        shorter = shorter.rpartition("-")[0]
    primary = language.partition("-")[0]
    yield from (name for name in sorted(translations) if name.startswith(f"{primary}-"))
    yield _LAST_RESORT


def normal(language: str) -> str:
    """Write a language tag as it is compared: `zh_CN` → `zh-cn`."""
    return language.strip().lower().replace("_", "-")


def _parse_language(
    text: str, *, file: str, severity: Severity = "error"
) -> tuple[Mapping[str, str], tuple[Problem, ...]]:
    """Read one language's file; never raises. An entry with a problem is left out."""
    nothing: Mapping[str, str] = MappingProxyType({})
    try:
        texts, lines = read_json(text)
    except TextRefused as refused:
        return nothing, (Problem(file, refused.line, refused.field, refused.message, severity),)
    if not isinstance(texts, dict):
        message = "must be one object of texts: {text: translation}"
        return nothing, (Problem(file, 1, "", message, severity),)
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for key, value in texts.items():
        message = ""
        if isinstance(value, dict | list):
            message = "must be text: the file is flat, {text: translation}"
        elif not isinstance(value, str):
            message = f"must be text, not {str(value)[:40]!r}"
        elif len(value) > _TEXT_MAX:
            message = f"is longer than {_TEXT_MAX} characters"
        else:
            found[key] = value
        if message:
            path = (key,)
            name = field_name(path)[:100]
            problems.append(Problem(file, nearest_line(lines, path), name, message, severity))
    return MappingProxyType(found), tuple(problems)


def _language_of(file_name: str) -> str:
    """Return the language a file is named after, or "" if that is no language."""
    name = normal(file_name.removesuffix(".json"))
    return name if file_name.endswith(".json") and _LANGUAGE.fullmatch(name) else ""


_FIELD = re.compile(r"\{[^}]*\}")  # of a row's template


def read_menu(
    folder: Path,
    manifest: Manifest,
    skills: Collection[str],
    actions: Collection[str],
    severity: Severity,
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
    return menu.parse_menu(
        text, file=file, pack=manifest.name, skills=skills, actions=actions, severity=severity
    )


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
    folder = _plain(named or FOLDER)
    if folder.endswith(".json"):
        folder = PurePosixPath(folder).parent.as_posix()
    if named and not (root / folder).is_dir():
        add(FILE, "fast_paths.i18n", f"there is no folder {folder}")
    files = [name for name in list_inside(root, folder) if name.endswith(".json")]
    if len(files) > _LANGUAGES_MAX:
        add(folder, "", f"has more than {_LANGUAGES_MAX} languages")
    seen, languages = set[str](), dict[str, Mapping[str, str]]()
    for name in files[:_LANGUAGES_MAX]:
        file, language = f"{folder}/{name}", _language_of(name)
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
        languages[language], found = _parse_language(text, file=file, severity=severity)
        problems += found
    return MappingProxyType(languages), problems


def unused(translations: Translations, texts: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each key of a language that nothing of the pack says."""
    for language, entries in translations.items():
        for key in entries:
            if key not in texts:
                message = f"nothing in this pack says this{did_you_mean(key, texts)}"
                yield Problem(f"{FOLDER}/{language}.json", 0, key[:100], message, "warning")


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
            yield Problem(f"{FOLDER}/{language}.json", 0, "", message, "warning")


def _plain(path: str) -> str:
    return PurePosixPath(path).as_posix()
