"""How much room is asked for once a service has said how much there is.

The services' own words are in tests/providers/test_failures.py.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from aouo.facts.errors import ProviderError
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    FinishReason,
    ModelEvent,
    ModelRequest,
    Usage,
    UserSaid,
)
from aouo.providers.failures import refused
from aouo.providers.room import Room

WINDOW = 16_384


@dataclass
class Vllm:
    """A `ChatModel` with a window for prompt and answer together; four letters are a token.

    Source: the words of vLLM, old (github.com/ogx-ai/ogx/issues/4534) and new, which stops to
    count where the prompt leaves one token less than was asked for.
    """

    counts_all: bool = True
    window: int = WINDOW
    reason: FinishReason = "stop"
    asked: list[int] = field(default_factory=list[int])
    provider: str = "mine"
    model: str = "m"
    context_window: int = 131_072
    sees: bool = False
    candidates: tuple[tuple[str, str], ...] = (("mine", "m"),)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked.append(request.max_tokens)
        prompt = sum(len(message.text) for message in request.messages) // 4
        if prompt + request.max_tokens > self.window:
            raise self._refusal(prompt, request.max_tokens)
        yield Finished(AssistantSaid("Yes."), Usage(prompt, 0, 1), self.reason)

    def _refusal(self, prompt: int, asked: int) -> ProviderError:
        words = (
            f"This model's maximum context length is {WINDOW} tokens. However, you requested "
            f"{prompt + asked} tokens ({prompt} in the messages, {asked} in the completion)."
        )
        if not self.counts_all:
            least = min(prompt, WINDOW - asked + 1)
            words = (
                f"This model's maximum context length is {WINDOW} tokens. However, you requested "
                f"{asked} output tokens and your prompt contains at least {least} input tokens, "
                f"for a total of at least {least + asked} tokens."
            )
        return refused("mine", 400, json.dumps({"error": {"message": words}}).encode(), headers={})


async def ask(room: Room, model: Vllm, tokens: int, max_tokens: int = 16_000) -> Finished:
    request = ModelRequest("", (UserSaid("word" * tokens),), (), max_tokens=max_tokens)
    async with aclosing(room.stream(model, request)) as events:
        found = [event async for event in events]
    assert isinstance(found[-1], Finished)
    return found[-1]


async def test_one_long_conversation_leaves_the_others_their_room() -> None:
    """A window is prompt and answer together: what one prompt left is no limit of the next."""
    room, model = Room(), Vllm()
    await ask(room, model, 15_000)
    await ask(room, model, 100)

    assert model.asked[:2] == [16_000, 1_384]
    assert model.asked[-1] > 15_000


async def test_a_window_is_refused_for_once_and_then_known() -> None:
    room, model = Room(), Vllm()
    await ask(room, model, 4_000)
    for tokens in (4_100, 6_000, 9_000, 12_000, 500):
        await ask(room, model, tokens)

    assert len(model.asked) == 7
    assert model.asked[-2] > 3_000


@pytest.mark.parametrize("tokens", [5_000, 9_000])
async def test_a_service_that_stops_to_count_is_not_taken_at_its_word(tokens: int) -> None:
    """ "At least" so many tokens is one above what we left, whatever the prompt has."""
    room, model = Room(), Vllm(counts_all=False)
    await ask(room, model, tokens)

    assert model.asked[0] == 16_000
    assert len(model.asked) == 2
    assert model.asked[1] > 3_000


async def test_a_room_that_cut_an_answer_off_is_asked_for_whole_the_next_time() -> None:
    """A plan or a server's window may have grown; one that has not costs one refusal."""
    room, model = Room(), Vllm()
    await ask(room, model, 4_000)
    await ask(room, model, 4_000)
    model.reason = "length"
    assert (await ask(room, model, 4_000)).bounded_by == "service"
    model.reason, model.window = "stop", 2 * WINDOW
    after = await ask(room, model, 4_000)

    assert model.asked[0] == model.asked[-1] == 16_000
    assert len(model.asked) == 5
    assert after.bounded_by == ""
