"""Every sentence for people stands in the catalogue, is used, and is given exactly its parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import Formatter

import pytest
import yaml
from babel.core import Locale

from aouo.facts import errors
from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.languages import names, table
from aouo.facts.work import Route
from aouo.words import models
from aouo.words.catalogue import plural, text
from aouo.words.conversations import whereabouts
from scripts.plural_rules import rules

HOUSE = Path(__file__).parents[2] / "aouo"
LANGUAGE = "en"
OTHERS = [language for language in names() if language != LANGUAGE]
ASKS = ("text", "say", "sentence")
"""By what names the functions of the catalogue are called."""
SENTENCE = re.compile(r"[A-Z“/].*[.?:…]\s*", re.DOTALL)
SPEAKING = ("flow", "outbound", "telegram", "queue", "schedules", "memory", "words")
"""The rooms that what people read passes through."""
TOLD_THE_MODEL = ("flow/approving.py", "memory/edits.py", "outbound/pages.py")
"""Their sentences are results that the model reads."""


def _sentences(language: str = LANGUAGE) -> dict[str, dict[str, str]]:
    """The texts of each name by plural form; "" for a sentence that has no forms."""
    groups = yaml.safe_load((HOUSE / "words" / language / "sentences.yml").read_text("utf-8"))
    return {
        f"{group}.{name}": {"": said} if isinstance(said, str) else said
        for group, sentences in groups.items()
        for name, said in sentences.items()
    }


def _parts(said: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(said) if name is not None}


def _asked() -> Iterator[tuple[str, re.Pattern[str], set[str]]]:
    """Each place that asks for a sentence: where, its name as a pattern, the parts it gives."""
    for file in sorted(HOUSE.rglob("*.py")):
        code = file.read_text("utf-8")
        if "from aouo.words.catalogue import" not in code:
            continue
        for node in ast.walk(ast.parse(code)):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if not isinstance(node.func, ast.Name) or node.func.id not in (
                "text",
                "say",
                "sentence",
                "variants",
            ):
                continue
            first, given = node.args[0], {word.arg or "" for word in node.keywords}
            where = f"{file.relative_to(HOUSE)}:{node.lineno}"
            for name in _names(first):
                one = re.compile(name.pattern + r"-\d+") if node.func.id == "variants" else name
                yield where, one, given


def _names(node: ast.expr) -> Iterator[re.Pattern[str]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        yield re.compile(re.escape(node.value))
    elif isinstance(node, ast.JoinedStr):
        yield re.compile(
            "".join(
                re.escape(str(piece.value)) if isinstance(piece, ast.Constant) else ".+"
                for piece in node.values
            )
        )
    elif isinstance(node, ast.IfExp):
        yield from _names(node.body)
        yield from _names(node.orelse)
    elif isinstance(node, ast.Name):  # a variable, which runs over names that stand beside it
        yield re.compile(r"(?!)")


def test_each_sentence_that_is_asked_for_is_there_and_is_given_its_parts() -> None:
    sentences, wrong = _sentences(), list[str]()
    for where, pattern, given in _asked():
        fitting = [name for name in sentences if pattern.fullmatch(name)]
        if not fitting and pattern.pattern != "(?!)":
            wrong.append(f"{where} asks for {pattern.pattern}")
        wrong += [
            f"{where} gives {sorted(given)} to {name}"
            for name in fitting
            for said in sentences[name].values()
            if _parts(said) - given
        ]

    assert wrong == []


def test_each_sentence_of_the_catalogue_is_used() -> None:
    code = "\n".join(file.read_text("utf-8") for file in HOUSE.rglob("*.py"))
    patterns = [pattern for _, pattern, _ in _asked()]

    unused = [
        name
        for name in _sentences()
        if f'"{name}"' not in code
        and f'"{name.removeprefix("slots.")}"' not in code
        and not any(p.fullmatch(name) for p in patterns)
    ]

    assert unused == []


def _literals(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that look like a sentence, but for docstrings and errors' own words."""
    tree, skipped = ast.parse(file.read_text("utf-8")), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            skipped |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.Expr):
            skipped.add(id(node.value))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        elif isinstance(node, ast.JoinedStr):
            said = "".join(str(getattr(part, "value", "")) for part in node.values)
        else:
            continue
        if len(said.split()) > 2 and SENTENCE.fullmatch(said):
            yield node.lineno, said


def test_no_sentence_for_people_stands_elsewhere() -> None:
    """Errors' own words are for the log, and these rooms tell people nothing else."""
    found = [
        f"{file.relative_to(HOUSE)}:{line}: {said}"
        for room in SPEAKING
        for file in sorted((HOUSE / room).rglob("*.py"))
        if file.relative_to(HOUSE).as_posix() not in TOLD_THE_MODEL
        for line, said in _literals(file)
    ]

    assert found == []


@pytest.mark.parametrize("language", names())
def test_a_sentence_with_a_number_has_each_plural_of_its_language(language: str) -> None:
    forms = set(rules()[language][0])

    said = _sentences(language).items()
    wrong = [name for name, forms_said in said if "" not in forms_said and set(forms_said) != forms]

    assert wrong == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_says_every_sentence_with_the_same_parts(language: str) -> None:
    """Or, where it calls itself partial, whole groups of them."""

    def parts(said: dict[str, str]) -> set[str]:
        return set[str]().union(*map(_parts, said.values()))

    own, theirs = _sentences(), _sentences(language)
    groups = {name.partition(".")[0] for name in theirs}
    said = {name for name in own if name.partition(".")[0] in groups}

    assert said == set(theirs)
    assert (said < set(own)) == table(language, "spelling").get("partial", False)
    assert [name for name in theirs if parts(own[name]) != parts(theirs[name])] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_sentence_is_in_its_own_language(language: str) -> None:
    """None is left as it stands in English, but for what has no words of a language."""
    own, theirs = _sentences(), _sentences(language)
    same = [name for name in theirs if own[name] == theirs[name]]

    assert [n for n in same if len(re.findall(r"[a-z]{3,}", _bare(own[n]))) > 2] == []


def _bare(said: dict[str, str]) -> str:
    return re.sub(r"\{[^}]*\}|/\w+|`[^`]*`", "", " ".join(said.values()))


def test_theplurals_of_all_languages_are_those_of_unicode() -> None:
    """Source: CLDR, as Babel has it; `scripts/plurals` writes them down."""
    numbers = [*range(210), 1_000, 1_000_000, 2_000_001]

    wrong = [
        (language, number)
        for language in rules()
        for number in numbers
        if plural(language, number) != Locale.parse(language).plural_form(number)
    ]

    assert wrong == []


def test_a_part_is_put_in_as_it_is_written() -> None:
    assert text("topics.created", packs="{notes}, {0.x}") == "Created: {notes}, {0.x}"


# Sentences with a rule of their own. Source: reference part B, "what people read"


HERE = Route(1, "notes", "", "s", "", 1)


def test_why_a_model_gave_no_answer_has_words_for_each_error() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    found = {
        one.__name__: models.no_answer_because(one.__name__)
        for one in kinds
        if issubclass(one, errors.ProviderError) and one is not errors.ProviderError
    }

    assert "ProviderBusy" in found
    assert [name for name, why in found.items() if why == "failed"] == []


@pytest.mark.parametrize(
    ("writes_bytes", "said"), [(0, "0 bytes"), (1, "1 byte"), (1_234, "1,234 bytes")]
)
def test_an_approval_counts_what_would_be_written(writes_bytes: int, said: str) -> None:
    assert text("questions.writes", count=writes_bytes) == f"write {said} to"


@pytest.mark.parametrize(("platform", "told"), [("tg", True), ("web", False), ("cli", False)])
def test_whereami_tells_a_topic_only_where_there_are_topics(platform: Platform, told: bool) -> None:
    where = whereabouts(ConversationAddress(platform, "~"), HERE, ["notes"])

    assert ("Topic: none" in where.text) == told


def test_whereami_says_what_is_off_the_record_and_how_to_end_it() -> None:
    here = ConversationAddress("tg", "1")
    on_the_record = whereabouts(here, HERE, ["notes"]).text
    off = whereabouts(here, replace(HERE, off_record=True), ["notes"]).text

    assert off == f"{on_the_record}\nOff the record: nothing is kept. /otr ends it."
