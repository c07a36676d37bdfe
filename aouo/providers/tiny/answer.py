"""Words the result of a call from its rows; none of the words are the model's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from aouo.facts.transcript import ToolCall, ToolReturned
from aouo.providers.tiny.cuts import one_line
from aouo.providers.tiny.options import Option

MAX_VALUE_CHARS = 200
_UNKNOWN = "[outcome unknown"
"""The beginning of the result of a call that was cut off; source: `errors.OutcomeUnknown`."""
_HOLE = re.compile(r"\{(\w+)\}")
_MARKS = re.compile(r"([\\`*_\[\]<>~|$&])|(?:^(?=[#+-]))")
_NUMBER = re.compile(r"^(\d+)([.)])")


class Words(Protocol):
    """The sentences for people, which `words` words."""

    def cannot(self, examples: Sequence[str], *, buttons: bool) -> str: ...
    def saved(self, what: str) -> str: ...
    def deleted(self, rows: int) -> str: ...
    def found(self, rows: Sequence[str]) -> str: ...
    def nothing(self) -> str: ...
    def too_long(self) -> str: ...
    def failed(self) -> str: ...
    def unknown(self) -> str: ...
    def done(self, tool: str) -> str: ...


def told(
    call: ToolCall, result: ToolReturned, option: Option | None, before: Option | None, words: Words
) -> str | dict[str, Any]:
    """Return the answer, or the arguments of a call that reads back what was written.

    The next answer is then made from the row; `before` is the option of the write that this call
    reads back.
    """
    if result.failed:
        unknown = result.text.startswith(_UNKNOWN)
        return words.saved("") if before else words.unknown() if unknown else words.failed()
    if call.name != "persist":
        return _of_tool(call, result, words)
    answer = as_object(result.text)
    rows = list(_rows(answer))
    if before:
        return _written(rows or _asked_for(call, answer), before, words)
    if "deleted" in answer:
        return words.deleted(_count(answer["deleted"]))
    if any(_count(answer.get(key)) for key in ("saved", "inserted", "updated")):
        data = as_object(call.arguments).get("data")
        return {"action": "recent", "table": answer.get("table"), "where": data, "limit": 1}
    if not answer:
        return words.too_long()
    lines = [line for row in rows if (line := _row(row, option.answer if option else ""))]
    return words.found(lines) if lines else words.nothing()


def verbatim(text: object) -> str:
    """Return a value of a row as Markdown that shows it unchanged, on one line."""
    line = one_line(str(text), MAX_VALUE_CHARS + 1)
    line = line if len(line) <= MAX_VALUE_CHARS else f"{line[: MAX_VALUE_CHARS - 1]}…"
    line = line.replace("||", "‖")  # two bars make a spoiler, also if escaped
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(lambda mark: f"\\{mark[0]}", line))


def _of_tool(call: ToolCall, result: ToolReturned, words: Words) -> str:
    if result.text.strip() and not _is_json(result.text):
        return verbatim(result.text)
    return words.done(call.name.rpartition("__")[2].replace("_", " "))


def _written(rows: Sequence[Mapping[str, object]], option: Option, words: Words) -> str:
    if not rows:
        return words.saved("")
    if option.answer:
        return _filled(option.answer, rows[0])
    example = option.examples[0]
    column = next((place[-1] for place, _ in example.slots), "")
    return words.saved(verbatim(rows[0].get(column, "")))


def _asked_for(call: ToolCall, answer: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the values that a row was asked for by, if it was too long to be read back."""
    where = as_object(call.arguments).get("where")
    return [cast("dict[str, object]", where)] if isinstance(where, dict) and not answer else []


def _row(row: Mapping[str, object], answer: str) -> str:
    if answer:
        return _filled(answer, row)
    return ", ".join(
        verbatim(value)
        for name, value in row.items()
        if isinstance(value, str) and value and not _is_kept(name)
    ) or ", ".join(f"{name}: {value}" for name, value in row.items() if name in ("rows", "count"))


def _filled(answer: str, row: Mapping[str, object]) -> str:
    def value(hole: re.Match[str]) -> str:
        found = row.get(hole[1])
        return "" if found is None else verbatim(found)

    return _HOLE.sub(value, answer)


def _rows(answer: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the rows of a result; for a summary, one for each table."""
    listed = answer.get("rows")
    tables = answer.get("tables")
    found: list[object] = []
    if isinstance(listed, list):
        found = cast("list[object]", listed)
    elif isinstance(tables, dict):
        found = list(cast("dict[str, object]", tables).values())
    yield from (cast("dict[str, object]", row) for row in found if isinstance(row, dict))


def _is_kept(name: str) -> bool:
    """Whether a column is bookkeeping: ids and times."""
    return name in ("id", "at", "first", "last") or name.endswith(("_id", "_at"))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def as_object(text: str) -> dict[str, Any]:
    """Parse the first line as a JSON object; a note may follow it. {} for any other text."""
    try:
        found: object = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
