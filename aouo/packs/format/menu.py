"""`menu.json`: pages of buttons that a pack answers with, without a model.

    [{"id": "main", "title": "Words", "text": "What now?",
      "sql": "SELECT word, meaning FROM words ORDER BY id DESC", "row": "{word}: {meaning}",
      "empty": "No words yet.",
      "rows": [[{"text": "Study", "callback": "skill:study"},
                {"text": "More", "callback": "nav:more"}]]}]

The first page is what `menu` opens.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from aouo.facts.ports import ButtonSpec
from aouo.facts.taps import decode, encode, fits
from aouo.packs.format.problems import Problem, Severity, did_you_mean
from aouo.packs.format.texts import (
    FieldPath,
    PlainValue,
    TextRefused,
    field_name,
    nearest_line,
    read_json,
)

FILE = "menu.json"
_PAGES_MAX = 100
_ROWS_MAX = 20
_BUTTONS_MAX = 8
"""In one row. Source: Telegram's clients show no more side by side."""
_LINES_MAX = 20
"""Rows of the database shown on a page."""

_PAGE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,58}", re.ASCII)  # with `nav:` 64 bytes at most
_COLUMN = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PAGE_KEYS = ("id", "title", "text", "sql", "row", "empty", "each", "size", "rows")
_TEXTS = ("title", "text", "sql", "row", "empty")
_BUTTON_KEYS = ("text", "callback", "with")
_TEXT_MAX = 3000
_LABEL_MAX = 64
BUTTONS_MAX = 100
"""Below one message. Source: Telegram refuses more as "reply markup is too long"."""
_OURS_MAX = 5
"""Buttons of ours below a page: to turn it, and *Undo*."""


@dataclass(frozen=True, slots=True)
class Page:
    """One message with buttons; `sql` is a SELECT whose rows are shown by the template `row`.

    `each` are buttons below for each row, templates as well; `size` rows are shown at a time. The
    data of a button has 1 to 64 bytes.
    """

    id: str
    title: str
    text: str = ""
    sql: str = ""
    row: str = ""
    empty: str = ""
    rows: tuple[tuple[ButtonSpec, ...], ...] = ()
    each: tuple[ButtonSpec, ...] = ()
    size: int = _LINES_MAX

    @property
    def rows_at_once(self) -> int:
        """How many rows are shown at a time, as far as there is room for their buttons."""
        left = BUTTONS_MAX - _OURS_MAX - sum(map(len, self.rows))
        return min(self.size, max(1, left // len(self.each))) if self.each else self.size

    @property
    def acts(self) -> frozenset[str]:
        """The actions that its rows' buttons do."""
        own = (one.data.split(":") for one in self.each)
        return frozenset(name for kind, name, *_ in own if kind == "do")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `row` shows."""
        told = (text for one in self.each for text in (one.label, one.data))
        return tuple(name for text in (self.row, *told) for name in _COLUMN.findall(text))

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything on it that people read and a translation may name."""
        labels = (button.label for row in (*self.rows, self.each) for button in row)
        return tuple(filter(None, (self.title, self.text, self.row, self.empty, *labels)))


def columns_of(template: str) -> tuple[str, ...]:
    """Return the names in braces of a sound template."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(template) if name)


def parse_menu(
    text: str,
    *,
    file: str = FILE,
    pack: str = "",
    skills: Collection[str] | None = None,
    actions: Collection[str] = (),
    severity: Severity = "error",
) -> tuple[tuple[Page, ...], tuple[Problem, ...]]:
    """Read the pages of a menu; never raises. A button or page with a problem is left out.

    `skills` are the bare names of the pack's skills, None = not known; `actions` those of its
    actions.
    """
    try:
        value, lines = read_json(text)
    except TextRefused as refused:
        return (), (Problem(file, refused.line, refused.field, refused.message, severity),)
    reader = _MenuParser(lines, file, pack, skills, actions, severity)
    return reader.menu(value), tuple(sorted(reader.problems, key=lambda problem: problem.line))


class _MenuParser:
    """Collects the pages of one menu, and its problems."""

    def __init__(
        self,
        lines: Mapping[FieldPath, int],
        file: str,
        pack: str,
        skills: Collection[str] | None,
        actions: Collection[str],
        severity: Severity,
    ) -> None:
        self.problems: list[Problem] = []
        self._lines = lines
        self._file = file
        self._pack = pack
        self._skills = skills
        self._actions = actions
        self._severity: Severity = severity
        self._ids: set[str] = set()
        self._all_ids: set[str] = set()

    def menu(self, value: PlainValue) -> tuple[Page, ...]:
        if not isinstance(value, list):
            self._add((), "must be a list of pages: [{id, title, rows}]")
            return ()
        if len(value) > _PAGES_MAX:
            self._add((_PAGES_MAX,), f"has more than {_PAGES_MAX} pages")
        listed = value[:_PAGES_MAX]
        self._all_ids = {
            str(page["id"]) for page in listed if isinstance(page, dict) and "id" in page
        }
        pages = [self._page((index,), page) for index, page in enumerate(listed)]
        return tuple(page for page in pages if page)

    def _page(self, path: FieldPath, value: PlainValue) -> Page | None:
        if not isinstance(value, dict):
            self._add(path, "must be a page: {id, title, rows}")
            return None
        self._unknown(path, value, _PAGE_KEYS)
        page_id = named = self._page_id(path, value)
        texts = {key: self._text(path, value, key) for key in _TEXTS}
        if not any((texts["title"], texts["text"], texts["sql"])):
            self._add(path, f'the page "{page_id}" needs a title or a text')
            page_id = ""
        if not self._sound_listing((*path, "row"), texts):
            page_id = ""
        rows = self._rows((*path, "rows"), value.get("rows"), named)
        each = self._rows((*path, "each"), [value.get("each") or []], named)
        size = value.get("size", _LINES_MAX)
        if not isinstance(size, int) or not 1 <= size <= _LINES_MAX:
            self._add((*path, "size"), f"has to be 1 to {_LINES_MAX} rows")
            size = _LINES_MAX
        if each and not texts["sql"]:
            self._add((*path, "each"), "needs sql, which gives the rows")
        if not page_id:
            return None
        return Page(page_id, rows=rows, each=each[0] if each else (), size=size, **texts)

    def _page_id(self, path: FieldPath, page: dict[str, PlainValue]) -> str:
        page_id, here = page.get("id"), (*path, "id")
        if page_id is None:
            self._add(here, "is required")
        elif not isinstance(page_id, str) or not _PAGE_ID.fullmatch(page_id):
            self._add(here, f"{str(page_id)[:70]!r} is no page id: 1 to 59 of a-z A-Z 0-9 _ . -")
        elif decode(encode("page", page_id)).name != "page":
            self._add(here, f'"{page_id}" begins like a button of the runtime; choose another id')
        elif page_id in self._ids:
            self._add(here, f'the page "{page_id}" is there twice')
        else:
            self._ids.add(page_id)
            return page_id
        return ""

    def _sound_listing(self, path: FieldPath, texts: dict[str, str]) -> bool:
        before = len(self.problems)
        if texts["sql"] and not texts["row"]:
            self._add(path, 'is required with sql: a template such as "{word}: {meaning}"')
        try:
            for _, name, spec, conversion in string.Formatter().parse(texts["row"]):
                if name is not None and (not name.isidentifier() or spec or conversion):
                    self._add(path, f"{{{name[:40]}}} is no column: write {{column}}, nothing else")
        except ValueError as error:
            self._add(path, f"is no template: {error}")
        return len(self.problems) == before

    def _rows(
        self, path: FieldPath, value: PlainValue, page_id: str
    ) -> tuple[tuple[ButtonSpec, ...], ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            self._add(path, "must be a list of rows, each a list of buttons: [[{text, callback}]]")
            return ()
        if len(value) > _ROWS_MAX:
            self._add(path, f'the page "{page_id}" has more than {_ROWS_MAX} rows')
        rows: list[tuple[ButtonSpec, ...]] = []
        for index, row in enumerate(value[:_ROWS_MAX]):
            buttons = row if isinstance(row, list) else []
            if len(buttons) > _BUTTONS_MAX:
                self._add((*path, index), f"has more than {_BUTTONS_MAX} buttons")
            found = [
                self._button((*path, index, number), button, page_id)
                for number, button in enumerate(buttons[:_BUTTONS_MAX])
            ]
            rows.append(tuple(button for button in found if button))
        if sum(map(len, rows)) > BUTTONS_MAX - _OURS_MAX - _BUTTONS_MAX:
            self._add(path, f'the page "{page_id}" has too many buttons; a message has 100')
            return ()
        return tuple(row for row in rows if row)

    def _button(self, path: FieldPath, value: PlainValue, page_id: str) -> ButtonSpec | None:
        if not isinstance(value, dict):
            self._add(path, "must be a button: {text, callback}")
            return None
        self._unknown(path, value, _BUTTON_KEYS)
        label = self._text(path, value, "text")
        callback = self._text(path, value, "callback")
        if given := value.get("with"):
            callback = f"{callback}:{json.dumps(given, ensure_ascii=False)}"
        before = len(self.problems)
        if not label.strip() and isinstance(value.get("text", ""), str):
            self._add((*path, "text"), f'a button of the page "{page_id}" says nothing')
        elif len(label) > _LABEL_MAX:
            self._add((*path, "text"), f"is longer than {_LABEL_MAX} characters")
        if isinstance(value.get("callback", ""), str) and (wrong := self._wrong_callback(callback)):
            where = f'button "{label[:40]}" of the page "{page_id}": '
            self._add((*path, "callback"), where + wrong)
        sound = label and callback and len(self.problems) == before
        return ButtonSpec(label, callback) if sound else None

    def _wrong_callback(self, callback: str) -> str:
        """Say why a tap could not do what the author meant, or ""."""
        kind, colon, name = callback.partition(":")
        if not callback.strip():
            return "has no callback"
        if kind == "do" and colon:
            action = name.partition(":")[0]
            near = did_you_mean(action, self._actions)
            return "" if action in self._actions else f'there is no action "{action}"{near}'
        if not fits(callback):
            return f"the callback has {len(callback.encode())} bytes; Telegram takes 64"
        if kind == "nav" and colon:
            near = did_you_mean(name, self._all_ids)
            return "" if name in self._all_ids else f'there is no page "{name}"{near}'
        if kind == "skill" and colon:
            return self._wrong_skill(name)
        if decode(callback).name not in ("text", "page"):
            return f'"{kind}" begins what only the runtime\'s own buttons send'
        return ""

    def _wrong_skill(self, name: str) -> str:
        own = name.removeprefix(f"{self._pack}:") if self._pack else name
        if self._skills is None or own in self._skills:
            return ""
        return f'there is no skill "{name}"{did_you_mean(own, self._skills)}'

    def _text(self, path: FieldPath, values: dict[str, PlainValue], key: str) -> str:
        value = values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._add((*path, key), f"must be text, not {str(value)[:40]!r}")
            return ""
        if len(value) > _TEXT_MAX:
            self._add((*path, key), f"is longer than {_TEXT_MAX} characters")
        return value[:_TEXT_MAX]

    def _unknown(
        self, path: FieldPath, values: dict[str, PlainValue], known: tuple[str, ...]
    ) -> None:
        for key in values:
            if key not in known:
                self._add((*path, key), f"unknown key{did_you_mean(key, known)}")

    def _add(self, path: FieldPath, message: str) -> None:
        line = nearest_line(self._lines, path)
        problem = Problem(self._file, line, field_name(path), message, self._severity)
        self.problems.append(problem)
