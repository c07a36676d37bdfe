"""Knows the last act of a conversation, and makes of a correction the act that replaces it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from aouo.agent.tools import actions as tools
from aouo.agent.tools.actions import Doing
from aouo.agent.tools.named_rows import newest, row_of, told_apart
from aouo.agent.tools.undo import UNDO, Undoing
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Button, Text
from aouo.facts.letters import folded
from aouo.facts.ports import ButtonSpec, iso
from aouo.facts.records import Effect
from aouo.facts.taps import encode
from aouo.facts.transcript import AssistantSaid
from aouo.facts.work import Act, Correction, Job
from aouo.flow.answering.searching import Searching
from aouo.flow.phrasing import Phrasing, is_pointer
from aouo.packs.actions import corrections, spoken
from aouo.packs.actions.declared import Action
from aouo.packs.actions.slots import Misread
from aouo.packs.library import Library
from aouo.queue.decide import RunTurn
from aouo.queue.lexer import Phrased
from aouo.store import turns
from aouo.store.chats import tenant_of
from aouo.store.database import Database, Tx
from aouo.words import receipts
from aouo.words.catalogue import text

_KNOWN_FOR = timedelta(minutes=10)
_ROWS_SHOWN = 5
_REMINDER: Mapping[str, str] = {"schedule": "when", "say": "text"}
"""The kinds of arguments of a reminder of the runtime's own."""


@dataclass(frozen=True, slots=True)
class LastAct:
    """What a call changed last, whose data it was, whether the job at hand has begun to put it
    back, and whether words came since that nobody understood."""

    effect: Effect
    tenant: str
    begun: bool
    unsure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Correcting:
    """Reads the last act of a person in a conversation from what is stored of their turns."""

    database: Database
    doing: Doing
    undoing: Undoing
    phrasing: Phrasing
    searching: Searching
    library: Callable[[], Library]

    async def last(
        self, job: Job, call: str = "", of: str = "", reason: str = ""
    ) -> LastAct | None:
        """Return what was done last, or by a call, of a thing that was paid, or of what a reason
        names, None = nothing for ten minutes, or a model did it."""
        since = iso(self.doing.clock.now() - _KNOWN_FOR)

        def fits(effect: Effect) -> bool:
            if reason:
                return _shares(effect.given, reason)
            action = self._action(effect)
            return not of or bool(action and corrections.is_of(action.kinds, effect.given, of))

        return await self.database.read(lambda tx: _last(tx, job, since, call, fits))

    async def decide(self, job: Job, correction: Correction) -> RunTurn | Phrased | None:
        """Return the turn that a correction asks for, or why there is none; None = it fits nothing
        that was done."""
        content, of = job.inbound.content, correction.old if correction.kind == "priced" else ""
        reason = correction.old if correction.kind in ("drop", "cancel") else ""
        last = await self.last(job, correction.of, of, reason)
        if reason and last is None and _points(reason):
            last = await self.last(job)  # "that was my brother"
        if last is None or not isinstance(content, Text | Button):
            return None
        words = content.text if isinstance(content, Text) else content.label
        try:
            act = await asyncio.to_thread(self._act, job, last, correction)
        except Misread as error:
            return Phrased(back=text(error.why, **error.parts))
        except ToolFailed as error:
            return Phrased(back=str(error))
        if act is None:
            return None
        changes = act.replaces or act.tool == UNDO
        if changes and not last.begun and not await self.undoing.undoable(last.effect.id):
            return Phrased(back=text("corrections.unsafe"))
        if changes and last.unsure and not of:
            was = receipts.named(last.effect, self.library(), job.inbound.person.language)
            button = ButtonSpec(f"{was} · {words}"[:60], encode("fix", last.effect.id, words))
            return Phrased(back=text("corrections.sure"), options=((button,),))
        points = correction.kind == "points"
        pack = act.tool.partition("__")[0] if points and "__" in act.tool else last.effect.pack
        return RunTurn(pack, words, act=act)

    async def settle(self, job: Job, asked: Phrased) -> RunTurn | Phrased | None:
        """Return which of several acts is meant that take the same words: the one that has begun;
        or whose row there is; or, without rows, that of the pack which acted last. None = a model
        may know more.
        """
        content, library = job.inbound.content, self.library()
        acts = [act for _, act in asked.tied]
        if begun := await self.database.read(lambda tx: begun_turn(tx, job.id)):
            return begun
        there: list[tuple[str, Act, tuple[ButtonSpec, ...]]] = []
        for (pack, act), row in zip(asked.tied, asked.options, strict=True):
            if not self._rows(act) or await self.searching.has_row(
                job.inbound, library.packs[pack], act
            ):
                there.append((pack, act, row))
        if not there and self.phrasing.answers(job.active_pack):
            return None
        if not there:
            called = next(str(acts[0].arguments[name]) for name in self._rows(acts[0]))
            return Phrased(back=text("actions.nothing-called", words=called))
        last = None if any(map(self._rows, acts)) else await self.last(job)
        own = [one for one in there if len(there) == 1 or (last and one[0] == last.effect.pack)]
        if len(own) == 1 and isinstance(content, Text):
            return RunTurn(own[0][0], content.text, act=own[0][1])
        return replace(asked, options=tuple(row for _, _, row in there))

    def _rows(self, act: Act) -> list[str]:
        """Return the arguments of an act that name rows."""
        action = self._action(Effect("", "", act.tool, {}, ""))
        return [name for name in action.rows if act.arguments.get(name)] if action else []

    def _act(self, job: Job, last: LastAct, correction: Correction) -> Act | None:
        """Return what is done instead of the last act, or once more, None = it does not fit.

        Raises:
            Misread, ToolFailed: it fits, and cannot be; says why.
        """
        inbound, action = job.inbound, self._action(last.effect)
        last = self._on_new_row(last, action) if action else last
        effect = last.effect
        if correction.kind == "drop" and action and (dropping := self._dropping(effect, action)):
            return dropping
        if correction.kind in ("cancel", "drop"):
            return Act(UNDO, {"call": effect.id})
        if correction.kind == "points":
            return self._pointed(job, last, action)
        if correction.kind == "more":
            if last.unsure:
                return None
            given = self.phrasing.once_more(correction.value, inbound, effect)
            return Act(effect.name, self._priced(job, effect, action, given)) if given else None
        here = tools.here_of(self.doing, inbound.person)
        given = self._other(last, action, correction, inbound.person.id) if action else None
        if given is None and action and (moving := self._moving(last, action, correction)):
            return moving
        if given is None and correction.kind not in ("name", "other"):
            kinds = action.kinds if action else {}
            here = replace(here, language=correction.language or here.language)
            if effect.name == "cron" and effect.given.get("action") == "create":
                kinds = dict(_REMINDER)
            then = replace(here, now=datetime.fromisoformat(effect.started_at))
            given = corrections.revise(kinds, effect.given, correction, then, here)
        again = action and "new-time" in action.kinds.values()  # moved on from where it is now
        return Act(effect.name, given, replaces="" if again else effect.id) if given else None

    def _action(self, effect: Effect) -> Action | None:
        pack, _, name = effect.name.partition("__")
        found = self.library().get(pack)
        return found.declared.actions.get(name) if found else None

    def _on_new_row(self, last: LastAct, action: Action) -> LastAct:
        """Return a call on a reminder with the row that it made anew in place of the old one."""
        name, effect = _row_of(action, last.effect), last.effect
        steps = self.doing.open_store(effect.pack, last.tenant).noted(effect.id)
        if not name or action.tool != "reminders" or steps[:1] != "+":
            return last
        given = {**effect.given, name: {"key": steps[1:].split()[0]}}
        return replace(last, effect=replace(effect, given=given))

    def _dropping(self, effect: Effect, action: Action) -> Act | None:
        """Return the act that deletes the row which was acted on, None = it was not there before,
        or is gone, or its pack deletes none."""
        name = _row_of(action, effect)
        if not name or _deletes(action):
            return None
        pack = effect.name.partition("__")[0]
        for other, declared in self.library().packs[pack].declared.actions.items():
            takes = [*declared.arguments.items()]
            if len(takes) == 1 and _deletes(declared):
                argument, row = takes[0]
                if row.kind == "row" and row.table == action.arguments[name].table:
                    return Act(f"{pack}__{other}", {argument: {"key": _key(effect.given[name])}})
        return None

    def _row(self, last: LastAct, name: str) -> dict[str, object]:
        """Return the key of the row that was acted on, or of the one it was made anew as."""
        store = self.doing.open_store(last.effect.pack, last.tenant)
        made = store.noted(last.effect.id).partition(" ")[0]
        return {"key": made[1:] if made[:1] == "+" else _key(last.effect.given[name])}

    def _moving(self, last: LastAct, action: Action, correction: Correction) -> Act | None:
        """Return the act that moves a reminder once more, None = none was moved."""
        pack, name = last.effect.name.partition("__")[0], _row_of(action, last.effect)
        sign = corrections.SHIFTS.get(correction.kind, "" if correction.kind == "change" else "?")
        for other, declared in self.library().packs[pack].declared.actions.items():
            moves = name and action.tool == "reminders" and declared.given.get("do") == "move"
            if moves and str(declared.given["when"]).startswith(f"{sign}{{"):
                own = next(given for given in declared.arguments if given != name)
                given = {name: self._row(last, name), own: correction.value}
                return Act(f"{pack}__{other}", given)
        return None

    def _pointed(self, job: Job, last: LastAct, action: Action | None) -> Act | None:
        """Return the act of words that point, with what was acted on last in their place."""
        effect, wish = last.effect, self.phrasing.pointing(job.inbound, last.effect.pack)
        if wish is None or wish.act is None:
            return None
        texts = [n for n, kind in (action.kinds if action else _REMINDER).items() if kind == "text"]
        person = job.inbound.person.id
        label = next((str(effect.given[n]) for n in texts if effect.given.get(n)), "")
        row: object = label
        if action and (name := _row_of(action, effect)):
            store = self.doing.open_store(effect.pack, last.tenant)
            takes, zone = action.arguments[name], self.doing.zone(person)
            key, label = row_of(store, takes, self._row(last, name), last.tenant, zone)
            row = {"key": key}
        if not label:
            return None
        declared = self._action(Effect("", "", wish.act.tool, {}, ""))
        kinds = declared.kinds if declared else {}
        if row != label and not wish.act.tool.startswith(f"{effect.pack}__"):
            row = label  # a key is that of a row of its own pack
        given = {
            n: (row if kinds.get(n) == "row" else label) if is_pointer(value) else value
            for n, value in wish.act.arguments.items()
        }
        return replace(wish.act, arguments=given)

    def _priced(
        self, job: Job, effect: Effect, action: Action | None, given: Mapping[str, object]
    ) -> dict[str, object]:
        """Return arguments whose amounts have the currency of the last act, if they have none."""
        here = tools.here_of(self.doing, job.inbound.person)
        kinds = action.kinds if action else {}
        return {
            name: corrections.with_currency("money", str(value), effect.given.get(name), here)
            if kinds.get(name) == "money"
            else value
            for name, value in given.items()
        }

    def _other(
        self, last: LastAct, action: Action, correction: Correction, person: str
    ) -> dict[str, object] | None:
        """Return the arguments with another row: the one that was named, or the only other one.

        Raises:
            ToolFailed: there are several others.
        """
        given = last.effect.given
        name, rows = _row_of(action, last.effect), action.arguments
        if not name or correction.kind not in ("name", "other", "change"):
            return None
        store = self.doing.open_store(last.effect.pack, last.tenant)
        zone, acted_on = self.doing.zone(person), str(_key(given[name]))
        if correction.kind != "other":
            try:
                key, _ = row_of(store, rows[name], correction.value, last.tenant, zone)
            except ToolFailed:
                return None
            return {**given, name: {"key": key}}
        some = newest(store, rows[name], _ROWS_SHOWN + 1)
        others = [row for row in some if str(row[0]) != acted_on][:_ROWS_SHOWN]
        if len(others) == 1:
            return {**given, name: {"key": others[0][0]}}
        labels = ", ".join(f"“{one}”" for one in told_apart(store, rows[name], others, zone))
        why = "corrections.which-row" if labels else "corrections.no-other"
        raise ToolFailed(text(why, some=labels))


def _points(reason: str) -> bool:
    """Whether a reason is of what was done last: it begins with what points at that, or as one that
    names nothing else."""
    first = folded(reason.split()[0]) in spoken.glue().pointing
    alone = spoken.unreasoned(f"-, {reason}") == "-" and len(spoken.telling(reason)) <= 1
    return first or alone


def _shares(given: Mapping[str, object], reason: str) -> bool:
    """Whether the reason for taking an act back names what it was about."""
    words = {word for value in given.values() for word in re.findall(r"\w+", folded(str(value)))}
    return not words.isdisjoint(spoken.telling(reason))


def _key(given: object) -> object:
    """Return the key of a row as a call has it."""
    return cast("Mapping[str, object]", given).get("key") if isinstance(given, Mapping) else given


def _row_of(action: Action, effect: Effect) -> str:
    """Return the argument that says on which row a call acted, "" = on none."""
    given = (name for name, takes in action.arguments.items() if takes.kind == "row")
    return next((name for name in given if effect.given.get(name) not in (None, "")), "")


def _deletes(action: Action) -> bool:
    sql = any(sql.lstrip().upper().startswith("DELETE") for sql in action.sql)
    return sql or action.given.get("do") == "remove"


def _last(
    tx: Tx, job: Job, since: str, call: str, fits: Callable[[Effect], bool]
) -> LastAct | None:
    inbound, unsure = job.inbound, False
    turn = begun_turn(tx, job.id)
    undoes = turn is not None and turn.act is not None and turn.act.tool == UNDO
    begun = str(turn.act.arguments["call"]).split()[0] if turn and turn.act and undoes else ""
    if begun or call:
        effects = turns.effects_of(tx, inbound.address, inbound.person.id, begun or call)
        effect = effects[0] if effects else None
    else:
        known = turns.last_effects(tx, inbound.address, inbound.person.id, since, job.id)
        fitting = (one for one in known if fits(one[0]))
        effect, by_model, unsure = next(fitting, (None, False, False))
        effect = None if by_model else effect
    if effect is None:
        return None
    return LastAct(effect, tenant_of(tx, inbound, effect.pack), bool(begun), unsure)


def begun_turn(tx: Tx, job_id: int) -> RunTurn | None:
    """Return what this job had begun when the process ended: by now it may be done."""
    turn = turns.open_of(tx, job_id)
    said = turns.said(tx, turn.id) if turn else []
    calls = next((one.calls for one in said if isinstance(one, AssistantSaid)), ())
    if not (turn and calls):
        return None
    act = Act(calls[0].name, json.loads(calls[0].arguments))
    return RunTurn(turn.pack, turns.words(tx, turn.id), act=act)
