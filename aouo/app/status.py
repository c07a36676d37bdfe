"""Says how the bot is to all who ask, and lists the endpoints of the control socket.

Those of packs and schedules, which a home at rest has as well, are in `installer.verbs`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from aouo.app.chores import failing_watches
from aouo.app.tools import Shared
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text, told
from aouo.facts.ids import SessionId
from aouo.facts.ports import ChatModel, Clock, iso
from aouo.facts.schedule import ZoneOf
from aouo.flow.generations import Generation
from aouo.guard.sandbox.levels import in_words
from aouo.installer.verbs import home_verbs
from aouo.plumbing.control import Facts, Verbs
from aouo.plumbing.parts import Parts
from aouo.providers.fallback import FallbackModel
from aouo.queue import lexer
from aouo.queue.lanes import Bell, idle
from aouo.store import deliveries, jobs
from aouo.store.database import Trouble, Tx
from aouo.words import conversations
from aouo.words.catalogue import text
from aouo.words.models import no_answer_because
from aouo.words.schedules import moment_in_words

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime
    from aouo.app.wiring import App

_SERVERS_SHOWN = 10
_UNHEARD_S = 120.0
"""So long may pass between two answers of Telegram, whose longest poll takes 65 s."""
_UNCLAIMED_S = 60.0
"""So long may a message wait where nobody is at work; a busy lane may have it wait for hours."""


def reasons(
    unheard_s: float | None,
    *,
    listens: bool,
    problem: str,
    unclaimed_s: float,
    trouble: Trouble | None = None,
) -> list[str]:
    """Return why we are not healthy, none = we are; a `trouble` of the database is the reason for
    all others.

    `unheard_s` since Telegram answered, None = it is not asked; `listens`: the task that asks it
    goes on; `problem` is what it says; `unclaimed_s` since a message waits in a lane without work.
    """
    if trouble:
        return [f"The database cannot be written, its disk or file is {trouble}; everything waits."]
    found: list[str] = []
    if not listens:
        found.append("The task that asks Telegram hangs.")
    if unheard_s is not None and unheard_s > _UNHEARD_S:
        why = f": {problem}" if problem else ""
        found.append(f"Telegram has not answered for {unheard_s:.0f} s{why}")
    if unclaimed_s > _UNCLAIMED_S:
        found.append(f"A message waits for {unclaimed_s:.0f} s, and nobody is at work on it.")
    return found


@dataclass(eq=False)
class Health:
    """Says whether messages come in, are worked on and go out, for `/healthz` and a terminal."""

    shared: Shared
    bell: Bell
    parts: Parts

    def __post_init__(self) -> None:
        self._since = self.shared.clock.now()

    @property
    def listens(self) -> bool:
        """Whether what asks Telegram goes on, answered or not."""
        telegram = self.shared.telegram
        return telegram is None or telegram.is_alive or bool(self.shared.database.trouble)

    async def facts(self) -> Facts:
        """Return `ok` with the `reasons` where it is false, and what they were judged by.

        An optional part that failed is named and is no reason: whoever reads this starts us again.
        """
        clock, telegram = self.shared.clock, self.shared.telegram
        since_s = (clock.now() - self._since).total_seconds()

        states, waiting, (queued, oldest, unknown, refused) = await self.shared.database.read(
            lambda tx: (jobs.count_by_state(tx), jobs.first_ready(tx), deliveries.unsent(tx))
        )
        idle = [since for lane, since in waiting if not self.bell.is_at_work(lane)]
        answered_s = telegram.answered_s if telegram else None
        unheard_s = (since_s if answered_s is None else answered_s) if telegram else None
        problem = str(telegram.state["problem"]) if telegram else ""
        found = reasons(
            unheard_s,
            listens=self.listens,
            problem=problem,
            unclaimed_s=_age_s(clock, *idle),
            trouble=self.shared.database.trouble,
        )
        return {
            "ok": not found,
            "reasons": found,
            "since": iso(self._since),
            "last_poll_s": None if answered_s is None else round(answered_s, 1),
            "jobs": {state: states.get(state, 0) for state in ("ready", "running", "parked")},
            "oldest_waiting_s": _age_s(clock, *(since for _, since in waiting)),
            "outbox": {
                "queued": queued,
                "oldest_s": _age_s(clock, oldest),
                "unknown": unknown,
                "refused": refused,
            },
            "lanes": self.bell.at_work,
            "failed_parts": self.parts.failing,
        }

    async def line(self) -> str:
        """Return the state in one short line, for `systemctl status`."""
        facts = await self.facts()
        if not facts["ok"]:
            return " ".join(facts["reasons"])
        failed = ", ".join(facts["failed_parts"])
        return f"without {failed}" if failed else "well"


def _age_s(clock: Clock, *moments: str) -> float:
    """Return how long ago the oldest moment was, in seconds; 0 = there is none."""
    first = min(filter(None, moments), default="")
    if not first:
        return 0.0
    return round(max(0.0, (clock.now() - datetime.fromisoformat(first)).total_seconds()), 1)


async def state_of(app: App) -> Facts:
    """Return what `aouo status` says of the generation of now and of what is at work."""
    shared, now = app.shared, app.generations.now
    waiting = await shared.database.read(jobs.count_by_state)
    model, telegram, library = now.model, shared.telegram, now.library
    return {
        "telegram": telegram.state if telegram else {"state": "off"},
        "model": {
            "provider": model.provider,
            "model": model.model,
            "note": str(getattr(model, "note", "")),
        },
        "models": _models_in_facts(model),
        "concerns": app.known_models.told,
        "database": shared.database.trouble or "well",
        "packs": list(library.names),
        "broken_packs": {
            name: [str(problem) for problem in problems]
            for name, problems in library.broken.items()
        },
        "broken_commands": list(app.commands.problems()),
        "failing_watches": await shared.database.read(failing_watches),
        "mcp": {server.group: server.facts() for server in now.servers},
        "sandbox": in_words(await now.sandbox.level()),
        "heartbeat": app.heartbeat.state,
        "lanes": {"running": app.bell.at_work, "waiting": waiting.get("ready", 0)},
        "failed_parts": app.parts.failing,
    }


def _models_in_facts(model: ChatModel) -> list[dict[str, Any]]:
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


def bot_state(
    tx: Tx,
    shared: Shared,
    now: Generation,
    *,
    zone_of: ZoneOf,
    since: datetime,
    broken_commands: tuple[str, ...],
    concerns: list[str],
) -> list[str]:
    """Return what /status tells the owner, line by line; the job that asks is not counted."""
    zone, states, telegram = zone_of(""), jobs.count_by_state(tx), _telegram(shared)
    waiting = states.get("ready", 0) + states.get("gathering", 0)
    running = max(0, states.get("running", 0) - 1)
    broken = now.library.broken.items()
    problems = (
        *(text("status.pack", name=name, why=first[0]) for name, first in broken if first),
        *broken_commands,
        *concerns,
        *failing_watches(tx),
    )
    servers = (
        (server.group.removeprefix("mcp:"), " ".join(filter(None, (facts["state"], facts["why"]))))
        for server in now.servers
        for facts in (server.facts(),)
    )
    return [
        text("status.since", since=moment_in_words(since, zone)),
        *_models_in_words(now.model, lambda at: moment_in_words(at, zone)),
        *([text("status.telegram", state=telegram)] if telegram else []),
        conversations.at_work("everywhere", running, waiting, states.get("parked", 0)),
        *(
            text("status.tools", server=name, state=state)
            for name, state in islice(servers, _SERVERS_SHOWN)
        ),
        *conversations.problem_lines(problems),
    ]


def _models_in_words(model: ChatModel, said: Callable[[datetime], str]) -> list[str]:
    if not isinstance(model, FallbackModel):
        return [conversations.model_line(model.provider, model.model)]
    return [
        conversations.model_line(
            one.provider, one.model, one.failures, one.last, said(one.until) if one.until else ""
        )
        for one in model.health
    ]


def _telegram(shared: Shared) -> str:
    """How Telegram is listened to, and what keeps it from being; "" = it is not."""
    if shared.telegram is None:
        return ""
    facts = shared.telegram.state
    return ": ".join(filter(None, (str(facts["state"]), str(facts.get("problem") or ""))))


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
        await inbox.submit(_terminal_inbound(chat, text, data=data))
        return {}

    async def answered() -> Facts:
        """Return when everything that was said is answered."""
        await idle(shared.database, shared.clock, but="" if shared.telegram else "tg")
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

    async def ask(text: str, chat: str = "local") -> Facts:
        """Return what is answered to `text` in a terminal's conversation."""
        return {"text": await app.asking.run_turn(text, str(ConversationAddress("cli", chat)))}

    return {"ask": ask, "say": say, "idle": answered, "chat": listen, "watch": watch, "run": run}


def _terminal_inbound(chat_id: str, text: str, *, data: str = "") -> Inbound:
    """Return what is typed or tapped in a terminal as an inbound like any other."""
    content = Button(data, text, "") if data else lexer.command(text) or Text(text)
    return Inbound(
        ConversationAddress("cli", chat_id), Person("owner", "owner"), content, origin="cli"
    )
