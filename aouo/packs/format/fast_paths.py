"""Reads what a pack answers without a model: its menu, and its texts in other languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from aouo.packs.format import i18n, menu
from aouo.packs.format.i18n import Translations
from aouo.packs.format.inside import NotInside, list_inside, read_inside
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.menu import Menu
from aouo.packs.format.problems import Problem, Severity, did_you_mean

_FIELD = re.compile(r"\{[^}]*\}")  # of a row's template


class FastPathParser:
    """Reads both; what is wrong is said and left out, since the pack works without it."""

    def __init__(self, folder: Path, manifest: Manifest, severity: Severity) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._manifest = manifest
        self._severity: Severity = severity

    def menu(self, skills: Collection[str]) -> Menu:
        """Return the pages of the menu; `skills` are the names a button may have."""
        named = self._manifest.fast_paths.menu
        file = _plain(named or menu.FILE)
        text = self._text(file, "fast_paths.menu" if named else "")
        if text is None:
            return Menu()
        found, problems = menu.parse_menu(
            text, file=file, pack=self._manifest.name, skills=skills, severity=self._severity
        )
        self.problems += problems
        return found

    def translations(self) -> Translations:
        """Return every language; a path that names one file means the folder it is in."""
        named = self._manifest.fast_paths.i18n
        folder = _plain(named or i18n.FOLDER)
        if folder.endswith(".json"):
            folder = PurePosixPath(folder).parent.as_posix()
        if named and not (self._folder / folder).is_dir():
            self._add(FILE, "fast_paths.i18n", f"there is no folder {folder}")
        return Translations(MappingProxyType(dict(self._languages(folder))))

    def _languages(self, folder: str) -> Iterator[tuple[str, Mapping[str, str]]]:
        files = [name for name in list_inside(self._folder, folder) if name.endswith(".json")]
        if len(files) > i18n.LANGUAGES_MAX:
            self._add(folder, "", f"has more than {i18n.LANGUAGES_MAX} languages")
        seen: set[str] = set()
        for name in files[: i18n.LANGUAGES_MAX]:
            file, language = f"{folder}/{name}", i18n.language_of(name)
            if not language or language in seen:
                why = "is named like another one" if language else "is not named after a language"
                self._add(file, "", f"{why}: write de.json or pt-br.json")
                continue
            seen.add(language)
            text = self._text(file, "")
            if text is not None:
                found, problems = i18n.parse_language(text, file=file, severity=self._severity)
                self.problems += problems
                yield language, found

    def _text(self, file: str, field: str) -> str | None:
        """Return a file's text; None = it is not there, which is a problem if `field` names it."""
        try:
            return read_inside(self._folder, file)
        except FileNotFoundError:
            if field:
                self._add(FILE, field, f"there is no file {file}")
        except NotInside as error:
            self._add(file, "", str(error))
        return None

    def _add(self, file: str, field: str, message: str) -> None:
        self.problems.append(Problem(file, 0, field, message, self._severity))


def unused(translations: Translations, texts: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each key of a language that nothing of the pack says."""
    for language, entries in translations.languages.items():
        for key in entries:
            if key not in texts:
                message = f"nothing in this pack says this{did_you_mean(key, texts)}"
                yield Problem(f"{i18n.FOLDER}/{language}.json", 0, key[:100], message, "warning")


def missing(translations: Translations, texts: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each language that leaves some of the menu's `texts` as they stand."""
    worded = sorted(text for text in texts if re.search(r"\w", _FIELD.sub("", text)))
    for language, own in translations.languages.items():
        left = [
            text for text in worded if text not in own and translations.text(language, text) == text
        ]
        if left and language != "en":
            more = f", and {len(left) - 1} more" if left[1:] else ""
            message = f'does not say "{left[0][:60]}"{more}'
            yield Problem(f"{i18n.FOLDER}/{language}.json", 0, "", message, "warning")


def _plain(path: str) -> str:
    return PurePosixPath(path).as_posix()
