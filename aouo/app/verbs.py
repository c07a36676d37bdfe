"""Lists the endpoints of the control socket: what a terminal asks of the running bot.

Those of packs and schedules, which a home at rest has as well, are in `installer.verbs`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text, told
from aouo.facts.ids import SessionId
from aouo.installer.verbs import home_verbs
from aouo.plumbing.verbs import Facts, Nothing, Stream, Verb, Verbs
from aouo.queue.idle import idle
from aouo.routing import lexer

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime
    from aouo.app.wiring import App


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


def verbs_of(runtime: Runtime) -> Verbs:
    """Return all of them, by name."""
    app = runtime.app

    async def status(request: Nothing) -> Facts:
        page = {"dashboard": runtime.page.state} if runtime.page else {}
        return {**await runtime.status(), **page}

    async def health(request: Nothing) -> Facts:
        return {"health": await app.health.facts()}

    async def stop(request: Nothing) -> Facts:
        runtime.stop()
        return {}

    async def restart(request: Nothing) -> Facts:
        runtime.stop(again=True)
        return {}

    async def reload(request: Nothing) -> Facts:
        return await runtime.reload()

    return {
        "status": Verb(Nothing, status),
        "health": Verb(Nothing, health),
        "stop": Verb(Nothing, stop),
        "restart": Verb(Nothing, restart),
        "reload": Verb(Nothing, reload),
        **_talking(app),
        **home_verbs(app.packs, app.schedules, app.shared.database, app.shared.clock),
    }


def _talking(app: App) -> Verbs:
    """The verbs that let a terminal talk and watch."""
    shared, inbox = app.shared, app.inbox

    async def say(request: Say) -> Facts:
        await inbox.submit(terminal_inbound(request.chat, request.text, data=request.data))
        return {}

    async def answered(request: Nothing) -> Facts:
        """Return when everything that was said is answered."""
        await idle(shared.database, shared.clock)
        return {}

    async def chat(request: Chat) -> AsyncGenerator[Facts]:
        """Yield what is said in a terminal's conversation until the other side goes."""
        waiting, leave = app.terminal.watch(request.chat)
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
        async with aclosing(app.asking.run_stream(request.prompt, session)) as events:
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
