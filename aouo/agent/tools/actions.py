"""Turns the actions of packs into tools: their effect, and the answer that is made from it."""

from __future__ import annotations

import asyncio
import re
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, cast

from aouo.agent.tools.asks import drawn, show
from aouo.agent.tools.cron import id_of
from aouo.agent.tools.feeds import Feeds
from aouo.agent.tools.mcp import RawArguments, links_in
from aouo.agent.tools.pack_tools import EMPTY
from aouo.agent.tools.registry import Does, Tool, ToolContext
from aouo.agent.tools.reminders import Reminders
from aouo.agent.tools.undo import UNDO
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Person
from aouo.facts.people import PEOPLE
from aouo.facts.ports import Clock, stamp
from aouo.packs.actions import phrases, slots
from aouo.packs.actions.declared import OUR_TOOLS, Action, Argument, Chart
from aouo.packs.data.rows import Cell
from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.storage import PackStore
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.web.envelope import said_by, unmarked
from aouo.schedules.ticking import SILENT
from aouo.words.catalogue import plural, text
from aouo.words.schedules import text_in_words

GROUP = "act"
"""The group of what models are shown of a pack."""
_JSON_KINDS: Mapping[str, str] = {"int": "integer", "number": "number"}
_HINTS: Mapping[str, str] = {
    "money": "an amount, such as 12.50 or 12.50 EUR",
    "date": "a day, such as 2026-03-01",
    "datetime": "a time, such as 2026-03-01T09:00",
    "duration": "minutes, or such as 2h",
    "recurrence": "such as every Monday at 9:00",
    "when": "a time, or such as every Monday at 9:00",
}
_LABELS_MAX = 500
_PICTURED_ROWS = 400


@dataclass(frozen=True, slots=True)
class Doing:
    """What actions stand on: databases of packs, the clock, the zone, and tools of packs."""

    clock: Clock
    zone: Callable[[str], tzinfo]
    open_store: Callable[[str, str], PackStore]
    folder_of: Callable[[str, str], Path]


@dataclass(frozen=True, slots=True)
class Bench(Doing):
    """With the tools of the runtime that actions use."""

    reminders: Reminders
    feeds: Feeds


def action_tools(library: Library, doing: Bench, others: Mapping[str, Tool]) -> list[Tool]:
    """Make a tool of each action; `others` are the packs' own tools and some of ours, which actions
    may use."""
    return [
        _tool(pack, name, action, doing, others)
        for pack in library.packs.values()
        for name, action in pack.declared.actions.items()
    ]


def _tool(pack: Pack, name: str, action: Action, doing: Bench, others: Mapping[str, Tool]) -> Tool:
    ours = action.tool in OUR_TOOLS
    named = action.tool if ours else f"{pack.name}__{action.tool}"
    other = others.get(named) if action.tool else None
    body: dict[str, Any] = {"raw_schema": _schema(action), "__module__": __name__}
    changes = action.writes or bool(other and other.mutates)
    sink: Does | None = other.sink if other else "own" if changes else "look"
    if action.tool in OUR_TOOLS and action.tool != "feeds":
        sink = "persist"  # it comes by itself, later
    return Tool(
        name=f"{pack.name}__{name}",
        description=action.title,
        arguments=type("ActionArguments", (RawArguments,), body),
        handler=_handler(pack, action, doing, other),
        sink=sink,
        targets=_texts if sink == "persist" else None,
        visits=links_in if action.tool == "feeds" else lambda wish: (),
        group=GROUP if action.model and (action.answer or action.row) else UNDO,
        idempotent=other.idempotent if other else True,
        mutates=changes,
        read_only=not changes,
        timeout_s=other.timeout_s if other else 30.0,
        pack=pack.name,
    )


def _texts(wish: RawArguments) -> Mapping[str, Any]:
    """Return the arguments of what comes later: words, in which only an address leads somewhere."""
    return {"text": [str(value) for value in (wish.model_extra or {}).values()]}


def _schema(action: Action) -> dict[str, Any]:
    properties = {name: _property(takes) for name, takes in action.arguments.items()}
    needed = [name for name, takes in action.arguments.items() if takes.needed]
    return {"type": "object", "properties": properties, "required": needed}


def _property(takes: Argument) -> dict[str, Any]:
    kind = _JSON_KINDS.get(takes.kind)
    if takes.kind == "choice":
        return {"type": "string", "enum": list(takes.choices)}
    if takes.kind == "row":
        return {"type": ["string", "integer"], "description": f"a row of {takes.table}"}
    kind = ["string", "integer"] if takes.kind == "duration" else kind
    hint = _HINTS.get(takes.kind)
    return {"type": kind or "string"} | ({"description": hint} if hint else {})


def _handler(
    pack: Pack, action: Action, doing: Bench, other: Tool | None
) -> Callable[[RawArguments, ToolContext, str], Awaitable[str]]:
    async def run(wish: RawArguments, context: ToolContext, call_id: str) -> str:
        given = dict(wish.model_extra or {})
        here, tenant = here_of(doing, context.facts.person), context.facts.tenant
        await doing.reminders.fill(pack, tenant, context.facts.person)

        def bind() -> tuple[PackStore | None, dict[str, object], dict[str, Cell]]:
            store = doing.open_store(pack.name, tenant) if _needs(action) else None
            values, shown = bound(action, given, here, store)
            return store, shown, {**values, **_given(context, doing.clock.now(), here)}

        def effect() -> tuple[dict[str, object], bool]:
            if store is None or not action.statements:
                return shown, True
            used = {key: value for key, value in stored.items() if _is_used(action, key)}
            now = stamp(doing.clock)
            found = store.act(
                action.sql,
                used,
                action.find,
                call_id=call_id,
                now=now,
                undoable=action.undo,
                source=", ".join(context.sources()),
            )
            rows = cast("list[dict[str, object]]", found["found"])
            parts: dict[str, object] = {"changed": found["changed"], **shown}
            lines = [
                parts | {name: slots.amounts(_worded(value), here) for name, value in row.items()}
                for row in rows
            ]
            template = pack.said(here.language, action.row) if action.row else ""
            parts = (lines[0] if lines else parts) | {
                "rows": "\n".join(filled(template, line) for line in lines) if template else ""
            }
            none = bool(action.sql) and action.undo and not found["changed"]
            return parts, not (none or (bool(action.find) and not rows))

        store, shown, stored = await asyncio.to_thread(bind)
        wanted = {name: filled(said, stored) for name, said in action.given.items()}
        if action.tool == "feeds":
            stored["result"] = await doing.feeds.run(pack, wanted, context, call_id)
            shown["result"] = stored["result"]
        elif action.tool in OUR_TOOLS:
            new_id = id_of(context.facts.id, call_id)
            if other:
                wanted = {"timezone": str(getattr(here.zone, "key", None) or ""), **wanted}
                await other.handler(other.parse(wanted), context, call_id)
                shown["result"] = ""
            else:
                plan = await doing.reminders.planned(wanted, context.facts, new_id)
                own, now = doing.open_store(pack.name, tenant), stamp(doing.clock)
                plan = await asyncio.to_thread(own.note, call_id, plan, now)
                await doing.reminders.carry_out(plan, wanted)
                shown["result"] = plan["say"]
            await doing.reminders.fill(pack, tenant, context.facts.person)
        parts, some = await asyncio.to_thread(effect)
        if other and some and action.tool not in OUR_TOOLS:
            own = {name: stored[name] for name in action.arguments if stored.get(name) is not None}
            parts["result"] = await other.handler(other.parse(own), context, call_id)
            some = action.writes or unmarked(str(parts["result"])) != EMPTY
        if action.picture and some:
            file = await asyncio.to_thread(_pictured, pack, action.picture, stored, doing, context)
            if file is None:
                some = False
            else:
                await show(file, "", context, f"{call_id}.picture")
            if file and not action.answer and not action.row:
                return ""
        quiet = context.facts.origin not in PEOPLE
        told = said(pack, action, parts, here.language, some=some, quiet=quiet)
        looks = store.source_in(" ".join(action.statements)) if store and told else ""
        return said_by(looks, told)

    return run


def _pictured(
    pack: Pack, chart: Chart, values: Mapping[str, Cell], doing: Doing, context: ToolContext
) -> Path | None:
    """Draw the chart of the rows that its SQL finds, None = there are none."""
    tenant, said = context.facts.tenant, partial(pack.said, context.facts.person.language)
    used = {name: value for name, value in values.items() if f":{name}" in chart.sql}
    rows = doing.open_store(pack.name, tenant).read(chart.sql, used, limit=_PICTURED_ROWS)
    words = {"title": said(chart.title), "columns": [said(name) for name in chart.columns]}
    spec = {**chart.model_dump(), **words, "rows": rows}
    return drawn(spec, doing.folder_of(pack.name, tenant)) if rows else None


def said(
    pack: Pack,
    action: Action,
    parts: Mapping[str, object],
    language: str,
    *,
    some: bool,
    quiet: bool = False,
) -> str:
    """Return what is said of an effect; `some`: a row was changed, or found. `quiet`: nobody asked,
    so that an action without a word for nothing says none."""
    if not some and quiet and not action.nothing:
        return SILENT
    if not some:
        told = action.nothing or text("actions.nothing")
        return filled(pack.said(language, told), parts)
    forms = action.answer or ({"other": action.toast} if action.toast else {})
    if not forms and parts.get("rows"):
        return str(parts["rows"])
    if not forms:
        return text("actions.done", title=pack.said(language, action.title))
    count = parts.get("count")
    number = int(count) if isinstance(count, str) and count.lstrip("-").isdecimal() else 2
    chosen = forms.get(plural(language, number)) or forms.get("other") or next(iter(forms.values()))
    lines = [filled(pack.said(language, chosen), parts).rstrip(), str(parts.get("rows") or "")]
    return "\n".join(filter(None, lines))


def filled(template: str, parts: Mapping[str, object]) -> str:
    """Return a template with its values; one that is not known stays as it is written."""
    pieces = string.Formatter().parse(template)
    return "".join(
        before + ("" if name is None else str(parts.get(name, f"{{{name}}}")))
        for before, name, _, _ in pieces
    )


def here_of(doing: Doing, person: Person) -> slots.Here:
    """Return when, where and in which language something is said."""
    return slots.Here(doing.clock.now(), doing.zone(person.id), person.language)


def bound(
    action: Action, given: Mapping[str, object], here: slots.Here, store: PackStore | None
) -> tuple[dict[str, Cell], dict[str, object]]:
    """Return the values of all arguments: as SQL takes them, and as people read them.

    Raises:
        ToolFailed: one cannot be read; says which, and why.
    """
    values: dict[str, Cell] = {}
    shown: dict[str, object] = {}
    for name, takes in action.arguments.items():
        raw = given.get(name, takes.default)
        if raw is None or raw == "":
            if takes.needed:
                raise ToolFailed(f"{name} is missing.")
            values[name], shown[name] = None, ""
        elif takes.kind == "row" and store is not None:
            values[name], shown[name] = row_of(store, takes, raw)
        else:
            values[name], shown[name] = _read(name, takes, raw, here)
            if takes.kind == "money":
                values[f"{name}_currency"] = str(shown[name]).partition(" ")[2]
    return values, shown


def _read(name: str, takes: Argument, raw: object, here: slots.Here) -> tuple[Cell, str]:
    if takes.kind == "choice":
        wanted = str(raw).strip().casefold()
        chosen = next((one for one in takes.choices if one.casefold() == wanted), "")
        if not chosen:
            raise ToolFailed(f"{name} has to be one of: {', '.join(takes.choices)}.")
        return chosen, chosen
    try:
        value = slots.read(takes.kind, str(raw), here)
    except slots.Misread as error:
        raise ToolFailed(text(error.why, **error.parts)) from error
    stored = slots.stored(takes.kind, value)
    if isinstance(stored, int | float):
        _check_range(name, takes, stored)
    if takes.kind in ("recurrence", "when") and isinstance(value, str):
        return stored, text_in_words(value, here.zone)
    return stored, slots.say(takes.kind, value, here)


def _check_range(name: str, takes: Argument, value: float) -> None:
    if takes.min is not None and value < takes.min:
        raise ToolFailed(text("actions.too-small", name=name, least=f"{takes.min:g}"))
    if takes.max is not None and value > takes.max:
        raise ToolFailed(text("actions.too-large", name=name, most=f"{takes.max:g}"))


def row_of(store: PackStore, takes: Argument, raw: object) -> tuple[Cell, str]:
    """Return the key of the row that `raw` names, and its label: by its key, its label, or words
    that only one label has.

    Raises:
        ToolFailed: there is none, or several; names some.
    """
    rows = labels(store, takes)
    wanted = str(raw).strip().casefold()
    for key, label in rows:
        if str(key) == str(raw):
            return key, label
    words = _telling(wanted)
    tests: tuple[Callable[[str], bool], ...] = (
        lambda label: label == wanted,
        lambda label: wanted in label,
        lambda label: bool(words) and words <= _telling(label),
    )
    named = ([one for one in rows if fits(one[1].casefold())] for fits in tests)
    found: list[tuple[Cell, str]] = next(filter(None, named), rows[:0])
    if len(found) == 1:
        return found[0]
    if not found and (by_column := _row_with(store, takes.table, wanted)):
        return next(one for one in rows if one[0] == by_column)
    some = ", ".join(label for _, label in (found or rows)[:10])
    name = "actions.which-row" if some else "actions.no-rows"
    raise ToolFailed(text(name, wanted=str(raw)[:80], some=some))


def _row_with(store: PackStore, table: str, wanted: str) -> Cell:
    """Return the key of the one row that has these very words in a column, "" = none has."""
    cells = " OR ".join(f"lower({quoted(name)}) = :wanted" for name in store.tables()[table])
    sql = f"SELECT {store.key_of(table)} AS k FROM {quoted(table)} WHERE {cells}"
    found = store.read(sql, {"wanted": wanted}, limit=2)
    return _cell(found[0]["k"]) if len(found) == 1 else ""


def _telling(words: str) -> set[str]:
    return set(re.findall(r"\w+", words)) - phrases.COMMON


def labels(store: PackStore, takes: Argument) -> list[tuple[Cell, str]]:
    """Return the keys of a table's newest rows with what people call them."""
    key = store.key_of(takes.table)
    label = quoted(takes.label) if takes.label else key
    sql = f"SELECT {key} AS k, {label} AS l FROM {quoted(takes.table)} ORDER BY rowid DESC"
    found = store.read(sql, limit=_LABELS_MAX)
    return [(_cell(row["k"]), _worded(row["l"])) for row in found]


def _cell(value: object) -> Cell:
    return value if isinstance(value, str | int | float) else str(value)


def _needs(action: Action) -> bool:
    rows = any(takes.kind == "row" for takes in action.arguments.values())
    return bool(action.statements) or rows


def _is_used(action: Action, name: str) -> bool:
    """Whether a statement names this value; SQLite refuses none that it was not asked for."""
    return any(f":{name}" in sql for sql in action.statements)


def _given(context: ToolContext, now: datetime, here: slots.Here) -> dict[str, Cell]:
    facts = context.facts
    today: date = now.astimezone(here.zone).date()
    utc = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "now": utc,
        "today": today.isoformat(),
        "person": facts.person.id,
        "name": facts.person.name,
        "language": here.language,
    }


def _worded(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
