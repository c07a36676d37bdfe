"""Any model behind an OpenAI-compatible server, over the runtime's one HTTP session."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Unpack

from aouo.providers.answers import AnswerReader
from aouo.providers.bodies import Bodies
from aouo.providers.failures import ParameterRefused
from aouo.providers.printed import read_printed
from aouo.providers.service import Service, ServiceModel
from aouo.providers.thoughts import wants_thoughts
from aouo.providers.wire import Dialect, wants_marks
from aouo.transcript import ModelEvent, ModelRequest

if TYPE_CHECKING:
    from aouo.providers.openai_line import OpenAILine


class CompatibleModel(ServiceModel):
    """A `ChatModel` over a `ChatEndpoint`; remembers which optional fields its service refused."""

    def __init__(self, **service: Unpack[Service]) -> None:
        super().__init__(**service)
        self.reader = partial(AnswerReader, model=self._model)
        self._bodies = Bodies(model=self._model, provider=self._provider)
        self._dialect = Dialect(
            thoughts=wants_thoughts(self._provider, self._model),
            cache_marks=wants_marks(self._provider, self._base_url, self._model),
        )

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; calls that it prints as text are read as calls."""
        return read_printed(self._stream(request), request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """A service that refuses an optional field is asked again without it."""
        endpoint = await self._connected()
        while True:
            dialect = self._dialect
            body = self._bodies.body(request, dialect)
            try:
                async with aclosing(endpoint.stream(body)) as events:
                    async for event in events:
                        yield event
                return
            except ParameterRefused as refused:
                self._dialect = _learn(dialect, refused)

    def _line(self) -> OpenAILine:
        from aouo.providers.openai_line import OpenAILine

        return OpenAILine(base_url=self._base_url, api_key=self._key, session=self._session)


def _learn(dialect: Dialect, refused: ParameterRefused) -> Dialect:
    """The dialect to try next; raises `refused` when there is none."""
    without = dialect.without(refused.parameter)
    if without == dialect:
        raise refused
    return without
