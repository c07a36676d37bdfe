"""Asks for what an action lacks, one question at a time, and for a yes where it wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aouo.agent.tools import actions as tools
from aouo.agent.tools.actions import Doing
from aouo.facts.errors import ToolFailed
from aouo.facts.work import Act
from aouo.flow.answering.turns import Turn
from aouo.packs.actions.declared import Action
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
        """Return the act with what was missing, asked for one by one, and confirmed.

        Raises:
            ToolFailed: it is called off; the message is for the person, "" = they said no.
        """
        name = act.tool.partition("__")[2]
        given = _placed(self.action, act.arguments)
        for argument in self.pack.declared.asked(name):
            if given.get(argument) in (None, ""):
                given[argument] = await self._asked(argument)
        if self.action.confirm:
            question = tools.filled(self._said(self.action.confirm), given)
            options = (text("actions.button-yes"), text("actions.button-no"))
            if await self._answer("confirm", question, options) != options[0]:
                raise ToolFailed("")
        return replace(act, arguments=given)

    async def _asked(self, argument: str) -> str:
        takes = self.action.arguments[argument]
        question = self._said(takes.ask) or text("actions.asks", name=argument)
        options = await asyncio.to_thread(self._options, argument)
        asked = question
        for number in range(_TRIES):
            answer = await self._answer(f"{argument}:{number}", asked, options)
            try:
                await asyncio.to_thread(self._check, argument, answer)
            except ToolFailed as error:
                asked = text("actions.asks-again", why=error, question=question)
            else:
                return answer
        raise ToolFailed(text("actions.called-off"))

    def _check(self, argument: str, answer: str) -> None:
        takes = self.action.arguments[argument]
        one = self.action.model_copy(update={"arguments": {argument: takes}})
        here = tools.here_of(self.doing, self.turn.job.inbound.person)
        store = self._store() if takes.kind == "row" else None
        tools.bound(one, {argument: answer}, here, store)

    def _options(self, argument: str) -> tuple[str, ...]:
        takes = self.action.arguments[argument]
        if takes.kind != "row":
            return tuple(self._said(choice) for choice in takes.choices)
        return tuple(label for _, label in tools.labels(self._store(), takes)[:_OPTIONS_MAX])

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


def _placed(action: Action, given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments by name; that without a name is the first row, or the first of all."""
    rows = [name for name, takes in action.arguments.items() if takes.kind == "row"]
    first = (*rows, *action.arguments)[:1]
    named = {name or (first[0] if first else ""): value for name, value in given.items()}
    return {name: value for name, value in named.items() if name in action.arguments}
