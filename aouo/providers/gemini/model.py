"""Asks Gemini in its own format, by the google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from aouo.facts.errors import ProviderAuth, UnexplainedRefusal
from aouo.facts.transcript import ModelEvent, ModelRequest, PaidForNothing
from aouo.providers.chat.wire import encode
from aouo.providers.gemini.answers import GeminiParser
from aouo.providers.gemini.wire import gemini_body
from aouo.providers.service import ServiceModel

if TYPE_CHECKING:
    from aouo.providers.gemini.line import GeminiLine


class GeminiModel(ServiceModel):
    """A `ChatModel` of Gemini."""

    reader = GeminiParser

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; after an unexplained refusal once more without the owner's fields."""
        endpoint = await self._connected()
        known, first, answered = self._dialect, None, False
        quiet = known.quiet(request)
        for dialect in dict.fromkeys((known, quiet)):
            body = encode(gemini_body(request, model=self._model, dialect=dialect))
            try:
                async with aclosing(endpoint.stream(body)) as events:
                    async for event in events:
                        answered = True
                        self._learn(known, dialect, request, first)
                        yield event
                return
            except UnexplainedRefusal as refused:
                first = first or refused
                if answered or dialect == quiet:
                    first.may_have_cost = refused.may_have_cost
                    raise first from refused
                if refused.may_have_cost:
                    yield PaidForNothing()

    def _line(self) -> GeminiLine:
        from aouo.providers.gemini.line import GeminiLine

        if not self._key:  # the SDK would look for one in the environment
            raise ProviderAuth(f"{self._provider}: there is no key")
        return GeminiLine(
            model=self._model,
            base_url=_host(self._base_url),
            api_key=self._key,
            session=self._session,
        )


def _host(base_url: str) -> str:
    """Return the address without what the SDK adds, and without the compatible service's path."""
    return base_url.removesuffix("/openai").removesuffix("/v1beta")
