"""A model that answers with the marks it was asked with, and tells of the ones it remembers.

A mark is `p07n00123v0`: place, number, version of the words. Behind the mark a text says what its
turn is like: `plain`, `slow`, `long`, `huge`, `msg`, `ask`, `keys`, `fail`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from aouo.facts.errors import ProviderBusy
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Message,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
)

MARK = re.compile(r"([pu])(\d\d)n(\d{5})v(\d)")
_ASKED = re.compile(r"^(?:\[callback\] )?([pu]\d\dn\d{5}v\d)(?: (\w+))?", re.MULTILINE)
_EDITED = re.compile(r"\[the person edited their message: ([pu]\d\dn\d{5}v\d) (\w+)")
TAPPED = 8
"""Versions from here on are the data of buttons."""
_FILLER = "and so on, since people like to read a little more than they had asked for. "
Mark: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the marks to answer, those that came as answers, and all that were there.

    `held` are those but for what it is reminded of, which may be of earlier sessions.
    """

    nonce: str
    at_s: float
    marks: tuple[Mark, ...]
    told: tuple[Mark, ...]
    read: frozenset[Mark]
    held: frozenset[Mark]
    kind: str


REMINDED = "# From before\n"
"""The head of what a turn is reminded of (`agent/retrieval.py`)."""


@dataclass
class MarkModel:
    """See the module; `asked` and `wrong` are what the laws look at."""

    chance: random.Random
    provider: str = "fake"
    model: str = "marks"
    context_window: int = 1_000_000
    sees: bool = True
    asked: list[Asked] = field(default_factory=list[Asked])
    failed: Counter[Mark] = field(default_factory=Counter[Mark])
    read: list[frozenset[Mark]] = field(default_factory=list[frozenset[Mark]])
    """The marks of each prompt, those for titles too."""
    said: list[tuple[str, Mark]] = field(default_factory=list[tuple[str, Mark]])
    """(nonce, mark) of `msg` calls that came back as sent."""
    heard: list[tuple[Mark, str, str]] = field(default_factory=list[tuple[Mark, str, str]])
    """(mark, nonce, answer) of questions: of the text that led to one, its own, and what came."""
    wrong: list[str] = field(default_factory=list[str])
    at_work: Counter[str] = field(default_factory=Counter[str])
    most_at_once: int = 0
    _nonces: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model),)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        everything = _marks(request.messages, request.system, request.context)
        context, _, _ = request.context.partition(REMINDED)
        held = _marks(request.messages, request.system, context)
        self.read.append(everything)
        if not request.tools:  # a title
            yield Finished(AssistantSaid("A title"), Usage(10, 0, 5), "stop")
            return
        turn = _this_turn(request.messages)
        asked = self._note(turn, everything, held)
        # A button of a topic that was closed may be tapped in the chat around it: not counted.
        place = next((mark[:3] for mark in asked.marks if int(mark[-1]) < TAPPED), "")
        at_work = self.at_work  # of this life
        at_work[place] += 1
        if place and at_work[place] > 1:
            self.wrong.append(f"two turns at once in {place}")
        self.most_at_once = max(self.most_at_once, at_work.total())
        try:
            await asyncio.sleep(self._wait_s(asked.kind))
            async for event in self._say(asked, turn):
                yield event
        finally:
            at_work[place] -= 1

    def _note(
        self, turn: list[Message], everything: frozenset[Mark], held: frozenset[Mark]
    ) -> Asked:
        marks: dict[str, Mark] = {}  # the newest words of each text
        told: list[Mark] = []
        kind = "plain"
        for entry in turn:
            if isinstance(entry, UserSaid):
                found = _ASKED.findall(entry.text) + _EDITED.findall(entry.text)
                marks |= {mark[:9]: mark for mark, _ in found}
                kind = found[-1][1] or kind if found else kind
            elif isinstance(entry, ToolReturned) and entry.name == "clarify":
                told += [match[0] for match in MARK.finditer(entry.text)]
                self._note_heard(turn, entry)
            elif isinstance(entry, ToolReturned) and '"sent_content": true' in entry.text:
                self._note_said(turn, entry)
        asked = Asked(
            f"q{next(self._nonces):06}",
            asyncio.get_running_loop().time(),
            tuple(marks.values()),
            tuple(told),
            everything,
            held,
            kind,
        )
        self.asked.append(asked)
        return asked

    def _note_said(self, turn: list[Message], result: ToolReturned) -> None:
        _, nonce, mark = _called(turn, result)["text"].split()
        self.said.append((nonce, mark))

    def _note_heard(self, turn: list[Message], result: ToolReturned) -> None:
        _, nonce, mark = _called(turn, result)["message"].split()
        self.heard.append((mark, nonce, result.text))

    def _wait_s(self, kind: str) -> float:
        return self.chance.uniform(4, 12) if kind == "slow" else self.chance.expovariate(1.5)

    async def _say(self, asked: Asked, turn: list[Message]) -> AsyncGenerator[ModelEvent]:
        mark = asked.marks[-1] if asked.marks else ""
        if asked.kind == "fail":
            self.failed.update(asked.marks)
            raise ProviderBusy("on purpose")
        calls = () if any(isinstance(e, ToolReturned) for e in turn) else _calls(asked, mark)
        if calls:
            said = AssistantSaid("", calls)
            yield Finished(said, Usage(10, 0, 5), "tool_calls")
            return
        text = self._answer(asked)
        pieces = 1 if asked.kind == "plain" else self.chance.randrange(2, 9)
        size = -(-len(text) // pieces)
        for at in range(0, len(text), size):
            yield TextDelta(text[at : at + size])
            await asyncio.sleep(0 if pieces == 1 else self.chance.uniform(0.1, 1.5))
        yield Finished(AssistantSaid(text), Usage(10, 0, 5), "stop")

    def _answer(self, asked: Asked) -> str:
        known = sorted(asked.held - {*asked.marks, *asked.told})[-3:]
        lines = [f"begin {asked.nonce}", *(f"re {mark}" for mark in asked.marks)]
        lines += [f"by {mark}" for mark in dict.fromkeys(asked.told)]
        lines += [f"had {mark}" for mark in known]
        if asked.kind in ("long", "slow"):
            lines.append(_FILLER * self.chance.randrange(2, 8))
        elif asked.kind == "huge":
            lines += [_FILLER * 4] * self.chance.randrange(14, 30)
        return "\n\n".join([*lines, f"end {asked.nonce}"])


def _calls(asked: Asked, mark: Mark) -> tuple[ToolCall, ...]:
    nonce = asked.nonce
    match asked.kind:
        case "msg":
            arguments = {"type": "text", "text": f"said {nonce} {mark}"}
            return (ToolCall(f"call_{nonce}", "msg", json.dumps(arguments)),)
        case "keys":
            buttons = [[f"Yes|{mark[:-1]}8"], [f"No|{mark[:-1]}9"]]
            arguments = {"type": "keyboard", "text": f"said {nonce} {mark}", "buttons": buttons}
            return (ToolCall(f"call_{nonce}", "msg", json.dumps(arguments)),)
        case "ask":
            arguments = {"message": f"which {nonce} {mark}", "options": ["red", "green"]}
            return (ToolCall(f"call_{nonce}", "clarify", json.dumps(arguments)),)
        case _:
            return ()


def _called(turn: list[Message], result: ToolReturned) -> dict[str, str]:
    """The arguments of the call that a result belongs to."""
    calls = (call for entry in turn if isinstance(entry, AssistantSaid) for call in entry.calls)
    return json.loads(next(call.arguments for call in calls if call.id == result.call_id))


def _this_turn(messages: Iterable[Message]) -> list[Message]:
    """What stands behind the last answer."""
    turn: list[Message] = []
    for entry in messages:
        turn.append(entry)
        if isinstance(entry, AssistantSaid) and not entry.calls:
            turn.clear()
    return turn


def _marks(messages: Iterable[Message], *texts: str) -> frozenset[Mark]:
    parts = [*texts, *(entry.text for entry in messages)]
    return frozenset(match[0] for match in MARK.finditer("\n".join(parts)))
