"""Writes the plural rules of all languages, by form, as expressions that gettext reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

from babel.core import Locale
from babel.localedata import locale_identifiers
from babel.plural import to_gettext

PLURALS = Path(__file__).parents[1] / "aouo" / "words" / "plurals.json"
FORMS = ("zero", "one", "two", "few", "many", "other")


def rules() -> dict[str, tuple[list[str], str]]:
    """Return (forms, expression) by language; the expression counts the forms from 0."""
    found: dict[str, tuple[list[str], str]] = {}
    for language in sorted(name for name in locale_identifiers() if "_" not in name):
        rule = Locale.parse(language).plural_form
        expression = to_gettext(rule).partition("plural=")[2].rstrip(";")
        # `e` is the exponent of numbers written as 1c6; whole numbers are written out here
        expression = re.sub(r"\be\b", "0", expression)
        found[language] = ([form for form in FORMS if form in {*rule.tags, "other"}], expression)
    return found


def main() -> None:
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rules().items())
    PLURALS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
