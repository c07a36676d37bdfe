"""Lists the endpoints of the control socket: what a terminal asks of the running bot.

Those of packs and schedules, which a home at rest has as well, are in `installer.verbs`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text, told
from aouo.facts.ids import SessionId
from aouo.installer.verbs import home_verbs
from aouo.plumbing.verbs import Facts, Verbs
from aouo.queue.idle import idle
from aouo.routing import lexer

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime
    from aouo.app.wiring import App


def verbs_of(runtime: Runtime) -> Verbs:
    """Return all of them, by name."""
    app = runtime.app

    async def status() -> Facts:
        page = {"dashboard": runtime.page.state} if runtime.page else {}
        return {**await runtime.status(), **page}

    async def health() -> Facts:
        return {"health": await app.health.facts()}

    async def stop() -> Facts:
        runtime.stop()
        return {}

    async def restart() -> Facts:
        runtime.stop(again=True)
        return {}

    return {
        "status": status,
        "health": health,
        "stop": stop,
        "restart": restart,
        "reload": runtime.reload,
        **_talking(app),
        **home_verbs(app.packs, app.schedules, app.shared.database, app.shared.clock),
    }


def _talking(app: App) -> Verbs:
    """The verbs that let a terminal talk and watch."""
    shared, inbox = app.shared, app.inbox

    async def say(chat: str = "local", text: str = "", data: str = "") -> Facts:
        """A terminal says `text`, or taps the button that sends `data`."""
        await inbox.submit(terminal_inbound(chat, text, data=data))
        return {}

    async def answered() -> Facts:
        """Return when everything that was said is answered."""
        await idle(shared.database, shared.clock)
        return {}

    async def listen(chat: str = "local") -> AsyncGenerator[Facts]:
        """Yield what is said in a terminal's conversation until the other side goes."""
        waiting, leave = app.terminal.watch(chat)
        try:
            yield {"kind": "ready"}
            while True:
                yield await waiting.get()
        finally:
            leave()

    async def watch(session: str = "") -> AsyncGenerator[Facts]:
        """Yield the events of one session, or of all, until either side goes."""
        events, leave = shared.bus.subscribe(session_id=session)
        try:
            yield {"kind": "ready"}
            async for event in events:
                yield told(event)
        finally:
            leave()

    async def run(prompt: str, session: str = "", chat: str = "local") -> AsyncGenerator[Facts]:
        """Yield the events of the turn that answers `prompt`: beside the terminal's conversation
        `chat`, or in the `session` that goes on there."""
        beside = str(ConversationAddress("cli", chat))
        session = session or str(SessionId.new("isolated", beside))
        async with aclosing(app.asking.run_stream(prompt, session)) as events:
            async for event in events:
                yield told(event)

    return {
        "say": say,
        "idle": answered,
        "chat": listen,
        "watch": watch,
        "run": run,
    }


def terminal_inbound(chat_id: str, text: str, *, data: str = "") -> Inbound:
    """Return what is typed or tapped in a terminal as an inbound like any other."""
    content = Button(data, text, "") if data else lexer.command(text) or Text(text)
    return Inbound(
        ConversationAddress("cli", chat_id), Person("owner", "owner"), content, origin="cli"
    )
