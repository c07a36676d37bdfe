"""What a person reads in which language, and what is wrong with a file of translations."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from aouo.packs.authoring import validate
from aouo.packs.format.fast_paths import _parse_language, translated
from aouo.packs.library import scan
from aouo.packs.load import Pack
from tests.packs.writing import MakePack

GERMAN = '{"Study": "Lernen", "Test": "Probe"}'
MENU = '[{"id": "main", "title": "Study"}]'


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Lernen"),
        ("de-AT", "Lernen"),
        ("de_ch", "Studieren"),
        ("zh-hans", "学习"),
        ("fr", "Learn"),
        ("", "Learn"),
    ],
)
def test_a_text_is_found_in_the_nearest_language(language: str, said: str) -> None:
    """The person's own, its parent, another kind of it, English."""
    translations = {
        "de": {"Study": "Lernen"},
        "de-ch": {"Study": "Studieren"},
        "zh-cn": {"Study": "学习"},
        "en": {"Study": "Learn"},
    }

    assert translated(translations, language, "Study") == said
    assert translated(translations, language, "Other") == "Other"


def load(make_pack: MakePack, files: Mapping[str, str | None]) -> Pack:
    pack = scan(make_pack("test", files).parent).get("test")
    assert pack
    return pack


@pytest.mark.parametrize(
    "named", ["", "fast_paths: {i18n: ./i18n}\n", "fast_paths: {i18n: ./i18n/de.json}\n"]
)
def test_the_languages_of_a_pack_are_its_files(make_pack: MakePack, named: str) -> None:
    """The documentation of the original names one file; all beside it count."""
    manifest = "name: test\nversion: 1.0.0\ndisplay_name: Test\n" + named
    files = {"pack.yml": manifest, "i18n/de.json": GERMAN, "i18n/pt-BR.json": "{}"}

    pack = load(make_pack, files)

    assert pack.said("de-at", "Study") == "Lernen"
    assert set(pack.translations) == {"de", "pt-br"}


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ("{", 1, "", "is not JSON"),
        ("[]", 1, "", "must be one object of texts"),
        ('{"a": "b",\n "menu": {"today": "heute"}}', 2, "menu", "the file is flat"),
        ('{"a": "b",\n "a": "c"}', 2, "a", "written twice"),
    ],
)
def test_a_file_with_a_problem_says_where_and_what(
    text: str, line: int, field: str, said: str
) -> None:
    _, (problem,) = _parse_language(text, file="i18n/de.json")

    assert (problem.file, problem.line, problem.field) == ("i18n/de.json", line, field)
    assert said in problem.message


def test_validate_names_the_key_that_nothing_says(make_pack: MakePack) -> None:
    files = {"i18n/de.json": '{"Studdy": "Lernen"}', "menu.json": MENU}

    problem, left = validate(make_pack("test", files))

    assert {problem.severity, left.severity} == {"warning"}
    assert left.message == 'does not say "Study"'
    assert problem.message == 'nothing in this pack says this; did you mean "Study"?'


def test_a_folder_of_languages_that_is_a_link_is_not_read(make_pack: MakePack) -> None:
    outside = make_pack("outside", {"i18n/de.json": GERMAN}, root="elsewhere")
    folder = make_pack("test")
    (folder / "i18n").symlink_to(outside / "i18n")

    library = scan(folder.parent)

    assert all(not pack.translations for pack in library.packs.values())


def test_a_warning_names_the_file_as_it_is_called(make_pack: MakePack) -> None:
    folder = make_pack("test", {"words/pt_BR.json": '{"Nobody says this": "Nada"}'})
    with (folder / "pack.yml").open("a") as manifest:
        manifest.write("fast_paths: {i18n: words}\n")

    assert {problem.file for problem in validate(folder)} == {"words/pt_BR.json"}
