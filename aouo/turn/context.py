"""What a turn knows and how it ends: the two contexts that pipeline steps see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from aouo.facts.accounts import AuditEntry, Spent
from aouo.facts.address import ConversationAddress
from aouo.facts.errors import Bound
from aouo.facts.events import Event, LlmToken, Origin, Person, Thought
from aouo.facts.history import Past, Summary
from aouo.facts.ports import ChatModel, TurnView
from aouo.facts.transcript import AssistantSaid, Image, Message, ModelRequest, ToolCall, Usage
from aouo.facts.work import OpenTurn
from aouo.guard.action import Action, Outcome
from aouo.packs.format.examples import Example
from aouo.packs.format.manifest import MemoryPolicy
from aouo.turn.toolbox import Toolbox

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ack:
    """The turn has an answer; `native` as in `AssistantSaid`, "" once the text is another one.

    `shown`: the person has read it already, so only history gets it.
    """

    text: str
    native: str = ""
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Nack:
    """The turn failed; final, nothing retries it."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Abort:
    """The turn was ended on purpose."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """One more dispatch; the model reads the reason."""

    reason: str


Ending: TypeAlias = Ack | Nack | Abort


@dataclass(frozen=True, slots=True)
class SkillView:
    """One skill as the prompt lists it; `body` only where the prompt holds it whole."""

    name: str
    description: str
    triggers: tuple[str, ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class PackView:
    """What a turn knows of the active pack; "" where there is nothing, 0 = no limit.

    `platforms` is where it answers, () = everywhere.
    """

    name: str = ""
    display_name: str = ""
    description: str = ""
    soul_additions: str = ""
    rules_additions: str = ""
    skills: tuple[SkillView, ...] = ()
    examples: tuple[Example, ...] = ()
    history_messages: int = 0
    memory_policy: MemoryPolicy = "full"
    prompt_tokens_max: int = 0
    turn_tokens_max: int = 0
    platforms: tuple[str, ...] = ()
    memory_targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is fixed when a turn starts. `onboarding`: it is of a pack's first conversation."""

    turn: OpenTurn
    session_key: str
    tenant: str
    address: ConversationAddress
    person: Person
    origin: Origin
    chat_kind: str
    pack: PackView
    skill_body: str
    onboarding: bool = False


@dataclass(slots=True)
class Meter:
    """Calls and milliseconds of each step of a turn."""

    calls: Counter[str] = field(default_factory=Counter[str])
    ms: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def steps(self) -> dict[str, tuple[int, float]]:
        """Step → calls, milliseconds; in the order in which they first began."""
        return {step: (calls, self.ms.get(step, 0.0)) for step, calls in self.calls.items()}

    def begins(self, step: str) -> None:
        self.calls[step] += 1

    def took(self, step: str, ms: float) -> None:
        """What a call took by itself, what it stands around left out."""
        self.ms[step] = self.ms.get(step, 0.0) + ms


class TurnContext:
    """One turn. Steps read and fill it; `abort` ends it.

    `prepare` reads a call, once; what `propose` returns of it is written with its intent;
    `call_tool` is the one door to a tool, and is told whether that was written. `day` is the local
    day that usage counts for. `recalled` is what was said off the record: it is nowhere else.
    `make_room` shortens the history after a service refused it, once, for good if it is known that
    it was too long; it says whether there is less. `was_too_long` says so later. `listen` appends
    what the person has changed of their words meanwhile.
    """

    def __init__(
        self,
        facts: Facts,
        *,
        model: ChatModel,
        view: TurnView,
        toolbox: Toolbox,
        prepare: Callable[[ToolCall], Action],
        propose: Callable[[Action], AuditEntry],
        call_tool: Callable[[Action, bool], Awaitable[Outcome]],
        day: str = "",
        recalled: Sequence[Message] = (),
        publish: Callable[[Event], None],
    ) -> None:
        self.facts = facts
        self.model = model
        self.view = view
        self.toolbox = toolbox
        self.prepare = prepare
        self.propose = propose
        self.call_tool = call_tool
        self.day = day
        self.recalled = recalled
        self.publish = publish
        self.past = Past()
        self.history: list[Message] = []
        self.summarised: Summary | None = None  # by this very turn
        self.listen: Callable[[], Awaitable[None]] | None = None
        self.make_room: Callable[[bool], Awaitable[bool]] | None = None
        self.was_too_long: Callable[[], None] = lambda: None
        self.images: tuple[Image, ...] = ()  # of the person's words; no later turn has them
        self.said: list[Message] = []
        self.memory: Mapping[str, str] = {}
        self.system = ""
        self.changing = ""
        self.thoughts: list[Thought] = []
        self.spent: list[Spent] = []
        self.total = Usage()
        self.cost_usd = 0.0
        self.provider_ms = 0.0
        self.dispatches = 0
        self.tool_calls = 0
        self.at_work: list[ToolCall] = []  # calls that change something and have no result yet
        self.nudges = 0
        self.ending: Ending | None = None
        self.meter = Meter()

    def spend(self, row: Spent) -> None:
        """Count a row of usage; it is written with the next commit."""
        self.spent.append(row)
        self.cost_usd += row.cost_usd

    def abort(self, reason: str) -> None:
        """End the turn on purpose; steps that have not begun are skipped."""
        self.end(Abort(reason))

    def end(self, ending: Ending) -> None:
        """The first ending wins; another kind afterwards is a bug and is logged."""
        if self.ending is None:
            self.ending = ending
        elif self.ending != ending:
            log.error("conflicting_signal", first=repr(self.ending), second=repr(ending))

    async def show(self, text: str) -> None:
        """More of the answer, to everybody who watches."""
        await self.view.streaming_reply(text)
        self.publish(LlmToken(self.facts.turn.id, self.facts.turn.session_id, text))

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
        self.messages: Sequence[Message] = ()
        self.past = 0  # how many of them are earlier turns, in order already
        self.request: ModelRequest | None = None
        self.said = AssistantSaid("")
        self.usage = Usage()
        self.finish_reason = ""
        self.bounded_by: Bound = ""
        self.answered_by: tuple[str, str] = ("", "")  # provider and model
        self.again: Retry | None = None

    def ack(self, text: str, native: str = "", *, shown: bool = False) -> None:
        """The loop ends with this answer; `shown` as in `Ack`."""
        self.turn.end(Ack(text, native, shown))

    def nack(self, error: Exception) -> None:
        """The loop ends without one."""
        self.turn.end(Nack(error))

    def abort(self, reason: str) -> None:
        """The abort of a dispatch aborts the turn."""
        self.turn.abort(reason)

    def retry(self, reason: str) -> None:
        """Send the answer back; the model reads `reason`."""
        self.again = Retry(reason)

    @property
    def stopped(self) -> bool:
        return self.turn.stopped

    @property
    def meter(self) -> Meter:
        return self.turn.meter
