"""`i18n/<language>.json`: what a pack's buttons and names say in other languages.

Flat: `{"Study": "Lernen"}`, keyed by the very text that menu.json, the manifest or a skill has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from aouo.packs.format.json_text import read_json
from aouo.packs.format.problems import Problem, Severity
from aouo.packs.format.yaml_text import TextRefused, field_name, nearest_line

FOLDER = "i18n"
LANGUAGES_MAX = 50
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


def parse_language(
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


def language_of(file_name: str) -> str:
    """Return the language a file is named after, or "" if that is no language."""
    name = normal(file_name.removesuffix(".json"))
    return name if file_name.endswith(".json") and _LANGUAGE.fullmatch(name) else ""
