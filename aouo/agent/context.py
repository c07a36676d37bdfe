"""Defines what a turn knows, records of itself, and how it ends: what pipeline steps see."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from aouo.agent.tokens import Estimator, Scale, estimate
from aouo.agent.toolbox import Toolbox
from aouo.facts import transcript
from aouo.facts.errors import Bound, ProviderError
from aouo.facts.events import Event, LlmToken, Thought
from aouo.facts.ports import ChatModel, Rendered, TurnView
from aouo.facts.records import (
    AuditEntry,
    Effect,
    FailedTry,
    Past,
    Recorded,
    Section,
    Spent,
    Summary,
)
from aouo.facts.work import Facts
from aouo.guard.chain import Judged
from aouo.guard.prepared import Outcome, PreparedCall
from aouo.packs.format.manifest import MemoryPolicy
from aouo.packs.format.skills import Skill
from aouo.plumbing.logs import log

_TEXT_CHARS = 60_000
"""Of a prompt's text that is kept; the rest is cut."""
_SAMPLE_CHARS = 8_000
_DIGEST_CHARS = 24
_MAX_SOURCES = 20
"""Of those whose words a conversation has read; the first ones are named."""


@dataclass(slots=True)
class Recording:
    """One turn's, while it runs. `parts` are those of the prompt that the runtime wrote, (name,
    text); `texts` what of them seldom changes."""

    parts: Sequence[tuple[str, str]] = ()
    texts: Sequence[str] = ()
    sections: tuple[Section, ...] = ()
    tries: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    edits: int = 0
    stale_route: bool = False
    taken_up_at: str = ""

    def written(
        self, system: Sequence[tuple[str, str]], changing: Sequence[tuple[str, str]]
    ) -> None:
        """Take down the prompt that a turn begins with; the first part of what is `changing` is
        new with each turn."""
        self.parts = (*system, *changing)
        self.texts = [
            "\n\n".join(text for _, text in parts)[:_TEXT_CHARS]
            for parts in (system, changing[1:])
            if parts
        ]

    def sent(
        self, request: transcript.ModelRequest, estimator: Estimator, provider: str, model: str
    ) -> None:
        """Measure a request; a long history is estimated by a part of it."""
        scale = estimator.scale(provider, model)
        tools = Section(
            "Tools",
            estimator.tools_bytes(request.tools),
            scale.tokens(estimator.tools(request.tools)) if request.tools else 0,
        )
        past, said = request.messages[: request.past], request.messages[request.past :]
        sections = [Section(name, _bytes(text), scale.text(text)) for name, text in self.parts]
        sections += [tools, _messages("History", past, scale), _messages("Words", said, scale)]
        self.sections = tuple(section for section in sections if section.bytes)

    def asked_again(self, asks: transcript.AsksAgain) -> None:
        """Count a try that failed."""
        failed, asked = "/".join(asks.failed), "/".join(asks.asked)
        self.tries[failed, asked, type(asks.error).__name__] += 1

    def gave_up(self, error: ProviderError) -> None:
        """Count the try after which no other model was asked."""
        failed, kind = error.given_up
        if failed:
            self.tries[failed, "", kind] += 1

    def prompts(self) -> Mapping[str, str]:
        """Return the texts of the prompt by digest."""
        return {_digest(text): text for text in self.texts}

    def recorded(self, prompts: Sequence[str] = ()) -> Recorded:
        """Return it as it is stored, with the digests of the texts that are kept."""
        return Recorded(
            self.sections,
            tuple(prompts),
            tuple(FailedTry(*names, times) for names, times in self.tries.items()),
            self.edits,
            self.stale_route,
            self.taken_up_at,
        )


def _messages(name: str, entries: Sequence[transcript.Message], scale: Scale) -> Section:
    texts = [entry.text for entry in entries]
    for entry in entries:
        if type(entry) is transcript.AssistantSaid:
            texts += [call.arguments for call in entry.calls]
    whole = "".join(texts)
    sample = whole[-_SAMPLE_CHARS:]
    share = len(whole) / len(sample) if sample else 0
    found = scale.tokens(estimate(sample)) * share
    return Section(name, _bytes(whole), round(found))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


@dataclass(frozen=True, slots=True)
class Ack:
    """The turn has an answer; `native` as in `AssistantSaid`, "" once the text was changed.

    `shown`: the person has read it already, so only history gets it. `drawn`: no model
    gave it, and they see these messages, the first `in_place` of another one, 0 = as a new one.
    `signed` is the pack whose answer it is, None = that of the turn.
    """

    text: str
    native: str = ""
    shown: bool = False
    drawn: tuple[Rendered, ...] = ()
    in_place: int = 0
    signed: str | None = None


@dataclass(frozen=True, slots=True)
class Nack:
    """The turn failed; final, nothing retries it."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Abort:
    """The turn was ended on purpose."""

    reason: str


Ending: TypeAlias = Ack | Nack | Abort


@dataclass(frozen=True, slots=True)
class PackView:
    """What a turn knows of the active pack; "" where there is nothing, 0 = no limit.

    `turn_tokens_key` names what bounds one turn, "" = the pack itself. `platforms` is where it
    answers, () = everywhere. A skill has a `body` only where the prompt holds it whole;
    `skill_body` is the text of the skill at hand.
    """

    name: str = ""
    display_name: str = ""
    description: str = ""
    soul_additions: str = ""
    rules_additions: str = ""
    skills: tuple[Skill, ...] = ()
    history_messages: int = 0
    memory_policy: MemoryPolicy = "full"
    prompt_tokens_max: int = 0
    turn_tokens_max: int = 0
    turn_tokens_key: str = ""
    platforms: tuple[str, ...] = ()
    memory_targets: tuple[str, ...] = ()
    skill_body: str = ""


@dataclass(slots=True)
class Meter:
    """Calls and milliseconds of each step of a turn."""

    calls: Counter[str] = field(default_factory=Counter[str])
    ms: dict[str, float] = field(default_factory=dict[str, float])
    first_ms: dict[str, float] = field(default_factory=dict[str, float])
    since_s: float = field(default_factory=time.perf_counter)

    @property
    def steps(self) -> dict[str, tuple[int, float, float]]:
        """Return step → (calls, milliseconds, when it first began: milliseconds after the meter),
        in the order in which steps first began."""
        return {
            step: (calls, self.ms.get(step, 0.0), self.first_ms[step])
            for step, calls in self.calls.items()
        }

    def begins(self, step: str, at_s: float) -> None:
        """Count a call that began at `at_s` (`time.perf_counter`)."""
        self.calls[step] += 1
        if step not in self.first_ms:
            self.first_ms[step] = (at_s - self.since_s) * 1000

    def took(self, step: str, ms: float) -> None:
        """Add the milliseconds of one call, without the steps inside it."""
        self.ms[step] = self.ms.get(step, 0.0) + ms


class TurnContext:
    """One turn. Steps read and fill it; `abort` ends it.

    `prepare` makes a call a value; `propose` returns its audit entry, to be written with its
    intent; `judge` decides on the calls of one response, and `call_tool`, which makes one of them,
    is the only way to a tool. `sources` is whose words the conversation has read between marks.
    `day` is the local day that usage counts for. `recalled` are messages off the record, which
    are stored nowhere. `make_room` shortens the history once, after a service refused it; True says
    that it was certainly too long; it returns whether there is less now. `was_too_long` reports
    that this helped. `listen` appends the person's edits that came meanwhile.
    """

    def __init__(
        self,
        facts: Facts,
        pack: PackView,
        *,
        model: ChatModel,
        view: TurnView,
        toolbox: Toolbox,
        prepare: Callable[[transcript.ToolCall], PreparedCall],
        propose: Callable[[PreparedCall], AuditEntry],
        judge: Callable[[Sequence[PreparedCall]], Awaitable[list[Judged]]],
        call_tool: Callable[[Judged], Awaitable[Outcome]],
        day: str = "",
        recalled: Sequence[transcript.Message] = (),
        publish: Callable[[Event], None],
    ) -> None:
        self.facts = facts
        self.pack = pack
        self.model = model
        self.view = view
        self.toolbox = toolbox
        self.prepare = prepare
        self.propose = propose
        self.judge = judge
        self.call_tool = call_tool
        self.day = day
        self.recalled = recalled
        self.publish = publish
        self.sources = dict.fromkeys(facts.sources)
        self.by_person = False  # its call is what somebody tapped, wrote or filled in
        self.effects: list[Effect] = []  # what its calls changed since it began, or was taken up
        self.only_looks = False  # somebody said no to a call
        self.past = Past()
        self.history: list[transcript.Message] = []
        self.summarised: Summary | None = None  # by this very turn
        self.listen: Callable[[], Awaitable[None]] | None = None
        self.make_room: Callable[[bool], Awaitable[bool]] | None = None
        self.was_too_long: Callable[[], None] = lambda: None
        self.unread = 0  # messages that the model was not sent, though they belong to the history
        self.images: tuple[
            transcript.Image, ...
        ] = ()  # of the person's words; no later turn has them
        self.pictures: list[transcript.Image] = []  # that tools returned in this turn
        self.said: list[transcript.Message] = []
        self.memory: Mapping[str, str] = {}
        self.left_out: tuple[str, ...] = ()  # names of skills and memory files, for want of room
        self.system = ""
        self.changing = ""
        self.thoughts: list[Thought] = []
        self.spent: list[Spent] = []
        self.paid_calls: dict[str, float | None] = {}
        self.answered_by: tuple[str, str] = ("", "")  # provider and model of the newest answer
        self.total = transcript.Usage()
        self.cost_usd = 0.0
        self.provider_ms = 0.0
        self.dispatches = 0
        self.tool_calls = 0
        self.at_work: list[
            transcript.ToolCall
        ] = []  # calls that change something and have no result yet
        self.nudges = 0
        self.doubted = False  # its answer said that something was done, which was not so
        self.ending: Ending | None = None
        self.meter = Meter()
        self.recording = Recording()

    def spend(self, row: Spent) -> None:
        """Count a row of usage; it is written with the next commit."""
        self.spent.append(row)
        self.cost_usd += row.cost_usd

    def abort(self, reason: str) -> None:
        """End the turn on purpose; steps that have not begun are skipped."""
        self.end(Abort(reason))

    def end(self, ending: Ending) -> None:
        """End the turn; the first ending wins, and a different one after it is logged as a bug."""
        if self.ending is None:
            self.ending = ending
        elif self.ending != ending:
            log.error("conflicting_signal", first=repr(self.ending), second=repr(ending))

    async def show(self, text: str) -> None:
        """Show more of the answer in the chat, and publish it."""
        await self.view.streaming_reply(text)
        self.publish(LlmToken(self.facts.id, self.facts.session_id, text))

    def reads(self, sources: Sequence[str]) -> bool:
        """Note whose words were read; return whether some of them are new."""
        before = len(self.sources)
        for source in sources[: max(0, _MAX_SOURCES - before)]:
            self.sources.setdefault(source)
        return len(self.sources) > before

    @property
    def stopped(self) -> bool:
        return self.ending is not None


class DispatchContext:
    """One iteration: a model call and its tools. Only here can a turn be acked or nacked.

    `holds_text`: nothing of the answer is shown before `dispatch_output` has decided.
    """

    def __init__(self, turn: TurnContext, iteration: int, *, holds_text: bool = False) -> None:
        self.turn = turn
        self.iteration = iteration
        self.holds_text = holds_text
        self.messages: Sequence[transcript.Message] = ()
        self.past = 0  # how many of the messages belong to earlier turns, sanitised already
        self.request: transcript.ModelRequest | None = None
        self.said = transcript.AssistantSaid("")
        self.usage = transcript.Usage()
        self.finish_reason = ""
        self.bounded_by: Bound = ""
        self.answered_by: tuple[str, str] = ("", "")  # provider and model
        self.again: str | None = None  # why the answer is sent back

    def ack(self, text: str, native: str = "", *, shown: bool = False) -> None:
        """End the turn with this answer; `native` and `shown` as in `Ack`."""
        self.turn.end(Ack(text, native, shown))

    def nack(self, error: Exception) -> None:
        """End the turn with a failure."""
        self.turn.end(Nack(error))

    def abort(self, reason: str) -> None:
        """End the turn on purpose."""
        self.turn.abort(reason)

    def retry(self, reason: str) -> None:
        """Send the answer back; the model reads `reason`."""
        self.again = reason

    @property
    def stopped(self) -> bool:
        return self.turn.stopped

    @property
    def meter(self) -> Meter:
        return self.turn.meter
