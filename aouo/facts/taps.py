"""What a tap on a button means: one case for each kind of button, and the codec of its data.

The data stands in messages of existing chats, so `wire` never changes its meaning. Telegram takes
1 to 64 bytes. Longer data, and data of a model that looks like our own, is stored in the row of
the message, and the button sends a `Reference` to it.

Source: core.telegram.org/bots/api#inlinekeyboardbutton.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import ClassVar, TypeAlias, cast, get_args

MAX_BYTES = 64
Token: TypeAlias = str
"""A ULID in either case: letters and digits."""
_Read: TypeAlias = Callable[[str], str | int]
_FIELDS: dict[object, tuple[str, _Read]] = {
    "Token": (r"([0-9A-Za-z]{1,32})", str),
    "int": (r"([0-9]{1,18})", int),  # a longer one fits into no column
    "str": (r"(.*)", str),
}
_HEAD = re.compile(r"(?:nav:)?[a-z]+[_:]")


class _Waits:
    """A tap that waits in its conversation's lane. `wire` is its data, with a place for each field.

    `asks_once`: only the first tap counts; a second one is told so.
    """

    __slots__ = ()
    wire: ClassVar[str]
    bypasses: ClassVar[bool] = False
    asks_once: ClassVar[bool] = False


class _Reads(_Waits):
    """A tap that is answered at once, also while a turn runs in its lane."""

    __slots__ = ()
    bypasses = True


class _Answers(_Reads):
    """A tap that answers a question or an offer: at once, and only once."""

    __slots__ = ()
    asks_once = True


@dataclass(frozen=True, slots=True)
class BindPack(_Waits):
    """Bind the conversation to this pack."""

    wire = "pack:{}"
    pack: str


@dataclass(frozen=True, slots=True)
class Choose(_Answers):
    """The answer to a question, by its number from 0."""

    wire = "choice_{}:{}"
    gate_id: Token
    option: int


@dataclass(frozen=True, slots=True)
class Approve(_Answers):
    """The owner's answer to the question whether a call may be made."""

    wire = "approval_{}:{}"
    gate_id: Token
    answer: str


@dataclass(frozen=True, slots=True)
class RaiseBudget(_Answers):
    """Raise the budget that stopped this turn, for today."""

    wire = "nav:budget_raise_{}"
    turn_id: Token


@dataclass(frozen=True, slots=True)
class UseCheaperModel(_Answers):
    """Answer with a cheaper model here until midnight, beginning with this turn's words."""

    wire = "nav:budget_cheaper_{}"
    turn_id: Token


@dataclass(frozen=True, slots=True)
class LeaveUnanswered(_Answers):
    """Leave the words of this turn, which a budget stopped, unanswered."""

    wire = "nav:budget_stop_{}"
    turn_id: Token


@dataclass(frozen=True, slots=True)
class AnswerEdited(_Answers):
    """Answer a message that was edited after its answer."""

    wire = "nav:edited_{}"
    offer_id: int


@dataclass(frozen=True, slots=True)
class OfferPack(_Answers):
    """Show the card of a pack that comes with aouo."""

    wire = "nav:install_offer_{}"
    pack: str


@dataclass(frozen=True, slots=True)
class AcceptPack(_Answers):
    """Carry out the change of a pack that a card offered."""

    wire = "nav:install_{}_yes"
    change_id: Token


@dataclass(frozen=True, slots=True)
class DeclinePack(_Answers):
    """Leave what is installed as it is."""

    wire = "nav:install_{}_no"
    change_id: Token


@dataclass(frozen=True, slots=True)
class ShowAgain(_Answers):
    """Send a message again that may not have arrived."""

    wire = "nav:again_{}"
    delivery_id: int


@dataclass(frozen=True, slots=True)
class ShowKept(_Answers):
    """Send all of what a digest told."""

    wire = "nav:digest_{}"
    digest_id: int


@dataclass(frozen=True, slots=True)
class OpenSession(_Waits):
    """Go back to an earlier session of the conversation; `token` is the end of its id."""

    wire = "nav:session_{}"
    token: Token


@dataclass(frozen=True, slots=True)
class ShowSummary(_Waits):
    wire = "nav:summary_{}"
    summary_id: int


@dataclass(frozen=True, slots=True)
class UndoSummary(_Waits):
    """Read the messages themselves again, instead of their summary."""

    wire = "nav:unsummary_{}"
    summary_id: int


@dataclass(frozen=True, slots=True)
class ShowMemory(_Waits):
    """Show a whole memory file."""

    wire = "nav:memory_show_{}"
    file: str


@dataclass(frozen=True, slots=True)
class EmptyMemory(_Waits):
    wire = "nav:memory_empty_{}"
    file: str


@dataclass(frozen=True, slots=True)
class UndoMemory(_Waits):
    """Undo one change of the memory."""

    wire = "nav:memory_undo_{}"
    version_id: int


@dataclass(frozen=True, slots=True)
class SwitchOn(_Waits):
    wire = "nav:cron_on_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class SwitchOff(_Waits):
    wire = "nav:cron_off_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class RunSchedule(_Waits):
    """Have a schedule run at once."""

    wire = "nav:cron_run_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class AskRemoval(_Reads):
    """Ask whether to remove a schedule."""

    wire = "nav:cron_remove_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class RemoveSchedule(_Waits):
    wire = "nav:cron_removed_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class ShowHistory(_Reads):
    """Show the newest runs of a schedule."""

    wire = "nav:cron_history_{}"
    schedule_id: Token


@dataclass(frozen=True, slots=True)
class ShowSchedules(_Reads):
    """Show a page of the conversation's schedules, from 0."""

    wire = "nav:cron_page_{}"
    page: int


@dataclass(frozen=True, slots=True)
class StopJob(_Reads):
    """Stop what is at work, by the id of its job."""

    wire = "nav:cron_stop_{}"
    job_id: int


@dataclass(frozen=True, slots=True)
class SkipOnboarding(_Waits):
    """Go on without the pack's first conversation."""

    wire = "nav:onboarding_skip"


@dataclass(frozen=True, slots=True)
class Reference(_Waits):
    """The button `number` (from 0, row by row) of a delivery; its row holds the whole data."""

    wire = "kept_{}:{}"
    delivery_id: int
    number: int


@dataclass(frozen=True, slots=True)
class OpenPage(_Reads):
    """Show a page of the pack's menu, "" = the first one; the data `menu` means the same."""

    wire = "nav:{}"
    page_id: str


@dataclass(frozen=True, slots=True)
class Unknown(_Waits):
    """Data that looks like ours and matches no case."""

    wire = "{}"
    data: str


@dataclass(frozen=True, slots=True)
class Foreign(_Waits):
    """Data of a pack or a model: the tap becomes an inbound of its own."""

    wire = "{}"
    data: str


Ours: TypeAlias = (
    BindPack
    | Choose
    | Approve
    | RaiseBudget
    | UseCheaperModel
    | LeaveUnanswered
    | AnswerEdited
    | OfferPack
    | AcceptPack
    | DeclinePack
    | ShowAgain
    | ShowKept
    | OpenSession
    | ShowSummary
    | UndoSummary
    | ShowMemory
    | EmptyMemory
    | UndoMemory
    | SwitchOn
    | SwitchOff
    | RunSchedule
    | AskRemoval
    | RemoveSchedule
    | ShowHistory
    | ShowSchedules
    | StopJob
    | SkipOnboarding
    | Reference
    | OpenPage
    | Unknown
)
Tap: TypeAlias = Ours | Foreign
_Form: TypeAlias = tuple[re.Pattern[str], Callable[..., Ours], list[_Read]]


def encode(tap: Tap) -> str:
    """Return the data of a button; `decode` is the inverse."""
    return tap.wire.format(*astuple(tap))


def decode(data: str) -> Tap:
    """Parse the data of any button; never raises."""
    for pattern, case, reads in _forms():
        if found := pattern.fullmatch(data):
            return case(*(read(part) for read, part in zip(reads, found.groups(), strict=True)))
    if not data or data.startswith(_heads()):
        return Unknown(data)
    if data == "menu":
        return OpenPage("")
    kind, found, key = data.partition(":")
    return OpenPage(key) if kind == "nav" and found else Foreign(data)


def fits(data: str) -> bool:
    return 0 < len(data.encode()) <= MAX_BYTES


def _cases() -> list[type[Ours]]:
    """Return the cases of `Ours` whose data has a pattern."""
    cases = cast("tuple[type[Ours], ...]", get_args(Ours))
    return [case for case in cases if case not in (OpenPage, Unknown)]


@cache
def _forms() -> list[_Form]:
    forms: list[_Form] = []
    for case in _cases():
        parts = [_FIELDS[field.type] for field in fields(case)]
        pattern = case.wire.format(*(part for part, _ in parts))
        forms.append((re.compile(pattern, re.DOTALL), case, [read for _, read in parts]))
    return forms


@cache
def _heads() -> tuple[str, ...]:
    """Return the prefixes of our data; no page id of a pack may begin with one."""
    return tuple({found[0] for case in _cases() if (found := _HEAD.match(case.wire))})
