"""Asks Gemini in its own format, by the google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from aouo.facts.errors import ProviderAuth, UnexplainedRefusal
from aouo.facts.transcript import AssistantSaid, ModelEvent, ModelRequest, PaidForNothing
from aouo.providers.dialect import thinking_less
from aouo.providers.formats.chat_requests import encode
from aouo.providers.formats.gemini import GeminiParser, gemini_body
from aouo.providers.service import ServiceModel

if TYPE_CHECKING:
    from aouo.providers.endpoint import AnswerParser, Line


class GeminiModel(ServiceModel):
    """A `ChatModel` of Gemini."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; after an unexplained refusal again without signatures, with another
        effort, and without the owner's fields."""
        endpoint = await self._connected()
        known, first, answered = self._dialect, None, False
        tries, dropped = [known], list[AssistantSaid]()
        while tries:
            dialect = tries.pop(0)
            sent = self._forgotten.without(request)
            body = encode(gemini_body(sent, model=self.model, dialect=dialect))
            try:
                async with aclosing(endpoint.stream(body)) as events:
                    async for event in events:
                        answered = True
                        self._learn(known, dialect, request, first)
                        yield event
                return
            except UnexplainedRefusal as refused:
                if first is None and not answered:
                    first = refused
                    dropped = self._forgotten.forget(request, self.provider, self.model)
                    others = (*thinking_less(known, refused, request), known.quiet(request))
                    tries = [known] if dropped else []
                    tries += [one for one in dict.fromkeys(others) if one != known]
                first = first or refused
                if answered or not tries:
                    self._forgotten.recall(dropped)
                    first.may_have_cost = refused.may_have_cost
                    raise first from refused
                if refused.may_have_cost:
                    yield PaidForNothing()

    def _reader(self) -> Callable[..., AnswerParser]:
        return GeminiParser

    def _line(self) -> Line:
        from aouo.providers.formats.gemini_line import gemini_line

        if not self.api_key:  # the SDK would look for one in the environment
            raise ProviderAuth(f"{self.provider}: there is no key")
        return gemini_line(
            model=self.model,
            base_url=_host(self.base_url),
            api_key=self.api_key,
            session=self.session,
        )


def _host(base_url: str) -> str:
    """Return the address without what the SDK adds, and without the compatible service's path."""
    return base_url.removesuffix("/openai").removesuffix("/v1beta")
