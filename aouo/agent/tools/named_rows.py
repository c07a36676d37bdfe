"""Finds the row that a key or words name, and says what people call it.

A key is an integer, or `{"key": KEY, "of": SEAL}` as buttons and forms make it: it is that row or
none. `{"like": WORDS}` is the row that shares a telling word with what was said beside a wish.
Everything else is words, and is looked up by what rows are called. The seal says whose data
the row was shown of and what it was called then: a key may come to name another row.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from typing import TypeAlias, cast

from aouo.facts import languages
from aouo.facts.errors import ToolFailed
from aouo.facts.letters import folded, words_of
from aouo.packs.actions import spoken
from aouo.packs.actions.declared import Argument
from aouo.packs.data.rows import Cell
from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.storage import PackStore
from aouo.words.catalogue import text

NamedRow: TypeAlias = "tuple[Cell, str]"
"""A row's key, and what people call it."""
_NAMED_MAX, _STEM_MIN, _SHARED_MIN = 10, 6, 3
_SEAL_CHARS, _LABEL_CHARS = 4, 60
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7af]")
"""A script without spaces between words."""


class RowGone(ToolFailed):
    """The row that was shown is not there any more, or belongs to other data."""


class RowUnclear(ToolFailed):
    """Words name several rows, or none: `rows` are those that they name."""

    def __init__(self, message: str, rows: Sequence[NamedRow]) -> None:
        super().__init__(message)
        self.rows = rows


def seal(tenant: str, label: str) -> str:
    """Return a few characters that stand for whose data a row is of, and what it is called."""
    return _digest(tenant) + _digest(label)


def _digest(words: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(words.encode()).digest()).decode()[:_SEAL_CHARS]


def row_of(store: PackStore, takes: Argument, given: object, tenant: str, zone: tzinfo) -> NamedRow:
    """Return the row that a key or words name.

    Raises:
        RowGone: no row has the key, or another one has it by now.
        RowUnclear: words name no row, or several.
    """
    if isinstance(given, Mapping):
        parts = cast("Mapping[str, object]", given)
        if "like" in parts:
            return _by_words(store, takes, str(parts["like"]), zone, shared=True)
        return _by_key(store, takes, parts.get("key"), str(parts.get("of") or ""), tenant)
    if isinstance(given, int | float):
        return _by_key(store, takes, given, "", tenant)
    return _by_words(store, takes, str(given), zone)


def _by_key(store: PackStore, takes: Argument, key: object, shown_as: str, tenant: str) -> NamedRow:
    whose, called = shown_as[:_SEAL_CHARS], shown_as[_SEAL_CHARS:]
    if whose and whose != _digest(tenant):
        raise RowGone(text("actions.other-data"))
    where = f"{store.key_of(takes.table)} = :key"
    rows = _rows(store, takes, where, {"key": cast("Cell", key)}, 2)
    if len(rows) != 1:
        raise RowGone(text("actions.row-gone"))
    if called and called != _digest(rows[0][1]):
        raise RowGone(text("actions.row-changed"))
    return rows[0]


def _by_words(
    store: PackStore, takes: Argument, words: str, zone: tzinfo, *, shared: bool = False
) -> NamedRow:
    for where, values in _tests(store, takes, words, shared=shared):
        rows = _rows(store, takes, where, values, _NAMED_MAX + 1)
        if len(rows) == 1:
            return rows[0]
        if rows:
            break
    else:
        rows = []
    offered = rows or newest(store, takes, _NAMED_MAX + 1)
    if shared and offered:
        raise RowUnclear("", offered)
    labels = told_apart(store, takes, offered, zone)
    some = ", ".join(labels[:_NAMED_MAX]) + ", …" * (len(labels) > _NAMED_MAX)
    name = "actions.which-row" if labels else "actions.no-rows"
    raise RowUnclear(text(name, wanted=words[:80], some=some), rows)


def _tests(
    store: PackStore, takes: Argument, words: str, *, shared: bool
) -> Iterator[tuple[str, Mapping[str, Cell]]]:
    """Yield conditions on rows, the strictest first: the very label, its words, some of them in
    order, in any order, their beginnings, with another last letter, the words of another column.
    `shared`: one telling word is enough."""
    label, said = _label(store, takes), " ".join(folded(words).split())
    every = re.findall(r"\w+", " ".join(words_of(said)))
    yield f"fold({label}) = :said", {"said": said}
    if every and not shared:
        yield f"fold_words({label}) = :said", {"said": f" {' '.join(every)} "}
        yield f"instr(fold_words({label}), :said)", {"said": f" {' '.join(every)} "}
    glue, over = spoken.glue(), map(folded, languages.words("phrases", "over"))
    idle = {*over, *glue.subjects, *glue.unpriced, *glue.asking} if shared else glue.common
    short = _SHARED_MIN if shared else 1
    telling = [word for word in dict.fromkeys(every) if word not in idle and len(word) >= short]
    if telling:
        tests = (f"instr(fold_words({label}), :w{at})" for at in range(len(telling)))
        marks = (" OR " if shared else " AND ").join(tests)
        stems = [word[:-1] if len(word) >= _STEM_MIN else word for word in telling]
        for parts, end in ((telling, " "), (telling, ""), (stems, "")):
            yield marks, {f"w{at}": _begin(word, end) for at, word in enumerate(parts)}
    cells = " OR ".join(f"fold({quoted(name)}) = :said" for name in store.tables()[takes.table])
    yield cells, {"said": said}


def _begin(word: str, end: str) -> str:
    """Return a word as it begins among others; digits are never a beginning."""
    if not end and _UNSPACED.search(word):
        return word
    return f" {word}{end or ' ' * word.isdecimal()}"


def newest(store: PackStore, takes: Argument, most: int) -> list[NamedRow]:
    """Return a table's newest rows."""
    return _rows(store, takes, "1", {}, most)


def by_keys(store: PackStore, takes: Argument, keys: Sequence[object]) -> dict[str, NamedRow]:
    """Return the rows with these keys, by each as text."""
    values = {f"k{at}": cast("Cell", key) for at, key in enumerate(keys)}
    where = f"{store.key_of(takes.table)} IN ({', '.join(f':{name}' for name in values)})"
    return {str(row[0]): row for row in _rows(store, takes, where, values, len(keys))}


def told_apart(
    store: PackStore, takes: Argument, rows: Sequence[NamedRow], zone: tzinfo
) -> list[str]:
    """Return a short label for each row, none empty and no two alike: beside those that would be
    stands their day, or what another column says."""
    labels = {key: _short(label) for key, label in rows}
    times = Counter(labels.values())
    alike = [key for key, label in labels.items() if not label or times[label] > 1]
    others = _cells(store, takes, alike) if alike else {}
    for key in alike:
        peers = [others[one] for one in alike if one in others and labels[one] == labels[key]]
        more = _telling_cell(others.get(key, {}), peers, zone)
        labels[key] = " ".join(filter(None, (labels[key], f"({more or f'#{key}'})")))
    for key in alike:
        if Counter(labels.values())[labels[key]] > 1:
            labels[key] += f" #{key}"
    return list(labels.values())


def _cells(
    store: PackStore, takes: Argument, keys: Sequence[Cell]
) -> dict[Cell, dict[str, object]]:
    """Return all cells of rows but their labels, by key."""
    name, values = store.key_of(takes.table), {f"k{at}": key for at, key in enumerate(keys)}
    marks = ", ".join(f":{one}" for one in values)
    sql = f"SELECT {name} AS _key, * FROM {quoted(takes.table)} WHERE {name} IN ({marks})"
    rows = store.read(sql, values, limit=len(keys))
    unused = ("_key", takes.label, name.strip('"'))
    return {
        _cell(row["_key"]): {one: cell for one, cell in row.items() if one not in unused}
        for row in rows
    }


def _telling_cell(
    row: Mapping[str, object], peers: Sequence[Mapping[str, object]], zone: tzinfo
) -> str:
    """Return what one column says of a row and of none of its peers, "" = no column does."""

    def told(say: Callable[[object], str]) -> Iterator[str]:
        for name, cell in row.items():
            if say(cell) and sum(say(peer.get(name)) == say(cell) for peer in peers) == 1:
                yield say(cell)

    ways = (partial(_moment, zone, "%Y-%m-%d"), partial(_moment, zone, "%Y-%m-%d %H:%M"), _plain)
    return next((words for way in ways for words in told(way)), "")


def _moment(zone: tzinfo, form: str, cell: object) -> str:
    """Return a stored moment in a zone, "" = it is none."""
    if not isinstance(cell, str) or not _DAY.match(cell):
        return ""
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return ""
    local = moment.astimezone(zone) if moment.tzinfo else moment
    return local.strftime(form)


def _plain(cell: object) -> str:
    return worded(cell)[:30]


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS else f"{label[: _LABEL_CHARS - 1].rstrip()}…"


def _rows(
    store: PackStore, takes: Argument, where: str, values: Mapping[str, Cell], most: int
) -> list[NamedRow]:
    sql = (
        f"SELECT {store.key_of(takes.table)} AS k, {_label(store, takes)} AS l "
        f"FROM {quoted(takes.table)} WHERE {where} ORDER BY rowid DESC"
    )
    return [(_cell(row["k"]), worded(row["l"])) for row in store.read(sql, values, limit=most)]


def _label(store: PackStore, takes: Argument) -> str:
    return quoted(takes.label) if takes.label else store.key_of(takes.table)


def _cell(value: object) -> Cell:
    return value if isinstance(value, str | int | float) else str(value)


def worded(value: object) -> str:
    """Return a value in one line."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else re.sub(r"\s+", " ", str(value))
