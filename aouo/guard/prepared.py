"""Defines a tool call as a value: judged, put to the owner, carried out and recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from aouo.facts.events import Origin
from aouo.facts.people import PROFILES
from aouo.facts.records import Sink
from aouo.facts.transcript import ToolCall
from aouo.facts.work import Facts
from aouo.guard.paths import listed


@dataclass(frozen=True, slots=True)
class Touched:
    """A file or folder that a call names, with links followed.

    `key` is the argument that is replaced by this path, "" = the tool gets it as it was given;
    `at` is its place in that argument if it is an album's list.
    """

    key: str
    path: Path
    at: int | None = None


JudgeName: TypeAlias = Literal[
    "guard",
    "protection",
    "fence",
    "permissions",
    "tools",
    "arguments",
    "flow",
    "policy",
    "heuristics",
    "judge",
    "owner",
    "grant",
    "nobody",
]
"""Who decided on a call: `guard` if nothing speaks against it or it could not be checked,
`permissions` those of the pack, `tools` what the turn may call at all, `arguments` whether it can
be made as it was written, `policy` the owner's rules, `heuristics` what it holds, `judge` a model,
`flow` where its words come from and lead to, `grant` what the owner
allowed for good, `nobody` if no owner could be asked or answered."""


def tier_of(judge: JudgeName) -> int:
    """Return on which tier somebody decides: 0 by rules, 1 by heuristics, 2 a model, 3 a person."""
    return {"heuristics": 1, "judge": 2, "owner": 3, "nobody": 3}.get(judge, 0)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may be made; `reason` says which rule let it pass."""

    reason: str = ""
    judge: JudgeName = "guard"


@dataclass(frozen=True, slots=True)
class Blocked:
    """The call is refused; the model reads `reason`, which says what it may do instead.

    `rule` is what the audit keeps where the reason quotes the arguments.
    """

    reason: str
    rule: str = ""
    judge: JudgeName = "guard"


@dataclass(frozen=True, slots=True)
class Lasting:
    """What the answer "always" to a call would cover: a folder and all below it, or one target,
    as rules name it; a person reads `shown`."""

    kind: Literal["folder", "target"]
    target: str
    shown: str = ""


Why: TypeAlias = Literal["fence", "read", "spends", "person", "lost", "policy", "holds"]
"""Why the owner is asked: a file outside the fence; a target that nobody named, in a turn that has
read strangers' words; what is asked about in any such turn; what is the owner's, used by another
person; what is there is too large for a copy; a rule of the policy; what the call holds."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The owner has to approve the call; `reason` is for the audit, `subject` is shown to them.

    `writes_bytes` is how much would be written there, -1 = nothing; `always` is what the answer
    "always" would cover, all of it, () = that answer is not offered. `why` is what the card says.
    """

    reason: str
    subject: str
    writes_bytes: int = -1
    always: tuple[Lasting, ...] = ()
    judge: JudgeName = "guard"
    why: Why = "fence"
    arguments: str = ""
    """As the model wrote them, for the card."""
    for_good: bool = False
    """It cannot be put back."""
    tier: int = 3
    """2: a judging model may spare the question."""

    def joined(self, other: Ask) -> Ask:
        """Return the question for what two judges ask about the same call."""
        return replace(
            self,
            reason=f"{self.reason}; {other.reason}",
            subject="\n".join(dict.fromkeys((self.subject, other.subject))),
            always=(*self.always, *other.always) if self.always and other.always else (),
            why=other.why,
            for_good=self.for_good or other.for_good,
            tier=max(self.tier, other.tier),
        )


Verdict: TypeAlias = Allowed | Blocked | Ask
UNCHECKED = "This could not be checked, so it is refused."


@dataclass(frozen=True, slots=True)
class Heard:
    """The words of a conversation, normal as `guard.targets` compares them: those that the person
    whose turn it is wrote themself, and, of what the model has read, those that may name an address
    that is to be fetched."""

    own: str
    read: str


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """One tool call of a model, made once by `tools.prepare` and read by all that deal with it.

    `tool` is the name as it is recorded, `payload` the parsed JSON of the call, `arguments` the
    same as its tool takes it, `facts` what is fixed of its turn. `refusal` is why the call is not
    made, whatever a judge says. `read_only` and `mutates` hold for these arguments; a call may be
    neither. `sink` is what it does, `visits` the addresses that it has somebody fetch, `targets`
    the arguments that may lead somewhere, `by_person` that a person's own tap, phrase, form or
    command makes it. `digest` is the SHA-256 of tool and payload, or of unreadable arguments;
    `seal` that of the arguments; `paths` are what its arguments lead to now.

    `labels` are whose words, besides the person's own, its turn has read; `heard` is what the
    person has said and what the model has read, None = nobody needs to know.
    """

    call: ToolCall
    tool: str
    payload: Mapping[str, Any]
    facts: Facts
    digest: str
    arguments: BaseModel | None = None
    seal: str = ""
    refusal: Blocked | None = None
    read_only: bool = False
    mutates: bool = False
    idempotent: bool = True
    timeout_s: float | None = None
    paths: tuple[Touched, ...] = ()
    sink: Sink = "look"
    visits: tuple[str, ...] = ()
    targets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    by_person: bool = False
    labels: tuple[str, ...] = ()
    heard: Heard | None = None

    @property
    def call_id(self) -> str:
        return self.call.id

    @property
    def key(self) -> tuple[str, str]:
        """Equal for equal calls, however their arguments were spelled."""
        return self.call.name, self.digest

    @property
    def binding(self) -> str:
        """SHA-256 of the call and of where its paths lead: what an approval is given for."""
        return digest(self.digest, {"paths": [str(touched.path) for touched in self.paths]})

    @property
    def is_intact(self) -> bool:
        """Whether payload and arguments still match their digests."""
        return (
            self.arguments is not None
            and digest(self.tool, self.payload) == self.digest
            and digest(self.tool, dumped(self.arguments)) == self.seal
        )

    @property
    def placed(self) -> Mapping[str, str]:
        """The arguments that name files, with each path as it was judged; a list as JSON."""
        named: dict[str, str] = {}
        albums: dict[str, list[str]] = {}
        for touched in self.paths:
            if touched.at is not None:
                items = albums.setdefault(touched.key, list(listed(self.payload[touched.key])))
                items[touched.at] = str(touched.path)
            elif touched.key:
                named[touched.key] = str(touched.path)
        return named | {key: json.dumps(items) for key, items in albums.items()}

    def bound(self, arguments: BaseModel) -> BaseModel:
        """Return `arguments` with each path as it was judged, so that none is resolved again."""
        return arguments.model_copy(update=self.placed) if self.paths else arguments

    def refused(self, reason: str, rule: str, judge: JudgeName = "arguments") -> PreparedCall:
        """Return the same call, refused."""
        return replace(self, refusal=Blocked(reason, rule, judge))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model reads of a call, whether it failed, and whether it changed something.

    `kept`: the text is a handle to a longer one. `unknown`: the call failed on the way and may
    have taken effect.
    """

    text: str
    failed: bool
    effect: bool = False
    kept: bool = False
    unknown: bool = False


def digest(tool: str, payload: object) -> str:
    """Return the SHA-256 of tool and payload in canonical form, as hex."""
    canonical = json.dumps(
        {"tool": tool, "payload": payload},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        default=str,
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def dumped(arguments: BaseModel) -> Mapping[str, Any]:
    """Return arguments as plain values, to be hashed."""
    return arguments.model_dump(warnings=False)


ALLOW, DENY, ALWAYS = "allow", "deny", "always"
FOR_GOOD = "the owner allowed it for good"
"""What the audit says of a call that a grant let pass."""
UNATTENDED = (
    "Blocked: requires human approval. Nobody is there to give it while this runs by itself. "
    "Go on without it and say what is left to do."
)
UNASKED = "Blocked: requires human approval, and the owner is not asked again in this turn."


Approve: TypeAlias = Callable[
    [Sequence[tuple[PreparedCall, Ask]]], Awaitable[Sequence[Allowed | Blocked]]
]
"""Puts the calls of one response to the owner together and waits: see `flow.approving`."""


async def by_nobody(asked: Sequence[tuple[PreparedCall, Ask]]) -> Sequence[Allowed | Blocked]:
    """Block the calls of a turn that nobody watches."""
    return [Blocked(UNATTENDED, judge="nobody") for _ in asked]


def is_attended(origin: Origin) -> bool:
    """Whether a person sees the questions of a turn of this origin."""
    return PROFILES[origin].attended


def answers(asks: Sequence[Ask]) -> tuple[str, ...]:
    """Return the answers that the owner may choose from."""
    return (ALLOW, DENY, ALWAYS) if all(ask.always for ask in asks) else (ALLOW, DENY)
