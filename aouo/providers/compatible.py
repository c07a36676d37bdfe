"""Asks any model of an OpenAI-compatible server, over the runtime's one HTTP session."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from aouo.facts.errors import ModelGone, ProviderError, ProviderRejected, UnexplainedRefusal
from aouo.facts.transcript import ModelEvent, ModelRequest, PaidForNothing
from aouo.providers.chat.answers import ChatParser
from aouo.providers.chat.bodies import Bodies
from aouo.providers.chat.wire import wants_marks
from aouo.providers.dialect import Dialect, alternatives, is_about_us
from aouo.providers.failures import ParameterRefused
from aouo.providers.printed import read_printed
from aouo.providers.refusals import refuses_pictures, refuses_this_picture
from aouo.providers.responses.answers import ResponsesParser
from aouo.providers.responses.bodies import ResponsesBodies
from aouo.providers.room import counted_together
from aouo.providers.service import ServiceModel
from aouo.providers.thoughts import is_at, signed_in, wants_thoughts

if TYPE_CHECKING:
    from aouo.providers.endpoint import AnswerParser, ChatEndpoint, Line

TRIES_MAX = 6
"""The most attempts of one request after refusals; two refusals are usual."""


class CompatibleModel(ServiceModel):
    """A `ChatModel` over a `ChatEndpoint`, on the wire and in the dialect that its service takes.

    It learns both from the service's refusals (`dialect`), once.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._bodies = Bodies(model=self.model, provider=self.provider)
        self._responses = ResponsesBodies(model=self.model, provider=self.provider)
        self._first = replace(
            self._first,
            thoughts=wants_thoughts(self.provider, self.model),
            signed=signed_in(self.provider, self.base_url, self.model),
            cache_marks=wants_marks(self.provider, self.base_url, self.model),
            cache_key=is_at("mistral", self.provider, self.base_url),
        )

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; tool calls that it prints as text become calls."""
        return read_printed(self._stream(request), request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model, and after a refusal again in the next likely dialect.

        A change that a refusal names is learnt at once, a guess when an answer comes. If no guess
        helps, the first refusal is raised, unless the last one says more.
        """
        endpoint = await self._connected()
        known = self._dialect
        tries, guessed = [known], None
        for left in range(TRIES_MAX, 0, -1):
            dialect, *tries = tries
            answered = False
            try:
                async with aclosing(self._asked(endpoint, request, dialect)) as events:
                    async for event in events:
                        if not answered:
                            answered = True
                            self._learn(known, dialect.answering(request), request, guessed)
                        yield event
                return
            except (ProviderRejected, ModelGone) as refused:
                if answered:
                    raise
                others = self._others(dialect, refused, request, guessed)
                if _is_named(refused, dialect, others) and not guessed:
                    self._learn(known, others[0], request, refused)
                    known = others[0]
                else:
                    guessed = guessed or refused
                tries = [*others, *(one for one in tries if one not in others)]
                if not tries or left == 1:
                    if guessed is None or _says_more(refused, guessed):
                        raise
                    guessed.may_have_cost = refused.may_have_cost  # the others were reported above
                    raise guessed from refused
                if refused.may_have_cost:
                    yield PaidForNothing()

    def _others(
        self,
        dialect: Dialect,
        refused: ProviderRejected | ModelGone,
        request: ModelRequest,
        guessed: ProviderError | None,
    ) -> tuple[Dialect, ...]:
        """Return the dialects to try next.

        Encrypted thoughts of another key or organization are refused as input, without a field's
        name or as `input`. A dialect that was learnt and is refused later is forgotten: the service
        has changed.

        Source: `invalid_encrypted_content`, github.com/openai/codex/issues/8119 (Dec 2025).
        """
        if request.has_pictures and (refuses_pictures(refused) or refuses_this_picture(refused)):
            return ()  # `KnownModel` handles that
        if any(counted_together(refused, request.max_tokens)):
            return ()  # its numbers show that it is about the size
        if isinstance(guessed, UnexplainedRefusal) and isinstance(refused, UnexplainedRefusal):
            return ()  # the tries already cover all possible causes
        of_input = isinstance(refused, ParameterRefused) and refused.parameter.startswith("input")
        perhaps = dialect.wire == "responses" and (
            of_input or isinstance(refused, UnexplainedRefusal)
        )
        if perhaps and self._responses.forget_thoughts(request):
            return (dialect, *alternatives(dialect, refused, request))
        found = alternatives(dialect, refused, request)
        changed = dialect.proven and replace(dialect, proven=False) != self._first
        return (self._first,) if not found and changed and is_about_us(refused) else found

    def _asked(
        self, endpoint: ChatEndpoint, request: ModelRequest, dialect: Dialect
    ) -> AsyncGenerator[ModelEvent, None]:
        if dialect.wire == "chat":
            return endpoint.stream(self._bodies.body(request, dialect))
        reader = partial(ResponsesParser, model=self.model)
        return endpoint.stream(self._responses.body(request, dialect), "/responses", reader)

    def _reader(self) -> Callable[..., AnswerParser]:
        return partial(ChatParser, model=self.model)

    def _line(self) -> Line:
        from aouo.providers.openai_line import openai_line

        return openai_line(base_url=self.base_url, api_key=self.api_key, session=self.session)


def _says_more(refused: ProviderRejected | ModelGone, guessed: ProviderError) -> bool:
    """Whether to raise the last refusal, and not the first one, which the guesses began with."""
    named = isinstance(guessed, ParameterRefused)
    return type(refused) is ProviderRejected or (named and isinstance(refused, ModelGone))


def _is_named(
    refused: ProviderRejected | ModelGone, dialect: Dialect, others: tuple[Dialect, ...]
) -> bool:
    """Whether the refusal names one field that can be changed on the same wire."""
    return isinstance(refused, ParameterRefused) and [other.wire for other in others] == [
        dialect.wire
    ]
