"""What the documents name is there: files, headings, names in the code. Source: issue 13."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from aouo.config.keys import get, sample
from scripts.house import HOUSE, ROOT

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
OF_THE_CODE = tuple(DOCS / name for name in ("way.md", "design.md", "glossary.md"))
LINK = re.compile(r"\]\(([^)\s:]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"([A-Za-z]\w+)\.(\w+)(?:\(.*\))?")
FILE = re.compile(r"(?:\w+/)*\w+\.(?:py|yml|json|toml)|(?:\w+/)+")
NOT_OURS = ("artifacts/", "media/", "migrations/", "pack.yml", "config.json")
"""Files of homes and packs."""


def test_each_link_leads_to_a_file_and_to_a_heading_of_it() -> None:
    lost = [(place, link) for page, place, link in _found(PAGES, LINK) if not _leads(page, link)]

    assert lost == []


def test_each_file_that_is_named_is_there() -> None:
    pages = (*OF_THE_CODE, ROOT / "README.md")
    named = [(place, text) for _, place, text in _found(pages, CODE) if FILE.fullmatch(text)]

    assert [(place, text) for place, text in named if not _is_there(text)] == []


def test_each_name_of_the_code_is_there() -> None:
    """`module.name`, `Class.attribute`, or else a key of the configuration or of a manifest."""
    named = [
        (place, text, match[1], match[2])
        for _, place, text in _found(OF_THE_CODE, CODE)
        if (match := DOTTED.fullmatch(text)) and not FILE.fullmatch(text)
    ]

    assert [(place, text) for place, text, *parts in named if not _is_known(text, *parts)] == []


def _found(pages: Sequence[Path], what: re.Pattern[str]) -> Iterator[tuple[Path, str, str]]:
    """Page, place and text of each match."""
    for page in pages:
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            for text in what.findall(line):
                yield page, f"{page.name}:{number}", text


def _leads(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in _headings(target))


@cache
def _headings(page: Path) -> frozenset[str]:
    """As GitHub calls them in addresses."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return frozenset(title.replace(" ", "-") for title in words)


def _is_there(text: str) -> bool:
    if text in NOT_OURS or (ROOT / text).exists() or (HOUSE / text).exists():
        return True
    return "/" not in text and any(HOUSE.rglob(text))


def _is_known(text: str, owner: str, name: str) -> bool:
    sources = _sources()[owner]
    if any(re.search(rf"\b{name}\b", source) for source in sources):
        return True
    return get(sample(), text) is not None or text in _contract()


@cache
def _sources() -> dict[str, list[str]]:
    """The text of each module and of each class, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in HOUSE.rglob("*.py"):
        text = file.read_text("utf-8")
        found[file.stem].append(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(ast.get_source_segment(text, node) or "")
    return found


@cache
def _contract() -> str:
    return (DOCS / "packs.md").read_text("utf-8") + (DOCS / "extending.md").read_text("utf-8")
