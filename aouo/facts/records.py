"""Rows of what was: money, judged calls, installs, sessions, what a turn records of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from aouo.facts.transcript import Message, Usage

Stage = Literal["PROPOSED", "EVALUATED", "EXECUTED", "FAILED", "BLOCKED"]

Sink: TypeAlias = Literal["look", "own", "persist", "tell", "spend", "destroy", "admit", "run"]
"""What a tool call does: it only looks; what it changes stays the owner's and can be taken back;
later turns read its words as their own (memory, schedules); it tells somebody or something outside
of this chat; it pays; it removes or overwrites for good; it gives access; it runs a program."""

ANY_TARGET = "*"
"""The target of a grant that holds for every call of its tool."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One row of what was spent. `day` is the local day, `2026-11-21`; money in USD.

    `reservation` is the id of the reservation that this row settles, "" = nothing was reserved.
    `unpriced`: nobody knows its price, so `cost_usd` says nothing.
    """

    scope: str
    day: str
    provider: str = ""
    model: str = ""
    pack: str = ""
    session_id: str = ""
    person: str = ""
    turn_id: str = ""
    tokens: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    duration_ms: int = 0
    reservation: str = ""
    unpriced: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """One turn that a budget stopped, and what its buttons mean; money in USD.

    `kind` is day | person | pack and `name` whose; `provider` and `model` name the cheaper
    model, "" = there is none. `state` is open | raised | cheaper | stopped.
    """

    turn_id: str
    day: str
    kind: str
    name: str
    raise_usd: float
    provider: str = ""
    model: str = ""
    state: str = "open"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row of the audit; it holds digests and names, never the arguments themselves.

    `judge` is who decided, "" = nobody yet, on which `tier` (0 rules, 1 heuristics, 2 a judging
    model, 3 a person); see `guard.prepared`. `labels` is whose words the call's turn had read.
    """

    stage: Stage
    turn_id: str
    call_id: str
    action_id: str
    tool: str
    pack: str
    origin: str
    digest: str
    reason: str = ""
    judge: str = ""
    sink: str = ""
    labels: str = ""
    tier: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that changed something: of which pack, what it was given and told, when it began (""
    = just now); `unknown`: it may have changed something; `origin` is what began its turn."""

    id: str
    pack: str
    name: str
    given: Mapping[str, Any]
    result: str
    started_at: str = ""
    unknown: bool = False
    origin: str = ""


ChangeKind: TypeAlias = Literal["install", "upgrade", "remove"]


ChangeState: TypeAlias = Literal["offered", "begun", "done", "declined", "failed"]


@dataclass(frozen=True, slots=True)
class Install:
    """A pack that was installed from an archive, a folder or an address; not one that is linked.

    `digest` is the hash of its files, `signer` the id of the key that signed them, "" = none.
    """

    pack: str
    version: str
    digest: str
    source: str
    signer: str
    person: str
    installed_at: str


@dataclass(frozen=True, slots=True)
class Change:
    """One installation, upgrade or removal, from the question to its end.

    `why` says what failed. `purge`: the removal also deletes the pack's data.
    """

    id: str
    pack: str
    kind: ChangeKind
    state: ChangeState
    version: str
    digest: str
    source: str
    signer: str
    person: str
    created_at: str
    why: str = ""
    purge: bool = False


NEWEST = 2**63 - 1
"""The highest possible row id: a stretch up to it has no end."""


_CauseOrigin = Literal["tool", "summary", "hand", "undo", "consolidate"]
"""A call of the memory tool; facts of a summary; an edit of the file itself; an undo; the
journal."""
Basis = Literal["said", "inferred"]
"""Whether a person said it, or it was concluded from what was said."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One visible entry of a session: its row id, its turn, and the message for the model."""

    id: int
    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Summary:
    """One stored summary. `facts` are lines for memory, not written there until `flushed`."""

    id: int
    session_id: str
    source_session_id: str
    upto_message_id: int
    through_message_id: int
    messages: int
    text: str
    tokens: int
    facts: str = ""
    flushed: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary to be stored; covers a session's messages up to `upto_message_id`.

    Later ones, up to `through_message_id`, move along into a fresh session; 0 = none do.
    """

    source_session_id: str
    upto_message_id: int
    messages: int
    text: str
    tokens: int
    facts: str = ""
    through_message_id: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """The messages of one session whose ids are in (`after`, `until`]."""

    session_id: str
    after: int = 0
    until: int = NEWEST


@dataclass(frozen=True, slots=True)
class Reach:
    """The parts of a session's history: the summary before it, then stretches of messages.

    `newest_id` is the newest summary's id, 0 = there is none; `undone`: a person undid that one,
    to have the messages themselves again.
    """

    summary: Summary | None = None
    stretches: tuple[Stretch, ...] = ()
    newest_id: int = 0
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """The newest messages of a session, oldest first, and the reach that they come from.

    `rows` counts the rows they were read from, those of the stretches `sent`; the `left_out` rows
    before those are not sent, and have no summary.
    """

    reach: Reach = field(default_factory=Reach)
    messages: tuple[Message, ...] = ()
    rows: int = 0
    left_out: int = 0
    sent: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of the journal, of a local day; `message_id` is the row of the message behind it."""

    id: int
    day: str
    text: str
    basis: Basis
    message_id: int


@dataclass(frozen=True, slots=True)
class Source:
    """The lines of the journal that a line of MEMORY.md comes from."""

    line: str
    basis: Basis
    journal_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """The origin of a change; `message_id` 0 = its message is unknown or gone; `sources` tell of
    each line that came from the journal."""

    origin: _CauseOrigin
    turn_id: str = ""
    person: str = ""
    platform: str = ""
    chat_id: str = ""
    message_id: int = 0
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """One change of one memory file. `undoes` is the version that it undid, 0 = it is no undo."""

    id: int
    file: str
    before: str
    after: str
    cause: Cause
    at: str
    call_id: str = ""
    undoes: int = 0


_MOST_BYTES = 1_000
"""Of one turn's record as JSON."""
_NAME_CHARS = 40
_SECTIONS, _TRIES = 20, 12
_LEAST_SECTIONS, _LEAST_TRIES = 6, 2


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt; `tokens` are estimated."""

    name: str
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A model, as `provider/model`, gave no answer because of an error of the class `error`, so
    `asked` was tried next, "" = none; so many `times`."""

    failed: str
    asked: str
    error: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """One turn; `sections` are those of its first request, in order.

    `prompts` are digests of its texts. `edits` counts how often a message was edited, or a draft
    shown, while the answer grew. `stale_route`: its route pointed to a wrong session. `taken_up_at`
    is when the newest process took the turn up, "" = none had to; what an earlier one saw of it is
    not counted. `left_out` counts sections and tries for which there was no room.
    """

    sections: tuple[Section, ...] = ()
    prompts: tuple[str, ...] = ()
    tries: tuple[FailedTry, ...] = ()
    edits: int = 0
    stale_route: bool = False
    taken_up_at: str = ""
    left_out: int = 0

    def dump(self) -> str:
        """Return it as JSON of at most `MOST_BYTES`.

        The smallest sections and the latest tries are left out where there is no room, and counted.
        """
        shown = _bounded(self)
        while len((text := _dumped(shown)).encode()) > _MOST_BYTES:
            shown = _shorter(shown)
        return text

    @classmethod
    def load(cls, text: str) -> Recorded:
        """Read what `dump` wrote; "" = nothing was recorded."""
        if not text:
            return cls()
        found = json.loads(text)
        return cls(
            tuple(Section(*row) for row in found.get("sections", ())),
            tuple(found.get("prompts", ())),
            tuple(FailedTry(*row) for row in found.get("tries", ())),
            found.get("edits", 0),
            bool(found.get("stale_route")),
            found.get("taken_up_at", ""),
            found.get("left_out", 0),
        )


def _dumped(shown: Recorded) -> str:
    facts: Mapping[str, Any] = {
        "sections": [[one.name, one.bytes, one.tokens] for one in shown.sections],
        "prompts": shown.prompts,
        "tries": [[one.failed, one.asked, one.error, one.times] for one in shown.tries],
        "edits": shown.edits,
        "stale_route": int(shown.stale_route),
        "taken_up_at": shown.taken_up_at,
        "left_out": shown.left_out,
    }
    present = {name: value for name, value in facts.items() if value}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")) if present else ""


def _bounded(whole: Recorded) -> Recorded:
    """Cut names, and lists that are long beyond use."""
    sections = [replace(one, name=_short(one.name)) for one in whole.sections[:_SECTIONS]]
    tries = [
        FailedTry(_short(one.failed), _short(one.asked), _short(one.error), one.times)
        for one in whole.tries[:_TRIES]
    ]
    gone = len(whole.sections) + len(whole.tries) - len(sections) - len(tries)
    return replace(
        whole,
        sections=tuple(sections),
        prompts=tuple(_short(digest) for digest in whole.prompts[:2]),
        tries=tuple(tries),
        taken_up_at=_short(whole.taken_up_at),
        left_out=whole.left_out + gone,
    )


def _shorter(shown: Recorded) -> Recorded:
    """Leave out what matters least: the latest tries, then the smallest sections."""
    tries, sections = shown.tries, shown.sections
    if len(tries) > _LEAST_TRIES or (tries and len(sections) <= _LEAST_SECTIONS):
        tries = tries[:-1]
    else:
        smallest = min(sections, key=lambda one: one.bytes)
        sections = tuple(one for one in sections if one is not smallest)
    return replace(shown, tries=tries, sections=sections, left_out=shown.left_out + 1)


def _short(text: str) -> str:
    """Return a name as UTF-8 can hold it, without what JSON would have to escape."""
    if len(text) > _NAME_CHARS:
        text = f"{text[: _NAME_CHARS - 1]}…"
    legible = text.encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() and char not in '"\\' else "?" for char in legible)
