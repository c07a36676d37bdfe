"""Makes the runtime's own small model calls: facts, a summary, a title, a picture.

They go through the same limits as a turn, and count for the day but not for a session. The
conversation is material here: it stands between marks that nobody in it can know.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeAlias

from aouo.agent.spending.quota import Quota
from aouo.facts.errors import EmptyAnswer
from aouo.facts.ids import ulid
from aouo.facts.languages import bundled
from aouo.facts.ports import ChatModel
from aouo.facts.records import Spent
from aouo.facts.transcript import Finished, Image, ModelRequest, UserSaid

_WITHIN_S = 300.0
"""As long as a model may be silent, since it thinks before a title too; two fit into a turn."""
_FACTS_MAX, _FACT_CHARS = 12, 300
_TITLE_CHARS = 60
_ANSWER_TOKENS = 8_000
"""Most of it is for hidden thoughts; the prompt says in words how short the answer has to be."""

_PROMPTS: Mapping[str, str] = bundled("aouo.agent", "prompts.yml")
_BULLET = re.compile(r"^\s*[-*•]\s+(.+)$")


def is_side_call(request: ModelRequest) -> bool:
    """Whether this is a side call of the runtime, not a turn's request."""
    return request.system.endswith(_PROMPTS["material"])


@dataclass(frozen=True, slots=True)
class SideCalls:
    """Asks a model on the runtime's behalf: `row` is the usage row to fill, for no session.

    `spend` gets the row once it is known, `took_ms` the milliseconds that a call took.
    """

    quota: Quota
    model: ChatModel
    row: Spent
    spend: Callable[[Spent], None]
    took_ms: Callable[[float], None] = lambda ms: None

    async def facts(self, material: str) -> str:
        """Return lines for memory, each beginning with "- ", "" = there is nothing to keep; raises
        as `summary`."""
        answer = await self._ask("summary", _PROMPTS["facts"].format(most=_FACTS_MAX), material)
        found = [match[1].strip() for line in answer.splitlines() if (match := _BULLET.match(line))]
        return "\n".join(f"- {fact[:_FACT_CHARS]}" for fact in found[:_FACTS_MAX])

    async def summary(self, material: str, *, words: int, focus: str = "") -> str:
        """Return a summary of about that many words.

        Raises:
            EmptyAnswer: the model said nothing.
            Refused: a limit is reached.
            ProviderError: the model gave no answer.
            TimeoutError: it took too long.
        """
        wish = _PROMPTS["summary"].format(words=words)
        if focus:
            wish += f" The person asked to keep in view: {focus}"
        return await self._ask("summary", wish, material)

    async def title(self, material: str) -> str:
        """Return a title: a few words on one line; raises as `summary`."""
        answer = await self._ask("title", _PROMPTS["title"], material)
        line = " ".join(answer.splitlines()[0].split()).strip("\"'“”„«»`*#. ")
        if not line:
            raise EmptyAnswer("a title without words")
        return line[:_TITLE_CHARS].rstrip()

    async def _ask(self, scope: str, wish: str, material: str) -> str:
        mark = ulid()
        request = ModelRequest(
            system=f"{wish}\n{_PROMPTS['material']}",
            messages=(UserSaid(f"<<{mark}>>\n{material}\n<<{mark}>>"),),
            tools=(),
            max_tokens=min(_ANSWER_TOKENS, self.model.context_window // 4),
        )
        row = replace(self.row, scope=scope, session_id="")
        begun_s = time.perf_counter()
        try:
            missing = f"no {scope} in the answer"
            return await _answer(self.quota, self.model, request, row, self.spend, missing)
        finally:
            self.took_ms((time.perf_counter() - begun_s) * 1000)


async def _answer(
    quota: Quota,
    model: ChatModel,
    request: ModelRequest,
    row: Spent,
    spend: Callable[[Spent], None],
    missing: str,
) -> str:
    """Return what a model answers; `missing` says what there is not, where that is nothing."""
    text = ""
    async with (
        asyncio.timeout(_WITHIN_S),
        aclosing(quota.stream(model, request, row, spend)) as events,
    ):
        async for event in events:
            if isinstance(event, Finished):
                text = event.said.text.strip()
    if not text:
        raise EmptyAnswer(missing)
    return text


_DESCRIPTION_CHARS = 4_000
_WORDS = 500
Describe: TypeAlias = Callable[[Image, str, Spent, Callable[[Spent], None]], Awaitable[str]]


async def describe(
    quota: Quota,
    model: ChatModel,
    image: Image,
    caption: str,
    row: Spent,
    spend: Callable[[Spent], None],
) -> str:
    """Return a model's description of the picture, within the same limits as every call;
    `caption` is what its sender wrote under it.

    Raises:
        EmptyAnswer: the model said nothing.
        Refused: a limit is reached.
        ProviderError: the model gave no answer.
        TimeoutError: it took too long.
    """
    words = f"Its sender wrote: {caption}" if caption else "Its sender wrote nothing."
    request = ModelRequest(
        system=_PROMPTS["picture"].format(words=_WORDS),
        messages=(UserSaid(words, (image,)),),
        tools=(),
        max_tokens=min(_ANSWER_TOKENS, model.context_window // 4),
    )
    text = await _answer(quota, model, request, row, spend, "a picture without a description")
    return text[:_DESCRIPTION_CHARS]
