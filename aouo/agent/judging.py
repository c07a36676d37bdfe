"""Tier 2: a model of the owner's choice may spare them a question about what stays or is told.

It reads the owner's own words and the call, never what strangers wrote to the conversation, and its
answer counts only if it says the word that it was given and nothing but what it may.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aouo.agent.spending.quota import Quota
from aouo.facts.errors import ProviderError, Refused
from aouo.facts.ids import ulid
from aouo.facts.languages import bundled
from aouo.facts.ports import ChatModel, Clock
from aouo.facts.records import Sink, Spent
from aouo.facts.transcript import Finished, ModelRequest, UserSaid
from aouo.guard.prepared import Allowed, Approve, Ask, Blocked, PreparedCall, is_attended
from aouo.plumbing.logs import log
from aouo.store import usage
from aouo.store.database import Database

_WITHIN_S = 30.0
_A_MINUTE = 20
_WORDS_CHARS, _CALL_CHARS, _ANSWER_TOKENS = 4_000, 4_000, 2_000
_SPARED: frozenset[Sink] = frozenset({"own", "persist", "tell"})
_WISH: str = bundled("aouo.agent", "prompts.yml")["judge"]
_UNUSABLE = "The judging model gave no answer that counts, so this was not done. Go on without it."
_BLOCKED = "The judging model blocked this: it is not what the owner asked for. Go on without it."


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    canary: str
    verdict: Literal["allow", "ask", "block"]
    why: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Judging:
    """Asks the model, up to `daily` times a day and 20 times a minute; beyond, the owner is asked.

    `model` gives it; money goes through the same limits as a turn's.
    """

    database: Database
    clock: Clock
    quota: Quota
    model: Callable[[], Awaitable[ChatModel]]
    daily: int
    _newest: deque[datetime] = field(init=False, default_factory=deque[datetime])

    def before(self, approve: Approve, row: Spent, spend: Callable[[Spent], None]) -> Approve:
        """Return the way to the owner with the model before it; `row` says who pays."""

        async def judged(asked: Sequence[tuple[PreparedCall, Ask]]) -> Sequence[Allowed | Blocked]:
            said = [await self._said(action, ask, row, spend) for action, ask in asked]
            rest = [one for one, known in zip(asked, said, strict=True) if known is None]
            told = iter(await approve(rest)) if rest else iter(())
            return [next(told) if known is None else known for known in said]

        return judged

    async def _said(
        self, action: PreparedCall, ask: Ask, row: Spent, spend: Callable[[Spent], None]
    ) -> Allowed | Blocked | None:
        """Return what the model decides, None = the owner is asked."""
        words = action.heard.own.strip() if action.heard else ""
        if not (
            words and ask.tier == 2 and action.sink in _SPARED and is_attended(action.facts.origin)
        ):
            return None
        if not await self._has_room():
            return None
        try:
            answer = await self._ask(action, words, row, spend)
        except (ProviderError, Refused, TimeoutError, ValidationError, ValueError) as error:
            log.warning("judge_unusable", tool=action.tool, error=type(error).__name__)
            return Blocked(_UNUSABLE, "no answer of the judging model counts", "judge")
        log.info("judged", tool=action.tool, call=action.call_id, verdict=answer.verdict)
        if answer.verdict == "allow":
            return Allowed("the judging model: the owner asked for it", "judge")
        if answer.verdict == "block":
            return Blocked(_BLOCKED, "the judging model: not what the owner asked for", "judge")
        return None

    async def _has_room(self) -> bool:
        now, day = self.clock.now(), self.quota.day()
        while self._newest and now - self._newest[0] > timedelta(minutes=1):
            self._newest.popleft()
        if len(self._newest) >= _A_MINUTE:
            return False
        if await self.database.read(lambda tx: usage.judged(tx, day)) >= self.daily:
            return False
        self._newest.append(now)
        return True

    async def _ask(
        self, action: PreparedCall, words: str, row: Spent, spend: Callable[[Spent], None]
    ) -> _Answer:
        """Ask once; raises what is no answer that counts."""
        canary, model, said = ulid(), await self.model(), ""
        call = {
            "owner": words[-_WORDS_CHARS:],
            "tool": action.tool,
            "does": action.sink,
            "arguments": json.dumps(action.payload, ensure_ascii=False, default=str)[:_CALL_CHARS],
        }
        request = ModelRequest(
            system=_WISH.format(canary=canary),
            messages=(UserSaid(json.dumps(call, ensure_ascii=False)),),
            tools=(),
            max_tokens=_ANSWER_TOKENS,
            temperature=0.0,
        )
        paid = replace(row, scope="judge", session_id="")
        async with (
            asyncio.timeout(_WITHIN_S),
            aclosing(self.quota.stream(model, request, paid, spend)) as events,
        ):
            async for event in events:
                if isinstance(event, Finished):
                    said = event.said.text
        answer = _Answer.model_validate_json(said.strip())
        if answer.canary != canary:
            raise ValueError("another canary")
        return answer
