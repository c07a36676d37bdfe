"""Answers what a terminal asks of the running bot; `installer.verbs` has packs and schedules."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from aouo.app.shared import Shared
from aouo.app.unasked import Unasked, failing_watches
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text, told
from aouo.facts.ids import SessionId
from aouo.facts.ports import ChatModel, StreamRunner, iso
from aouo.flow.chores.known_models import KnownModels
from aouo.flow.generation import Generation
from aouo.outbound.terminal import TerminalMessenger
from aouo.plumbing.parts import Parts
from aouo.plumbing.verbs import Facts, Nothing, Stream, Verb, Verbs
from aouo.providers.fallback import FallbackModel
from aouo.queue.idle import idle
from aouo.queue.inbox import Inbox
from aouo.queue.lanes import Bell
from aouo.routing import lexer
from aouo.sandbox.levels import in_words
from aouo.store import jobs
from aouo.words.models import no_answer_because


@dataclass(frozen=True, slots=True)
class Say:
    """A terminal says `text`, or taps the button that sends `data`."""

    chat: str = "local"
    text: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A terminal listens to its conversation."""

    chat: str = "local"


@dataclass(frozen=True, slots=True)
class Watch:
    """Somebody listens to the events of one session, "" = of all."""

    session: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A program wants the answer to `prompt`: beside the terminal's conversation `chat`, or in the
    `session` that goes on there."""

    prompt: str
    session: str = ""
    chat: str = "local"


def talking(
    shared: Shared, inbox: Inbox, terminal: TerminalMessenger, runner: StreamRunner
) -> Verbs:
    """The verbs that let a terminal talk and watch."""

    async def say(request: Say) -> Facts:
        await inbox.submit(terminal_inbound(request.chat, request.text, data=request.data))
        return {}

    async def answered(request: Nothing) -> Facts:
        """Return when everything that was said is answered."""
        await idle(shared.database, shared.clock)
        return {}

    async def chat(request: Chat) -> AsyncGenerator[Facts]:
        """Yield what is said in a terminal's conversation until the other side goes."""
        waiting, leave = terminal.watch(request.chat)
        try:
            yield {"kind": "ready"}
            while True:
                yield await waiting.get()
        finally:
            leave()

    async def watch(request: Watch) -> AsyncGenerator[Facts]:
        """Yield the events of one session, or of all, until either side goes."""
        events, leave = shared.bus.subscribe(session_id=request.session)
        try:
            yield {"kind": "ready"}
            async for event in events:
                yield told(event)
        finally:
            leave()

    async def run(request: Run) -> AsyncGenerator[Facts]:
        """Yield the events of a turn to its end."""
        beside = str(ConversationAddress("cli", request.chat))
        session = request.session or str(SessionId.new("isolated", beside))
        async with aclosing(runner.run_stream(request.prompt, session)) as events:
            async for event in events:
                yield told(event)

    return {
        "say": Verb(Say, say),
        "idle": Verb(Nothing, answered),
        "chat": Stream(Chat, chat),
        "watch": Stream(Watch, watch),
        "run": Stream(Run, run),
    }


def terminal_inbound(chat_id: str, text: str, *, data: str = "") -> Inbound:
    """Return what is typed or tapped in a terminal as an inbound like any other."""
    content = Button(data, text, "") if data else lexer.command(text) or Text(text)
    return Inbound(
        ConversationAddress("cli", chat_id), Person("owner", "owner"), content, origin="cli"
    )


async def state(
    shared: Shared,
    now: Generation,
    known_models: KnownModels,
    bell: Bell,
    parts: Parts,
    broken_commands: Callable[[], Sequence[str]],
    unasked: Unasked,
) -> Facts:
    """Return what `aouo status` says of the generation of now and of what is at work."""
    waiting = await shared.database.read(jobs.count_by_state)
    model, telegram, library = now.model, shared.telegram, now.library
    return {
        "telegram": telegram.state if telegram else {"state": "off"},
        "model": {
            "provider": model.provider,
            "model": model.model,
            "note": str(getattr(model, "note", "")),
        },
        "models": _models(model),
        "concerns": known_models.told,
        "packs": list(library.names),
        "broken_packs": {
            name: [str(problem) for problem in problems]
            for name, problems in library.broken.items()
        },
        "broken_commands": list(broken_commands()),
        "failing_watches": await shared.database.read(failing_watches),
        "mcp": now.servers.facts(),
        "sandbox": in_words(await now.sandbox.level()),
        **unasked.state,
        "lanes": {"running": bell.at_work, "waiting": waiting.get("ready", 0)},
        "failed_parts": parts.failing,
    }


def _models(model: ChatModel) -> list[dict[str, Any]]:
    """How each model fares, in the order of the configuration."""
    return [
        {
            "provider": health.provider,
            "model": health.model,
            "failures": health.failures,
            "last_failure": health.last,
            "why": no_answer_because(health.last) if health.last else "",
            "cooling_until": iso(health.until) if health.until else "",
            "window_tokens": one.context_window,
            "sees": one.sees,
        }
        for health, one in (
            zip(model.health, model.models, strict=True) if isinstance(model, FallbackModel) else ()
        )
    ]
