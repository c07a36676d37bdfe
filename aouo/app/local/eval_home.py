"""Makes the temporary home of one eval, and its models: scripted, or recorded."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from aouo.agent.side_calls import is_side_call
from aouo.app.services import model_of
from aouo.config.file import Loaded, load_settings
from aouo.config.settings import Settings
from aouo.emulator import Emulator
from aouo.facts import transcript
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.guard.sandbox.levels import Wish
from aouo.packs.evals.cases import Eval, Reply
from aouo.packs.evals.checks import SeenCall
from aouo.packs.evals.process import put_rows
from aouo.packs.library import EMPTY, Library
from aouo.packs.load import Pack
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home, write_atomically
from aouo.plumbing.resources import Holder
from aouo.plumbing.web.session import session_through
from aouo.providers.formats.chat_requests import chat_body, encode
from aouo.store import routes
from aouo.store.database import Database, Tx

_BEYOND = "(The eval scripts no further answer of the model.)"
_ASIDE = "NONE"


class ScriptedModel:
    """Gives the answers of its script one after another, and says so when there are none left.

    A request's tokens are estimated from its length. A side call gets a fixed answer.
    """

    provider = "scripted"
    model = "scripted"
    context_window = 128_000
    sees = True
    candidates = (("scripted", "scripted"),)

    def __init__(self) -> None:
        self._script: deque[Reply] = deque()
        self._calls = 0

    def follow(self, script: Iterable[Reply]) -> None:
        """Answer with this script from now on, and forget the rest of the previous one."""
        self._script = deque(script)

    async def stream(
        self, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent]:
        if is_side_call(request):
            reply = Reply(say=_ASIDE)
        else:
            reply = self._script.popleft() if self._script else Reply(say=_BEYOND)
        calls = tuple(self._call(made.call, made.arguments) for made in reply.made)
        if reply.words:
            yield transcript.TextDelta(reply.words)
        said = sum(
            transcript.estimate_tokens(call.arguments) for call in calls
        ) + transcript.estimate_tokens(reply.words)
        asked = transcript.estimate_tokens(encode(chat_body(request, model=self.model)).decode())
        usage = transcript.Usage(input_tokens=asked, output_tokens=said)
        yield transcript.Finished(
            transcript.AssistantSaid(reply.words, calls), usage, "tool_calls" if calls else "stop"
        )

    def _call(self, name: str, arguments: object) -> transcript.ToolCall:
        self._calls += 1
        return transcript.ToolCall(
            f"eval_{self._calls}", name, json.dumps(arguments, ensure_ascii=False)
        )


@dataclass(slots=True, eq=False)
class _Made:
    call: transcript.ToolCall
    failure: str = ""


class WatchedModel:
    """Wraps a model, and records its requests and tool calls in turns since `begin`."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self._made: list[_Made] = []
        self._waiting: list[_Made] = []
        self._returned: set[str] = set()
        self.requests = 0
        self.first_bytes = 0

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def context_window(self) -> int:
        return self._inner.context_window

    @property
    def sees(self) -> bool:
        return self._inner.sees

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return self._inner.candidates

    def begin(self) -> None:
        """Forget what was recorded."""
        self._made = []
        self.requests = self.first_bytes = 0

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """Every tool call that was made, in order."""
        return tuple(
            SeenCall(made.call.name, _arguments(made.call.arguments), made.failure)
            for made in self._made
        )

    async def stream(
        self, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent]:
        watched = not is_side_call(request)
        if watched:
            self._note(request)
        async with aclosing(self._inner.stream(request)) as events:
            async for event in events:
                if watched and isinstance(event, transcript.Finished):
                    made = [_Made(call) for call in event.said.calls]
                    self._made += made
                    self._waiting += made
                yield event

    def _note(self, request: transcript.ModelRequest) -> None:
        self.requests += 1
        if not self.first_bytes:
            self.first_bytes = len(encode(chat_body(request, model=self.model)))
        for message in request.messages:
            if (
                isinstance(message, transcript.ToolReturned)
                and message.call_id not in self._returned
            ):
                self._returned.add(message.call_id)
                self._take(message)

    def _take(self, result: transcript.ToolReturned) -> None:
        """Match a result to the oldest call of its name, since the runtime changes call ids."""
        for made in self._waiting:
            if made.call.name == result.name:
                self._waiting.remove(made)
                made.failure = result.text if result.failed else ""
                return


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


PERSON = 1001
OWNER = f"tg_{PERSON}"  # as turns call a person in their private chat
_PRICE = {"input": 0.15, "cached": 0.075, "output": 0.60}
"""USD per million tokens of a scripted model: the price of a small hosted one."""


class Impatient:
    """The system clock with shorter short waits, since a local Telegram has no limits.

    In a turn whose model answers at once, only the pacing for Telegram's limits waits so long.
    """

    def __init__(self, system: Clock | None = None) -> None:
        self._system = system or SystemClock()

    def now(self) -> datetime:
        return self._system.now()

    def monotonic_s(self) -> float:
        return self._system.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        await self._system.sleep(seconds / 50 if 0.4 <= seconds <= 5 else seconds)


def furnish(home: Home, pack: Pack, found: Eval, beside: Sequence[Path]) -> PackStores:
    """Fill a fresh home with the packs, and with the rows and memory that the eval begins with."""
    home.create()
    (home.packs / pack.name).symlink_to(pack.folder.resolve())
    for folder in beside:
        (home.packs / folder.name).symlink_to(folder.resolve())
    only = Library({pack.name: pack}, EMPTY.broken, EMPTY.warnings)
    stores = PackStores(home, lambda: only, SystemClock())
    try:
        stores.open(pack.name, OWNER)
    finally:
        stores.close()
    put_rows(stores.file(pack.name, OWNER), found.start, stamp(SystemClock()))
    for name, text in found.memory.items():
        folder = stores.private(pack.name, OWNER)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(folder / name, text)
    return stores


def configure(home: Home, emulator: Emulator, real: Settings | None, sandbox: Wish) -> Loaded:
    """Return the eval's settings, with the owner's `sandbox` and, from `real`, their models."""
    config = {
        "telegram": {
            "bot_token": emulator.token,
            "allowed_user_ids": [PERSON],
            "api_base_url": emulator.base_url,
            "streaming": "off",
        },
        "budgets": {"prices": {ScriptedModel.model: _PRICE}},
        "security": {"sandbox": sandbox},
    }
    write_atomically(home.config, json.dumps(config))
    loaded = load_settings(home.path, {})
    if real is None:
        return loaded
    names = ("provider", "openai", "groq", "gemini", "deepseek", "providers", "budgets")
    taken = {name: getattr(real, name) for name in names}
    return replace(loaded, settings=loaded.settings.model_copy(update=taken))


async def real_model(settings: Settings, stack: AsyncExitStack) -> ChatModel:
    session = await stack.enter_async_context(session_through())
    held = await stack.enter_async_context(Holder())
    return await model_of(settings, session, held, SystemClock())


async def bind(database: Database, clock: Clock, pack: str) -> None:
    """Bind the person's chat to the pack, which is needed if others are installed too."""
    now = stamp(clock)
    address = ConversationAddress("tg", str(PERSON))

    def write(tx: Tx) -> None:
        routes.set_pack(tx, routes.get_or_create(tx, address, "private", now), pack, now)

    await database.transact(write)
