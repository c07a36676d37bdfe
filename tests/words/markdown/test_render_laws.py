"""Laws of rendering that hold for any Markdown, whole or cut off in the middle of a stream."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.words.markdown.render import read, render, stable_prefix
from aouo.words.markdown.tables import Entity, Part

_NASTY = """\
# Head *er* 😀
Text **bold `code` _it** al_ [l_(i)nk](http://a.b/c_(d)) ||spo**il||er**
- a
  1. b 👩‍👩‍👧‍👦
     ```py
     x = "`"
     ```
  - [x] done
> quote
> > deeper `c`
> | A | B |
> |---|--:|
> | 日本 | [x](http://localhost) |

| Name | A longer header |
|---|---|
| one | two<br>three and a lot more words |
<div>**raw**</div>

$x^2$ \\(\\frac{a}{b}\\) $5 [^1] [d]

[^1]: note
[d]: https://d.e
[u]: unused
~~~~
tail ``` 𝐚
"""
_PIECES = [
    *("*", "**", "***", "_", "__", "~", "~~", "`", "``", "```", "~~~", "$", "$$", "\\", "^"),
    *("[", "]", "(", ")", "![", "](", "|", "||", ">", "#", "-", "<", "&", ":", "!"),
    *("\n", "\n\n", "  ", "    ", "\t", "\r\n", "\x00", "\u2028", "\u200b", "\ud800", " "),
    *("```py\n", "\n> ", "\n- ", "\n1. ", "\n   - ", "\n## ", "\n---\n", "\n===\n", "- [ ] "),
    *("| a | b |\n|--|--|\n| 1 | 2 |\n", "[l](http://a.b/c)", "](http://x.y/z_(q))", "[^1]: "),
    *("[x]: y\n", "[x]", "[^1]", "<div>", "</div>", "<br>", "<!--", "&amp;", "&#8;"),
    *("\\(", "\\)", "\\[", "\\]", "\\frac{a}{b}", "http://e.org/_a_", "<http://l>", "`a`"),
    *("word", "foo ", "**b**", "日本", "😀", "👩‍👩‍👧", "🇩🇪🇫🇷", "e\u0301", "𝐚"),
]
_MARKDOWN = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=40).map("".join),
    st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=8)), max_size=25).map("".join),
    st.text(max_size=200),
)
_LIMITS = st.sampled_from([4096, 64])


def assert_valid(parts: Sequence[Part], limit: int) -> None:
    """Telegram takes these as they are. Source: core.telegram.org/bots/api#messageentity."""
    for part in parts:
        units = part.text.encode("utf-16-le")  # fails on a lone surrogate
        size = len(units) // 2
        assert 0 < size <= limit
        assert part.text == part.text.strip()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", part.text)
        assert len(part.entities) <= 100
        assert list(part.entities) == sorted(part.entities, key=lambda e: (e.offset, -e.length))
        open_entities: list[Entity] = []
        for entity in part.entities:
            end = entity.offset + entity.length
            assert entity.length > 0
            assert 0 <= entity.offset < end <= size
            units[2 * entity.offset : 2 * end].decode("utf-16-le")  # fails on half a pair
            open_entities = [o for o in open_entities if o.offset + o.length > entity.offset]
            for outer in open_entities:
                assert end <= outer.offset + outer.length, "crossing"
                assert outer.type != entity.type, "nested in its own kind"
                assert outer.type not in ("code", "pre"), "something in code"
                assert entity.type not in ("code", "pre") or outer.type == "blockquote"
                assert entity.type != "blockquote", "a quote in something"
            assert (entity.type == "text_link") == bool(entity.url)
            open_entities.append(entity)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@given(_MARKDOWN, _LIMITS)
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
def test_every_part_is_valid(markdown: str, limit: int) -> None:
    assert_valid(render(markdown, limit=limit), limit)


@given(_MARKDOWN, st.sampled_from([4096, 64, 24]))
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
def test_the_badge_is_whole_and_last(markdown: str, limit: int) -> None:
    parts = render(markdown, limit=limit, tail="\n\n— notes")

    assert_valid(parts, limit)
    assert bool(parts) == bool(render(markdown, limit=limit))
    assert all(part.text.endswith("\n\n— notes") for part in parts[-1:])


@pytest.mark.parametrize("limit", [4096, 64])
def test_every_prefix_of_a_nasty_document_is_valid(limit: int) -> None:
    """A live reply shows whatever the model has written so far."""
    for end in range(len(_NASTY) + 1):
        assert_valid(render(_NASTY[:end], limit=limit), limit)


@pytest.mark.parametrize("limit", [4096, 64])
def test_every_document_of_the_table_and_all_of_them_together_are_valid(limit: int) -> None:
    everything = (Path(__file__).parent / "nasty" / "documents.txt").read_text("utf-8")

    for document in (everything, *everything.split("\n=== ")):
        assert_valid(render(document, limit=limit), limit)


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
def test_splitting_loses_no_words_and_keeps_their_order(markdown: str) -> None:
    whole = "".join(words("\n".join(part.text for part in render(markdown))))
    split = "".join(words("\n".join(part.text for part in render(markdown, limit=64))))

    assert split == whole


_INLINE = [
    "**{}**",
    "*{}*",
    "`{}`",
    "~~{}~~",
    "[{}](http://a.b)",
    "<i>{}</i>",
    "||{}||",
    "{}",
    "${}$",
]
_BLOCKS = ["{}\n\n", "# {}\n", "- {}\n", "> {}\n\n", "1. {}\n", "```\n{}\n```\n", "<p>{}</p>\n\n"]
_MORE_BLOCKS = ["| {} | b |\n|--|--|\n| c | d | e |\n\n", "[{}]: x\n\n", "   - {}\n", "- [ ] {}\n"]


@given(
    st.lists(
        st.tuples(st.sampled_from(_BLOCKS + _MORE_BLOCKS), st.sampled_from(_INLINE)), max_size=12
    )
)
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
def test_no_word_of_the_document_is_lost(shapes: list[tuple[str, str]]) -> None:
    named = [block.format(inline.format(f"word{n}")) for n, (block, inline) in enumerate(shapes)]

    text = "\n".join(part.text for part in render("".join(named), limit=64))

    assert re.findall(r"word\d+", text) == [f"word{n}" for n in range(len(shapes))]


@given(st.lists(st.sampled_from(["Word", " ", "\n", "\n\n", "end.", "(x)", "日本"]), max_size=20))
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_the_fast_path_says_what_the_parser_would(pieces: list[str]) -> None:
    text = "x" + "".join(pieces)

    (part,) = render(re.sub(r"\n +", "\n", text))

    assert words(part.text) == words(read(text).text)
    assert (
        re.sub(r" +", " ", part.text) == re.sub(r" +", " ", read(text).text).strip() or " " in text
    )


@given(_MARKDOWN)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_a_live_reply_rolls_over_into_single_valid_messages(markdown: str) -> None:
    done, rest = "", markdown
    for _ in range(len(markdown) + 1):
        done, rest = stable_prefix(rest, limit=64)
        if not done:
            break
        finished = render(done, limit=64)
        assert len(finished) == 1
        assert_valid(finished, 64)

    assert done == ""
    assert len(render(rest, limit=64)) <= 1


_LINES = st.lists(st.integers(1, 9).map("w".__mul__), min_size=1, max_size=5).map(" ".join)
_PARAGRAPH = st.lists(_LINES, min_size=1, max_size=4).map("\n".join)


@given(st.lists(_PARAGRAPH.filter(lambda text: 8 <= len(text) <= 64), min_size=1, max_size=12))
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
def test_a_paragraph_that_fits_is_never_cut_whatever_its_lines(paragraphs: list[str]) -> None:
    """A message ends at a paragraph's end wherever that leaves at least an eighth of it filled."""
    document = "\n\n".join(paragraphs)

    parts = render(document, limit=64)
    whole = [text for part in parts for text in part.text.split("\n\n")]
    grown, rest = stable_prefix(document, limit=64)
    begun = grown.split("\n\n")[:-1]

    assert whole == paragraphs
    assert (grown + rest, begun) == (document, paragraphs[: len(begun)])
    assert bool(begun) == (len(parts) > 1)
