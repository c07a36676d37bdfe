"""Turns the actions of packs into tools: their effect, and the answer that is made from it."""

from __future__ import annotations

import asyncio
import re
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

from aouo.agent.charts import most_rows
from aouo.agent.tools.asks import drawn, show
from aouo.agent.tools.cron import id_of
from aouo.agent.tools.feeds import Feeds
from aouo.agent.tools.mcp import RawArguments, links_in
from aouo.agent.tools.named_rows import row_of, worded
from aouo.agent.tools.pack_tools import EMPTY
from aouo.agent.tools.registry import Does, Tool, ToolContext
from aouo.agent.tools.reminders import Reminders
from aouo.agent.tools.undo import UNDO
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Person
from aouo.facts.letters import folded
from aouo.facts.people import PEOPLE
from aouo.facts.ports import Clock, stamp
from aouo.packs.actions import slots
from aouo.packs.actions.declared import OUR_TOOLS, Action, Argument, Chart
from aouo.packs.data.reading import ALL
from aouo.packs.data.rows import Cell
from aouo.packs.data.storage import PackStore
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.web.envelope import said_by, unmarked
from aouo.schedules.ticking import SILENT
from aouo.words.catalogue import one_line, plural, text
from aouo.words.schedules import text_in_words

GROUP = "act"
"""The group of what models are shown of a pack."""
_JSON_KINDS: Mapping[str, str] = {"int": "integer", "number": "number"}
_HINTS: Mapping[str, str] = {
    "money": "an amount, such as 12.50 or 12.50 EUR",
    "date": "a day, such as 2026-03-01",
    "days": "a day, week or month, such as last week or 2026-03-01/2026-03-31",
    "datetime": "a time, such as 2026-03-01T09:00",
    "duration": "minutes, or such as 2h",
    "recurrence": "such as every Monday at 9:00",
    "when": "a time, or such as every Monday at 9:00",
    "new-time": "a time in place of the one it has: a day, a clock or both",
}


_LABEL_CHARS = 200
"""Of what a row is called, in an answer."""


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
    shown = _schema(action)
    body: dict[str, Any] = {
        "raw_schema": _with_keys(shown, action),
        "model_json_schema": classmethod(lambda cls, *args, **how: shown),
        "__module__": __name__,
    }
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


def _with_keys(schema: dict[str, Any], action: Action) -> dict[str, Any]:
    """Return the schema of calls, in which buttons and forms may name rows by sealed keys."""
    rows = {name: {"type": [*schema["properties"][name]["type"], "object"]} for name in action.rows}
    return {**schema, "properties": {**schema["properties"], **rows}}


def _property(takes: Argument) -> dict[str, Any]:
    kind = _JSON_KINDS.get(takes.kind)
    if takes.kind == "choice":
        return {"type": "string", "enum": list(takes.choices)}
    if takes.kind == "row":
        named = f"a row of {takes.table}: its key as an integer, or words that it is called by"
        return {"type": ["string", "integer"], "description": named}
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
            values, shown = bound(pack, action, given, here, store, tenant)
            shown |= {name: one_line(str(shown[name]), _LABEL_CHARS) for name in action.rows}
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
            rows, more = cast("list[dict[str, object]]", found["found"]), found.get("more")
            parts: dict[str, object] = {"changed": found["changed"], **shown}
            lines = [parts | shown_cells(row, here) for row in rows]
            template = pack.said(here.language, action.row) if action.row else ""
            listed = [filled(template, line) for line in lines if template]
            listed += [text("actions.more-rows", count=more)] if listed and more else []
            parts = (lines[0] if lines else parts) | {"rows": "\n".join(listed)}
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
            picture = await asyncio.to_thread(
                _pictured, pack, action.picture, stored, doing, context
            )
            some = picture is not None
            if picture:
                await show(*picture, context, f"{call_id}.picture")
                if not action.answer and not action.row:
                    return ""
        quiet = context.facts.origin not in PEOPLE
        told = said(pack, action, parts, here.language, some=some, quiet=quiet)
        looks = store.source_in(" ".join(action.statements)) if store and told else ""
        return said_by(looks, told)

    return run


def shown_cells(row: Mapping[str, object], here: slots.Here) -> dict[str, object]:
    """Return the cells of a row as people read them."""
    return {name: slots.localised(worded(value), here) for name, value in row.items()}


def _pictured(
    pack: Pack, chart: Chart, values: Mapping[str, Cell], doing: Doing, context: ToolContext
) -> tuple[Path, str] | None:
    """Draw the chart of the rows that its SQL finds, None = there are none; with what it leaves
    out, in words."""
    tenant, said = context.facts.tenant, partial(pack.said, context.facts.person.language)
    used = {name: value for name, value in values.items() if f":{name}" in chart.sql}
    rows = doing.open_store(pack.name, tenant).read(chart.sql, used, limit=ALL)
    most = most_rows(chart.kind)
    left_out = text("actions.chart-part", shown=most, count=len(rows)) if len(rows) > most else ""
    words = {"title": said(chart.title), "columns": [said(name) for name in chart.columns]}
    spec = {**chart.model_dump(), **words, "rows": rows[:most]}
    return (drawn(spec, doing.folder_of(pack.name, tenant)), left_out) if rows else None


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
    answer = re.sub(r" +$", "", filled(pack.said(language, chosen), parts), flags=re.MULTILINE)
    lines = [answer.rstrip(), str(parts.get("rows") or "")]
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
    pack: Pack,
    action: Action,
    given: Mapping[str, object],
    here: slots.Here,
    store: PackStore | None,
    tenant: str,
) -> tuple[dict[str, Cell], dict[str, object]]:
    """Return the values of all arguments: as SQL takes them, and as people read them. `tenant` is
    whose data the store has.

    Raises:
        RowGone, RowUnclear: as `row_of`.
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
            values |= {f"{name}_end": None} if takes.kind == "days" else {}
        elif takes.kind == "row" and store is not None:
            whose = whose_data(pack, tenant)
            values[name], shown[name] = row_of(store, takes, raw, whose, here.zone)
        elif takes.kind == "choice":
            values[name], shown[name] = _chosen(pack, name, takes, raw, here.language)
        else:
            values[name], shown[name] = _read(name, takes, raw, here)
            if takes.kind == "money":
                values[f"{name}_currency"] = str(shown[name]).partition(" ")[2]
            if takes.kind == "days":
                values[name], values[f"{name}_end"] = str(values[name]).split("/")
    return values, shown


def whose_data(pack: Pack, tenant: str) -> str:
    """Return whose data a tenant sees in a pack, "" = everybody's."""
    return tenant if pack.manifest.schema.scope == "person" else ""


def _chosen(pack: Pack, name: str, takes: Argument, raw: object, language: str) -> tuple[str, str]:
    """Return a choice as it is stored, and as its person reads it; either may be given."""
    said = {choice: pack.said(language, choice) for choice in takes.choices}
    wanted = folded(str(raw).strip())
    by_label = (choice for choice in takes.choices if folded(said[choice]) == wanted)
    by_key = (choice for choice in takes.choices if folded(choice) == wanted)
    if (chosen := next(chain(by_label, by_key), None)) is None:
        raise ToolFailed(text("actions.no-choice", name=name, choices=", ".join(said.values())))
    return chosen, said[chosen]


def _read(name: str, takes: Argument, raw: object, here: slots.Here) -> tuple[Cell, str]:
    try:
        value = slots.read(takes.slot, str(raw), here)
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


def _needs(action: Action) -> bool:
    return bool(action.statements or action.rows)


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
