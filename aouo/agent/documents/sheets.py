"""Extracts the rows of Excel files, and says what the cells show besides their values.

Values come from calamine; what it does not tell (formulas without a value, merged cells, comments,
number formats) is read from the parts themselves.
Source: ECMA-376, part 1, 18.3 (worksheets), 18.7 (comments), 18.8 (styles).
"""

from __future__ import annotations

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import unescape
from io import BytesIO

from aouo.agent.documents.kinds import MAX_UNPACKED_BYTES, Extract, Range, Unreadable, numbered, row

_NAMED = 20
"""So many cells of a kind are named; the others are counted."""
_COMMENTS = 200
_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", re.DOTALL)
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^>]*?(?:/>|>([^<]*)<)")
_STYLE = re.compile(rb'\bs="(\d+)"')
_VALUE = re.compile(rb"<(?:\w+:)?v\b[^>]*>[^<]")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z0-9:]+)"')
_COMMENT = re.compile(
    rb'<(?:\w+:)?comment\b[^>]*\bref="([A-Z0-9]+)"[^>]*>(.*?)</(?:\w+:)?comment>', re.DOTALL
)
_TEXT = re.compile(rb"<(?:\w+:)?t\b[^>]*>([^<]*)<")
_SHEET = re.compile(rb"<(?:\w+:)?sheet\b[^>]*>")
_XFS = re.compile(rb"<(?:\w+:)?cellXfs\b.*?</(?:\w+:)?cellXfs>", re.DOTALL)
_XF = re.compile(rb'<(?:\w+:)?xf\b[^>]*\bnumFmtId="(\d+)"')
_FORMAT = re.compile(rb"<(?:\w+:)?numFmt\b[^>]*>")
_RELATION = re.compile(rb"<Relationship\b[^>]*>")
_TELLING = re.compile(r'%|[$€£¥₹]|"[^"]+"|^0{2,}$|E\+')
"""Formats that say more than the number does: percent, money, words, leading zeros."""
_BUILT_IN = {"9": "0%", "10": "0.00%", "11": "0.00E+00", "44": "$ #,##0.00"}


def xlsx(data: bytes, wanted: Range) -> Extract:
    """Return the rows of every sheet as values, under its name; the range applies to each sheet."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        sheets = [(name, book.get_sheet_by_name(name)) for name in book.sheet_names]
    except (CalamineError, OSError) as error:
        raise Unreadable(f"The workbook cannot be opened: {str(error)[:200]}.") from error
    heads: list[str] = []
    total = 0
    with zipfile.ZipFile(BytesIO(data)) as archive:
        package = _Package(archive)
        for name, sheet in sheets:
            rows = [row(cells) for cells in sheet.to_python(skip_empty_area=False)]
            total = max(total, len(rows))
            shown = [line for number, line in enumerate(rows, 1) if wanted.holds(number)]
            heads.append(f"## {name} ({len(rows):,} rows)")
            heads += [*shown, *package.besides(name)]
        left_out = package.left_out()
    if wanted.first > max(total, 1):
        raise Unreadable(f"There are only {total:,} rows.")
    whole = numbered(heads, Range(), "rows")
    note = "; ".join(filter(None, (whole.note and "cut; ask for a range of rows", left_out)))
    return Extract(whole.text, "rows", total, note)


class _Package:
    """The parts of a workbook that calamine does not tell of."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        self._formats = self._read_formats()
        relations = self._relations("xl/workbook.xml")
        heads = map(_attributes, _SHEET.findall(self._part("xl/workbook.xml")))
        self._sheets = {head.get("name", ""): relations.get(head.get("id", "")) for head in heads}

    def besides(self, sheet: str) -> Iterator[str]:
        """Return lines on what a sheet's cells hold besides their values."""
        part = self._sheets.get(sheet) or ""
        xml = self._part(part)
        uncounted: list[str] = []
        formats: defaultdict[str, list[str]] = defaultdict(list)
        for cell in _CELL.finditer(xml):
            inside = cell[2] or b""
            style = _STYLE.search(cell[1])
            shown_as = self._formats.get(style[1].decode(), "") if style else ""
            formula = None if _VALUE.search(inside) else _FORMULA.search(inside)
            if not (formula or shown_as):
                continue  # nearly all of a million cells
            head = _attributes(cell[1])
            place = head.get("r", "?")
            if formula:
                uncounted.append(f"{place} = {_plain(formula[1] or b'a shared formula')}")
            elif inside and head.get("t", "n") == "n":
                formats[shown_as].append(place)
        merged = [place.decode() for place in _MERGED.findall(xml)]
        if uncounted:
            yield f"[formulas without a stored value: {_few(uncounted, '; ')}]"
        if merged:
            yield f"[merged, the value stands in the first cell: {_few(merged)}]"
        for form, places in formats.items():
            yield f"[shown in the format {form}: {_few(places)}]"
        yield from self._comments(part)

    def left_out(self) -> str:
        """Return what nothing is read of, "" = there is none."""
        kinds = {"picture": "xl/media/", "chart": "xl/charts/chart"}
        found: list[str] = []
        for kind, start in kinds.items():
            if n := sum(name.startswith(start) for name in self._names):
                found.append(f"{n} {kind}{'s' * (n > 1)}")
        return f"not read: {', '.join(found)}" if found else ""

    def _comments(self, sheet: str) -> Iterator[str]:
        for target in self._relations(sheet).values():
            if "comments" in target and "threaded" not in target:
                found = _COMMENT.findall(self._part(target))
                for place, inside in found[:_COMMENTS]:
                    words = _plain(b"".join(_TEXT.findall(inside)))
                    yield f"[comment on {place.decode()}: {words}]"
                if len(found) > _COMMENTS:
                    yield f"[{len(found) - _COMMENTS:,} more comments, not read]"

    def _read_formats(self) -> dict[str, str]:
        """Return the telling number format of each style: index of the style → format."""
        xml = self._part("xl/styles.xml")
        own = {
            head.get("numFmtId", ""): head.get("formatCode", "")
            for head in map(_attributes, _FORMAT.findall(xml))
        }
        own |= _BUILT_IN
        found = _XFS.search(xml)
        codes = [own.get(number.decode(), "") for number in _XF.findall(found[0] if found else b"")]
        return {str(at): code for at, code in enumerate(codes) if _TELLING.search(code)}

    def _relations(self, part: str) -> dict[str, str]:
        """Return the parts that a part refers to, by id."""
        folder, _, name = part.rpartition("/")
        found = _RELATION.findall(self._part(f"{folder}/_rels/{name}.rels"))
        heads = list(map(_attributes, found))
        return {head.get("Id", ""): _joined(folder, head.get("Target", "")) for head in heads}

    def _part(self, name: str) -> bytes:
        if name not in self._names:
            return b""
        with self._archive.open(name) as opened:
            return opened.read(MAX_UNPACKED_BYTES)


def _attributes(head: bytes) -> dict[str, str]:
    """Return the attributes of a tag, without namespaces."""
    found = re.findall(rb'([\w:]+)="([^"]*)"', head)
    return {name.decode().rpartition(":")[2]: _plain(value) for name, value in found}


def _joined(folder: str, target: str) -> str:
    if target.startswith("/"):
        return target[1:]
    parts = folder.split("/")
    while target.startswith("../"):
        target, parts = target[3:], parts[:-1]
    return "/".join((*parts, target))


def _plain(text: bytes) -> str:
    return " ".join(unescape(text.decode("utf-8", "replace")).split())


def _few(found: Iterable[str], separator: str = ", ") -> str:
    listed = list(found)
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return separator.join(listed[:_NAMED]) + more
