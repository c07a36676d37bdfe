"""Two hundred nasty documents, and a thousand random ones: nothing is refused, nothing is lost.

They are judged by the local Telegram, which cleans, trims and refuses as the real one does
(`aouo/emulator/entities.py`). In `more.txt` `⟦U+200D⟧` stands for a character, `⟦50×word ⟧` for
repetition, and `| lost:` in a title names words that are not shown on purpose.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.emulator.entities import formatted
from aouo.words.markdown.render import render, stable_prefix
from aouo.words.markdown.tables import Part
from tests.words.markdown.test_render_laws import _MARKDOWN, assert_valid

_FOLDER = Path(__file__).parent / "nasty"
_LIMIT = 4096


@dataclass(frozen=True)
class Document:
    """`lost` are words of `markdown` that nobody shall see."""

    title: str
    markdown: str
    lost: str = ""


def _documents() -> list[Document]:
    found: list[Document] = []
    for name in ("documents.txt", "more.txt"):
        _, *items = (_FOLDER / name).read_text("utf-8").split("=== ")
        for item in items:
            title, _, rest = item.partition("\n")
            title, _, lost = title.partition(" | lost: ")
            markdown = rest.partition("\n--- becomes\n")[0].removesuffix("\n")
            found.append(Document(title, _spelled_out(markdown), _spelled_out(lost)))
    return found


def _spelled_out(text: str) -> str:
    text = re.sub(r"⟦U\+([0-9A-F]+)⟧", lambda match: chr(int(match[1], 16)), text)
    count = 1
    while count:
        text, count = re.subn(r"⟦(\d+)×([^⟦⟧]*)⟧", lambda match: int(match[1]) * match[2], text)
    return text


DOCUMENTS = _documents()


def assert_taken(parts: Sequence[Part]) -> None:
    """The server keeps each part as it is: no text cleaned away, no entity dropped or moved."""
    for part in parts:
        ours = [{k: v for k, v in asdict(e).items() if v != ""} for e in part.entities]
        kept = formatted(part.text, ours)
        assert kept.text == part.text
        shown = {(e.kind, e.offset, e.length) for e in kept.entities}
        assert {(e.type, e.offset, e.length) for e in part.entities} <= shown


def signs(text: str) -> Counter[str]:
    """Everything that can be read: letters and digits, and the marks on them."""
    plain = unicodedata.normalize("NFKC", text)  # a formula's ² is a 2
    return Counter(c for c in plain if unicodedata.category(c)[0] in "LNM")


def assert_kept(document: Document, parts: Sequence[Part]) -> None:
    source = re.sub(r"(?i)<br\s*/?>", "", html.unescape(document.markdown))
    shown = "".join(
        part.text + "".join(e.url + e.language for e in part.entities) for part in parts
    )
    assert not signs(source) - signs(shown) - signs(document.lost)


def test_there_are_two_hundred_of_them() -> None:
    assert len(DOCUMENTS) >= 200
    assert len({document.title for document in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.title)
def test_a_nasty_document_is_taken_and_loses_nothing(document: Document) -> None:
    parts = render(document.markdown)

    assert_valid(parts, _LIMIT)
    assert_taken(parts)
    assert_kept(document, parts)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.title)
def test_a_nasty_document_that_grows_rolls_over_and_loses_nothing(document: Document) -> None:
    parts: list[Part] = []
    rest = document.markdown
    while True:
        done, rest = stable_prefix(rest)
        (*page,) = render(done or rest)
        assert len(page) <= 1
        parts += page
        if not done:
            break

    assert_valid(parts, _LIMIT)
    assert_taken(parts)
    assert_kept(document, parts)


@given(_MARKDOWN)
@settings(max_examples=1_000, deadline=None, derandomize=True, database=None)
def test_a_random_document_is_taken(markdown: str) -> None:
    assert_taken(render(markdown))


_STYLED = st.sampled_from(
    [
        *("**a** ", "`b` ", "[l](http://a.b) ", "*c*", "~~d~~ ", "||e|| ", "f\n\n"),
        *("***h `i` j***", "@ada ", "#g ", "see a.org, ", "/k ", "l@m.org "),
    ]
)


@given(st.lists(_STYLED, min_size=90, max_size=400).map("".join))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_a_crowded_document_is_cut_and_loses_no_style(markdown: str) -> None:
    """About 100 entities a message, those that the server finds included; it drops the rest."""
    parts = render(markdown)

    assert_valid(parts, _LIMIT)
    assert_taken(parts)
    found = Counter(entity.type for part in parts for entity in part.entities)
    assert found["text_link"] == markdown.count("[l]")
    assert found["code"] == markdown.count("`") / 2
