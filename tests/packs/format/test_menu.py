"""What `menu.json` may say, and how we say what is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.ports import ButtonSpec
from aouo.facts.taps import fits
from aouo.packs.authoring import validate
from aouo.packs.format.menu import Page, parse_menu
from aouo.packs.format.problems import Problem
from aouo.packs.library import scan
from tests.packs.writing import MakePack

TWO_PAGES = """\
[
  {"id": "main", "title": "Words", "text": "What now?",
   "rows": [
     [{"text": "Hello", "callback": "skill:hello"}, {"text": "More", "callback": "nav:more"}],
     [{"text": "Say it", "callback": "hello"}]
   ]},
  {"id": "more", "title": "Newest",
   "sql": "SELECT name, count FROM items", "row": "{name}: {count}", "empty": "None yet.",
   "rows": [[{"text": "Back", "callback": "menu"}]]}
]
"""


def one(page: str, **known: object) -> list[tuple[int, str, str]]:
    """The problems of a menu whose other page is sound."""
    text = '[{"id": "main", "title": "Main"},\n' + page + "\n]"
    _, problems = parse_menu(text, skills=["hello"], pack="test")
    return [(problem.line, problem.field, problem.message) for problem in problems]


def test_a_menu_is_its_pages_and_the_first_is_what_menu_opens() -> None:
    menu, problems = parse_menu(TWO_PAGES, skills=["hello"])

    assert problems == ()
    assert menu[0] == Page(
        "main",
        "Words",
        "What now?",
        rows=(
            (ButtonSpec("Hello", "skill:hello"), ButtonSpec("More", "nav:more")),
            (ButtonSpec("Say it", "hello"),),
        ),
    )
    assert menu[1] == Page(
        "more",
        "Newest",
        sql="SELECT name, count FROM items",
        row="{name}: {count}",
        empty="None yet.",
        rows=((ButtonSpec("Back", "menu"),),),
    )


@pytest.mark.parametrize(
    ("button", "said"),
    [
        ('{"text": "Go", "callback": "nav:mian"}', 'there is no page "mian"; did you mean "main"?'),
        ('{"text": "Go", "callback": "skill:other:hello"}', 'no skill "other:hello"'),
        ('{"text": "Go", "callback": "' + "é" * 40 + '"}', "has 80 bytes; Telegram takes 64"),
        ('{"text": "Go", "callback": ""}', "has no callback"),
        ('{"text": "Go"}', "has no callback"),
        ('{"text": "Go", "callback": "pack:other"}', "only the runtime's own buttons"),
    ],
)
def test_a_button_that_could_not_work_is_named_with_its_page(button: str, said: str) -> None:
    ((line, field, message),) = one(f'{{"id": "b", "title": "B",\n "rows": [[{button}]]}}')

    assert (line, field) == (3, "[1].rows[0][0].callback") or "callback" not in button
    assert message.startswith('button "Go" of the page "b": ')
    assert said in message


@pytest.mark.parametrize(
    ("page", "field", "said"),
    [
        ('{"title": "B"}', "[1].id", "is required"),
        ('{"id": "a b", "title": "B"}', "[1].id", "is no page id"),
        ('{"id": "budget_raise_1", "title": "B"}', "[1].id", "like a button of the runtime"),
        ('{"id": "b"}', "[1]", 'the page "b" needs a title or a text'),
        ('{"id": "b", "titel": "B", "text": "x"}', "[1].titel", 'did you mean "title"?'),
        ('{"id": "b", "title": 3, "text": "x"}', "[1].title", "must be text"),
        ('{"id": "b", "sql": "SELECT 1"}', "[1].row", "is required with sql"),
        ('{"id": "b", "sql": "SELECT 1", "row": "{a.b}"}', "[1].row", "is no column"),
        ('{"id": "b", "sql": "SELECT 1", "row": "{a"}', "[1].row", "is no template"),
        ('{"id": "b", "title": "B", "rows": [{}]}', "[1].rows", "a list of rows"),
        ('{"id": "b", "title": "B", "rows": [["x"]]}', "[1].rows[0][0]", "must be a button"),
        ('"b"', "[1]", "must be a page"),
        ('{"id": "b", "title": "B", "title": "C"}', "[1].title", "written twice"),
        ('{"id": "b", "title": NaN}', "", "is not JSON"),
        ("[" * 9000, "", ""),
        ("{", "", "is not JSON"),
    ],
)
def test_a_page_with_a_problem_says_where_and_what(page: str, field: str, said: str) -> None:
    first, *_ = one(page)

    assert first[1] == field
    assert said in first[2]


def test_a_page_that_cannot_be_shown_still_has_its_buttons_checked() -> None:
    page = (
        '{"id": "b", "sql": "SELECT 1", "rows": [[{"text": "On", "callback": "nav:no"}]]},'
        '{"id": "c", "rows": [[{"text": "On", "callback": "skill:no"}]]}'
    )

    assert {field for _, field, _ in one(page)} == {
        "[1].row",
        "[1].rows[0][0].callback",
        "[2]",
        "[2].rows[0][0].callback",
    }


def test_what_is_wrong_is_left_out_and_the_rest_stays() -> None:
    text = '[{"id": "a", "title": "A", "rows": [[{"text": "x", "callback": "nav:b"}, 1]]}, {}]'

    menu, problems = parse_menu(text)

    assert menu == (Page("a", "A"),)
    assert len(problems) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "title", "rows", "text", "callback"]), inner)
    ),
    max_leaves=20,
)


@given(st.text() | JSON.map(json.dumps))
def test_whatever_is_read_each_button_can_be_sent_and_each_page_found(text: str) -> None:
    menu, _ = parse_menu(text)

    assert len({page.id for page in menu}) == len(menu)
    for page in menu:
        assert all(fits(button.data) and button.label for row in page.rows for button in row)


def test_a_menu_needs_no_line_in_the_manifest(make_pack: MakePack) -> None:
    folder = make_pack("test", {"menu.json": TWO_PAGES})

    pack = scan(folder.parent).get("test")

    assert pack
    assert pack.menu[0].id == "main"


def test_a_broken_menu_leaves_the_pack_working_and_is_an_error_in_validate(
    make_pack: MakePack,
) -> None:
    folder = make_pack("test", {"menu.json": "[{]"})

    library = scan(folder.parent)

    said = "is not JSON: Expecting property name enclosed in double quotes"
    assert library.warnings["test"] == (Problem("menu.json", 1, "", said, "warning"),)
    assert validate(folder) == (Problem("menu.json", 1, "", said),)


@pytest.mark.parametrize(
    ("sql", "row", "field", "said"),
    [
        ("SELECT nam FROM items", "{nam}", "sql", "no such column: nam"),
        ("DELETE FROM items", "{x}", "sql", "only SELECT can be used here"),
        ("SELECT 1; SELECT 2", "{x}", "sql", "one statement"),
        ("SELECT name FROM items", "{nam}", "row", 'no column "nam"; did you mean "name"?'),
    ],
)
def test_validate_tries_the_query_of_a_page(
    make_pack: MakePack, sql: str, row: str, field: str, said: str
) -> None:
    page = {"id": "main", "title": "All", "sql": sql, "row": row}
    folder = make_pack("test", {"menu.json": json.dumps([page])})

    (problem,) = validate(folder)

    assert (problem.file, problem.line, problem.field) == ("menu.json", 1, f"[0].{field}")
    assert problem.message.startswith('the page "main": ')
    assert said in problem.message
    assert scan(folder.parent).names == ("test",)


def test_validate_finds_nothing_in_a_sound_menu(make_pack: MakePack) -> None:
    assert validate(make_pack("test", {"menu.json": TWO_PAGES})) == ()
