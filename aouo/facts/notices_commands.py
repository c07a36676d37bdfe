"""Notices about commands of the owner's and about the running bot, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.facts.recorded import FailedTry, Section


@dataclass(frozen=True, slots=True)
class WordsNotSplit:
    """What follows a command cannot be split into words; `why` is the lexer's."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command of the owner's says: plain text, as long as it is."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandFailed:
    """A command of the owner's failed; `reference` is where the log has it."""

    name: str
    reference: str


@dataclass(frozen=True, slots=True)
class CommandTookTooLong:
    """A command of the owner's was ended by a time limit."""

    name: str


@dataclass(frozen=True, slots=True)
class CommandRunsApart:
    """A command's turn runs beside the conversation; its answer comes into it."""

    name: str


@dataclass(frozen=True, slots=True)
class CommandUnusable:
    """A command of the owner's cannot run; `problem` is for the owner, "" = for nobody here."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model that may answer: its failures in a row, the kind of the last one ("" = none), and
    until when, in words, others are asked before it ("" = they are not)."""

    provider: str
    model: str
    failures: int = 0
    last: str = ""
    cools_until: str = ""


@dataclass(frozen=True, slots=True)
class BotState:
    """The running bot, for its owner: jobs by state, and a line for each thing that is wrong.

    `since` is in words. `telegram` is how it is listened to, "" = not at all. `mcp` has (server,
    state), `broken_packs` (name, what is wrong first).
    """

    since: str
    models: tuple[ModelState, ...]
    waiting: int
    running: int
    parked: int
    telegram: str
    mcp: tuple[tuple[str, str], ...] = ()
    broken_packs: tuple[tuple[str, str], ...] = ()
    broken_commands: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusShown:
    """Answer to /status: the pack here, and what is at work here.

    `answers` says whether the pack `pack` answers, is `gone`, one has to be `chosen`, or there is
    `none`. `bot` is None for everybody but the owner.
    """

    pack: str
    answers: Literal["here", "gone", "chosen", "none"]
    running: bool
    waiting: int
    off_record: bool
    bot: BotState | None = None


@dataclass(frozen=True, slots=True)
class UsedModel:
    """A model that a turn used, or a service: `provider/model`."""

    name: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that a turn called, so many `times` with the same end; `verdict` is allowed | refused,
    "" = it was not judged; `judge` as in `guard.action`. `reason` is for the owner."""

    name: str
    verdict: str
    judge: str
    reason: str = ""
    failed: bool = False
    times: int = 1


@dataclass(frozen=True, slots=True)
class LastTurn:
    """Answer to /why: how the last turn here went; `status` is open | ack | nack | aborted.

    `turn_id` and `page`, the address where the owner reads on, are "" for everybody else; `page`
    is also "" while none listens.
    """

    status: str
    off_record: bool
    origin: str
    ms: int
    waited_ms: int
    cost_usd: float
    unpriced_calls: int
    models: tuple[UsedModel, ...]
    tools: tuple[CalledTool, ...]
    tries: tuple[FailedTry, ...]
    sections: tuple[Section, ...]
    turn_id: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class NoTurnHere:
    """Answer to /why where there is no turn to tell of."""


CommandNotice: TypeAlias = (
    WordsNotSplit
    | CommandOutput
    | CommandFailed
    | CommandTookTooLong
    | CommandRunsApart
    | CommandUnusable
    | StatusShown
    | LastTurn
    | NoTurnHere
)
