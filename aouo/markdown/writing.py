"""Collects text with marks over it into a document."""

from dataclasses import dataclass

from aouo.markdown.entities import Mark
from aouo.markdown.tables import Cell


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its marks, and where its blocks start (a heading is one block with what follows)."""

    text: str
    marks: tuple[Mark, ...]
    blocks: tuple[int, ...]


class Output:
    """Collects written text and the marks over it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.newlines = 0
        self.marks: list[Mark] = []

    def write(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)
            bare = len(text.rstrip("\n"))
            self.newlines = len(text) - bare + (0 if bare else self.newlines)

    def mark(self, kind: str, start: int, *, url: str = "", language: str = "") -> None:
        if start < self.length:
            self.marks.append(Mark(kind, start, self.length, url, language))

    def drop(self) -> None:
        """Undo the last write."""
        self.length -= len(self.pieces.pop())

    def since(self, start: int) -> str:
        """Return what was written from `start` on, where a write must have begun."""
        size = self.length - start
        count = 0
        while size > 0:
            count += 1
            size -= len(self.pieces[-count])
        return "".join(self.pieces[-count:]) if count else ""

    def cell(self) -> Cell:
        """Return the whole text as a table's cell."""
        text = "".join(self.pieces)
        left = len(text) - len(text.lstrip())
        return Cell(text.strip(), tuple(mark.moved(-left) for mark in self.marks))
