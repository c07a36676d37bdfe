"""Asks for what an action lacks, one question at a time, and for a yes where it wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aouo.agent.tools import actions as tools
from aouo.agent.tools.actions import Doing
from aouo.agent.tools.named_rows import NamedRow, RowGone, RowUnclear, newest, seal, told_apart
from aouo.agent.tools.registry import ChosenOption
from aouo.facts.errors import ToolFailed
from aouo.facts.work import Act
from aouo.flow.answering.turns import Turn
from aouo.packs.actions.declared import Action, Argument
from aouo.packs.data.rows import Cell
from aouo.packs.data.storage import PackStore
from aouo.packs.load import Pack
from aouo.words.catalogue import text

_TRIES = 3
"""How often a form asks for one value."""
_OPTIONS_MAX = 20


@dataclass(frozen=True, slots=True)
class Form:
    """What one turn asks of its person before its action is done."""

    doing: Doing
    turn: Turn
    pack: Pack
    action: Action

    async def filled(self, act: Act) -> Act:
        """Return the act with what was missing, asked for one by one, and confirmed; each row in it
        is named by its key.

        Raises:
            RowGone: a row that was tapped is not there any more.
            ToolFailed: it is called off; the message is for the person, "" = they said no.
        """
        name = act.tool.partition("__")[2]
        given = _placed(self.action, act)
        for argument, takes in self.action.arguments.items():
            if takes.kind in ("row", "choice") and given.get(argument) not in (None, ""):
                given[argument] = await self._settled(argument, given[argument])
        for argument in self.pack.declared.asked(name):
            if given.get(argument) in (None, ""):
                given[argument] = await self._asked(argument)
        if self.action.confirm:
            shown = await asyncio.to_thread(self._shown, given)
            if shown.get("count") == 0:
                return replace(act, arguments=given)
            question = tools.filled(self._said(self.action.confirm), shown)
            options = (text("actions.button-yes"), text("actions.button-no"))
            if await self._answer("confirm", question, options) != options[0]:
                raise ToolFailed("")
        return replace(act, arguments=given)

    async def _settled(self, argument: str, given: object) -> object:
        """Return a row or a choice by its key, asked for where words name several rows; what cannot
        be read stays."""
        try:
            return await asyncio.to_thread(self._check, argument, given)
        except RowGone:
            raise
        except ToolFailed as error:
            if isinstance(error, RowUnclear) and error.rows:
                return await self._asked(argument, error)
            return given

    async def _asked(self, argument: str, unclear: RowUnclear | None = None) -> object:
        takes = self.action.arguments[argument]
        question = self._said(takes.ask) or text("actions.asks", name=argument)
        asked = question if unclear is None else str(unclear) or question
        if takes.kind == "row" and unclear is None and not self.action.confirm:
            only = await asyncio.to_thread(self._options, takes, None)
            if len(only) == 1:
                return next(iter(only.values()))
        for number in range(_TRIES):
            rows = unclear.rows if unclear else None
            options = await asyncio.to_thread(self._options, takes, rows)
            answer = await self._answer(f"{argument}:{number}", asked, tuple(options))
            try:
                if isinstance(answer, ChosenOption) and answer not in options:
                    raise RowGone(text("actions.row-gone"))
                return await asyncio.to_thread(self._check, argument, options.get(answer, answer))
            except ToolFailed as error:
                unclear = error if isinstance(error, RowUnclear) else None
                asked = text("actions.asks-again", why=error, question=question)
        raise ToolFailed(text("actions.called-off"))

    def _check(self, argument: str, answer: object) -> object:
        """Return an answer as the action takes it: a row and a choice by its key.

        Raises:
            ToolFailed: it cannot be read.
        """
        takes = self.action.arguments[argument]
        values, shown = self._bound({argument: answer}, {argument: takes})
        if takes.kind != "row":
            return values[argument] if takes.kind == "choice" else answer
        key = values[argument]
        return {"key": key, "of": seal(self._whose, str(shown[argument]))}

    def _shown(self, given: Mapping[str, object]) -> Mapping[str, object]:
        """Return the arguments as people read them, and what is found without any."""
        shown = self._bound(given, self.action.arguments)[1]
        found = self.action.find and ":" not in self.action.find
        rows = self._store().read(self.action.find, limit=1) if found else []
        return {**shown, **(rows[0] if rows else {})}

    def _bound(
        self, given: Mapping[str, object], arguments: Mapping[str, Argument]
    ) -> tuple[dict[str, Cell], dict[str, object]]:
        action = self.action.model_copy(update={"arguments": arguments})
        here = tools.here_of(self.doing, self.turn.job.inbound.person)
        store = self._store() if action.rows else None
        return tools.bound(self.pack, action, given, here, store, self.turn.ctx.facts.tenant)

    def _options(self, takes: Argument, rows: Sequence[NamedRow] | None) -> dict[str, object]:
        """Return the buttons of a question: a label, and what it stands for."""
        if takes.kind != "row":
            return {self._said(choice): choice for choice in takes.choices}
        store, zone = self._store(), self.doing.zone(self.turn.job.inbound.person.id)
        rows = newest(store, takes, _OPTIONS_MAX) if rows is None else rows[:_OPTIONS_MAX]
        labels = told_apart(store, takes, rows, zone)
        keys = [{"key": key, "of": seal(self._whose, label)} for key, label in rows]
        return dict(zip(labels, keys, strict=True))

    @property
    def _whose(self) -> str:
        return tools.whose_data(self.pack, self.turn.ctx.facts.tenant)

    def _store(self) -> PackStore:
        return self.doing.open_store(self.pack.name, self.turn.ctx.facts.tenant)

    def _said(self, words: str) -> str:
        return self.pack.said(self.turn.job.inbound.person.language, words)

    async def _answer(self, key: str, question: str, options: Sequence[str]) -> str:
        """Ask as `clarify` does: durable, and closed by /stop and /new."""
        try:
            return await self.turn.ask(f"{self.turn.ctx.facts.id}:{key}", question, options)
        except ToolFailed as error:
            raise ToolFailed(text("actions.question-closed")) from error


def _placed(action: Action, act: Act) -> dict[str, object]:
    """Return the arguments by name; that without a name is the first row, or the first of all."""
    first = (*action.rows, *action.arguments)[:1]
    named = {name or (first[0] if first else ""): value for name, value in act.arguments.items()}
    return {
        name: {"key": value, "of": act.seal} if act.by_key and name in action.rows else value
        for name, value in named.items()
        if name in action.arguments
    }
