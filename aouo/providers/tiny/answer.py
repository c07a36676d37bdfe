"""Words the result of a call from its rows; none of the words are the model's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from aouo.facts.transcript import ToolCall, ToolReturned
from aouo.providers.tiny.cuts import one_line
from aouo.providers.tiny.options import Option

MAX_VALUE_CHARS = 200
SHOWN_ROWS = 10
_UNKNOWN = "[outcome unknown"
"""The beginning of the result of a call that was cut off; source: `errors.OutcomeUnknown`."""
_HOLE = re.compile(r"\{(\w+)\}")
_MARKS = re.compile(r"([\\`*_\[\]<>~|$&])|(?:^(?=[#+-]))")
_NUMBER = re.compile(r"^(\d+)([.)])")


Texts: TypeAlias = Callable[..., str]
"""Gives a sentence for people by its name ("small.saved"), with its parts by keyword."""


def told(
    call: ToolCall, result: ToolReturned, option: Option | None, before: Option | None, texts: Texts
) -> str | dict[str, Any]:
    """Return the answer, or the arguments of a call that reads back what was written.

    The next answer is then made from the row; `before` is the option of the write that this call
    reads back.
    """
    if result.failed:
        if before:
            return texts("small.saved")
        unknown = result.text.startswith(_UNKNOWN)
        return texts("small.unknown") if unknown else texts("small.failed")
    if call.name != "persist":
        return _of_tool(call, result, texts)
    answer = as_object(result.text)
    rows = list(_rows(answer))
    if before:
        return _written(rows or _asked_for(call, answer), before, texts)
    if "deleted" in answer:
        return texts("small.deleted", count=_count(answer["deleted"]))
    if any(_count(answer.get(key)) for key in ("saved", "inserted", "updated")):
        data = as_object(call.arguments).get("data")
        return {"action": "recent", "table": answer.get("table"), "where": data, "limit": 1}
    if not answer:
        return texts("small.too-long")
    lines = [line for row in rows if (line := _row(row, option.answer if option else ""))]
    return _found(lines, texts) if lines else texts("small.nothing")


def verbatim(text: object) -> str:
    """Return a value of a row as Markdown that shows it unchanged, on one line."""
    line = one_line(str(text), MAX_VALUE_CHARS + 1)
    line = line if len(line) <= MAX_VALUE_CHARS else f"{line[: MAX_VALUE_CHARS - 1]}…"
    line = line.replace("||", "‖")  # two bars make a spoiler, also if escaped
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(lambda mark: f"\\{mark[0]}", line))


def _of_tool(call: ToolCall, result: ToolReturned, texts: Texts) -> str:
    if result.text.strip() and not _is_json(result.text):
        return verbatim(result.text)
    return texts("small.done", tool=call.name.rpartition("__")[2].replace("_", " "))


def _found(lines: Sequence[str], texts: Texts) -> str:
    """Return the rows that were found as Markdown."""
    if len(lines) == 1:
        return lines[0]
    shown = [f"- {line}" for line in lines[:SHOWN_ROWS]]
    more = [texts("small.more", count=SHOWN_ROWS)] if len(lines) > SHOWN_ROWS else []
    return "\n".join([*shown, *more])


def _written(rows: Sequence[Mapping[str, object]], option: Option, texts: Texts) -> str:
    if not rows:
        return texts("small.saved")
    if option.answer:
        return _filled(option.answer, rows[0])
    example = option.examples[0]
    column = next((place[-1] for place, _ in example.slots), "")
    saved = verbatim(rows[0].get(column, ""))
    return texts("small.saved-what", what=saved) if saved else texts("small.saved")


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
