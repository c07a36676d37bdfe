"""What people see of the Markdown a model writes; the documents are in nasty/documents.txt."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aouo.words.markdown.render import render, stable_prefix
from aouo.words.markdown.tables import Entity, Part, utf16_len

_FILE = Path(__file__).parent / "nasty" / "documents.txt"
_SPLIT = re.split(r"^=== (.*)\n", _FILE.read_text("utf-8"), flags=re.MULTILINE)
_DOCUMENTS = [
    pytest.param(*document.removesuffix("\n").split("\n--- becomes\n"), id=name)
    for name, document in zip(_SPLIT[1::2], _SPLIT[2::2], strict=True)
]


def shown(part: Part) -> str:
    """A part with each entity as `{type language url|text}`."""
    units = part.text.encode("utf-16-le")
    out = ""
    for at in range(len(units) // 2 + 1):
        out += "}" * sum(e.offset + e.length == at for e in part.entities)
        for e in part.entities:
            if e.offset == at:
                out += "{" + " ".join(filter(None, (e.type, e.language, e.url))) + "|"
        out += units[2 * at : 2 * at + 2].decode("utf-16-le", "surrogatepass")
    return out.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


@pytest.mark.parametrize(("markdown", "expected"), _DOCUMENTS)
def test_a_document_becomes_what_a_person_expects(markdown: str, expected: str) -> None:
    assert "\n--- part\n".join(map(shown, render(markdown))) == expected


@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b", "\u2060 \ufeff", "\r\n\x00"])
def test_a_blank_document_is_no_message_even_with_a_badge(blank: str) -> None:
    """Telegram: text must be non-empty, and what only looks empty is empty."""
    assert render(blank) == ()
    assert render(blank, tail="\n\n— notes") == ()


def test_control_characters_are_cleaned_as_the_server_does() -> None:
    assert render("a\r\nb\x00c\x1fd\te\u202ef\u2028g") == (Part("a\nb c d e f\ng", ()),)
    assert render("**a\x07b** &#8;c") == (Part("a b  c", (Entity("bold", 0, 3),)),)


def test_a_lone_surrogate_becomes_the_replacement_sign() -> None:
    assert render("a \ud800 **b**") == (Part("a \ufffd b", (Entity("bold", 4, 1),)),)


def test_offsets_count_utf16_units() -> None:
    assert utf16_len("a😀é") == 4
    assert render("😀 **b**") == (Part("😀 b", (Entity("bold", 3, 1),)),)


def test_plain_text_needs_no_parser() -> None:
    """A fast path: the first plain answer must not pay for the parser's import."""
    code = (
        "import sys; from aouo.words.markdown.render import render; "
        "render('Just words (really): 1 + 1');"
        "print([m for m in ('pyromark', 'telegramify_markdown') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )

    assert ran.stdout.strip() == "[]"


def test_a_long_fence_goes_on_as_code_in_the_same_language() -> None:
    lines = "".join(f"line {n}\n" for n in range(20))

    parts = render(f"```py\n{lines}```\nend", limit=64)

    assert "\n".join(p.text for p in parts) == f"{lines}end"
    assert all(p.entities == (Entity("pre", 0, len(p.text), "", "py"),) for p in parts[:-1])
    assert len(parts) > 2


def test_text_is_cut_between_blocks_then_lines_then_words() -> None:
    assert [p.text for p in render(f"{'a ' * 10}\n\n{'b ' * 25}", limit=64)] == [
        ("a " * 10).strip(),
        ("b " * 25).strip(),
    ]
    assert [p.text for p in render(f"{'a' * 30}\n{'b ' * 25}", limit=64)] == [
        "a" * 30,
        ("b " * 25).strip(),
    ]
    assert [p.text for p in render(f"{'a' * 60} {'b' * 60}", limit=64)] == ["a" * 60, "b" * 60]
    assert [p.text for p in render("a" * 130, limit=64)] == ["a" * 64, "a" * 64, "aa"]


def test_a_later_block_does_not_pull_the_cut_beyond_the_limit() -> None:
    assert [p.text for p in render("日本🇩🇪🇫🇷\n\nword", limit=7)] == ["日本🇩🇪", "🇫🇷", "word"]


def test_a_heading_stays_with_what_follows_it() -> None:
    parts = render(f"{'word ' * 8}\n\n# Head\n\n{'b ' * 20}", limit=64)

    assert [p.text.split("\n")[0] for p in parts] == [("word " * 8).strip(), "Head"]


def test_a_cut_spares_links_and_joined_emoji() -> None:
    parts = render(f"{'x' * 50} [a label of two words](https://a.b/c) end", limit=64)
    assert [p.text for p in parts] == ["x" * 50, "a label of two words end"]
    assert parts[1].entities == (Entity("text_link", 0, 20, "https://a.b/c"),)

    family = "👩‍👩‍👧"
    assert {p.text.replace(family, "") for p in render(family * 40, limit=64)} == {""}
    assert {p.text.replace("🇩🇪", "") for p in render("🇩🇪" * 90, limit=62)} == {""}


def test_a_table_in_a_list_begins_at_the_margin() -> None:
    """In letters of one width an indented first line would not stand above its own."""
    (part,) = render("- one\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n\n- two")

    assert part.text == "• one\n\na | b\n--+--\n1 | 2\n\n• two"


@pytest.mark.parametrize(
    "sign",
    [
        "🇦🇦",
        "🇿🇿",
        "👍🏻",
        "👍🏿",
        "❤️",
        "a\u0300",
        "e\u20dd",
        "\U0001f3f4\U000e0020\U000e007f",
        "👩‍👩‍👧",
    ],
    ids=ascii,
)
def test_no_cut_goes_through_a_sign_of_several_characters(sign: str) -> None:
    for limit in range(60, 70):
        parts = render(sign * 60, limit=limit)
        assert {part.text.replace(sign, "") for part in parts} == {""}, limit


def test_a_part_ends_before_the_entity_that_telegram_would_drop() -> None:
    """About 100 entities a message; the rest is dropped without a word."""
    markdown = "**a** " * 90 + "[l](https://a.b) " * 20 + "`c` " * 150

    parts = render(markdown)

    assert [len(part.entities) for part in parts] == [100, 100, 60]
    assert " ".join(part.text for part in parts) == "a " * 90 + "l " * 20 + "c " * 149 + "c"


def test_a_crowded_part_is_cut_between_blocks() -> None:
    lines = "".join(f"- **{n}**: `x` and *y*\n" for n in range(60))

    parts = render(f"Here:\n\n{lines}")

    assert [len(part.entities) for part in parts] == [99, 81]
    assert parts[1].text.startswith("• 33: x and y")


def test_styles_cut_by_code_count_as_often_as_they_are_shown() -> None:
    parts = render("**" + "a `b` " * 60 + "end**")

    assert [len(part.entities) for part in parts] == [100, 21]


def test_a_live_reply_rolls_over_before_it_is_crowded() -> None:
    done, rest = stable_prefix("*a* " * 130)

    assert (len(render(done)[0].entities), len(render(rest)[0].entities)) == (100, 30)


def test_the_badge_ends_the_last_part_and_is_never_alone() -> None:
    badge = "\n\n— notes"
    assert render("**hi**", tail=badge) == (Part("hi\n\n— notes", (Entity("bold", 0, 2),)),)
    for size in range(50, 70):
        parts = render("ab " * (size // 3) + "c" * (size % 3), limit=64, tail=badge)
        assert parts[-1].text.endswith(badge)
        assert parts[-1].text != badge.strip()
        assert all(utf16_len(p.text) <= 64 for p in parts)


def test_a_badge_that_leaves_no_room_stands_alone_and_a_longer_one_is_refused() -> None:
    assert [p.text for p in render("text", limit=8, tail="— badge!")] == ["text", "— badge!"]
    with pytest.raises(ValueError, match="no room"):
        render("text", limit=8, tail="— badges!")


def test_a_live_reply_that_fits_is_not_split() -> None:
    assert stable_prefix("# a\n\n**b", limit=64) == ("", "# a\n\n**b")


def test_a_live_reply_rolls_over_before_the_block_that_does_not_fit() -> None:
    first, second = "- word\n" * 5, "\nAnother **paragraph** that is too long to fi"

    assert stable_prefix(first + second, limit=64) == (first + "\n", second[1:])


def test_a_live_fence_that_is_too_long_is_opened_again() -> None:
    markdown = "```py\n" + "x = 1\n" * 20

    done, rest = stable_prefix(markdown, limit=64)

    assert done == "```py\n" + "x = 1\n" * 10
    assert rest == "```py\n" + "x = 1\n" * 10
    assert render(rest, limit=64)[0].entities == (Entity("pre", 0, 59, "", "py"),)


def test_a_live_table_that_is_too_long_keeps_its_head() -> None:
    markdown = "| A | B |\n|---|---|\n" + "| one | two |\n" * 8

    done, rest = stable_prefix(markdown, limit=64)

    assert done == "| A | B |\n|---|---|\n" + "| one | two |\n" * 4
    assert rest == done


def test_a_list_continues_in_the_next_live_message() -> None:
    markdown = "Intro\n\n" + "1. step\n2. step\n3. step\n" * 3

    done, rest = stable_prefix(markdown, limit=64)

    assert done.endswith("step\n")
    assert re.match(r"\d\. step\n", rest)
    assert done + rest == markdown
