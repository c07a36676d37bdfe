"""Notices that the runtime sends, as facts; `words` makes the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TypeAlias

from aouo.facts.events import AsChat
from aouo.facts.notices_commands import CommandNotice
from aouo.facts.notices_install import InstallNotice
from aouo.facts.notices_media import MediaNotice
from aouo.facts.notices_memory import MemoryNotice


class Plain(Enum):
    """A notice without details; the value says what happened."""

    NOT_AUTHORIZED = "who wrote is not on the list"
    WAITS_TOO = "another message waits until a pack is chosen"
    NO_SUCH_SESSION = "a session that is not there with this pack"
    TOO_MUCH_TO_READ = "a command would look through more than it may"
    NOTHING_TO_RETRY = "nothing of this person can be answered again"
    ERASED = "what was said off the record was erased by a restart before it was answered"
    UNKNOWN_BUTTON = "a button of an earlier version"
    EMPTY_MESSAGE = "a message without words"
    RESUMED = "the process was restarted in the middle of this turn"
    WAITS_FOR_OWNER = "this turn waits until the owner has answered in their own chat"
    OWNER_NOT_REACHED = "the owner has no chat with the bot, so that nothing can be asked of them"
    CANNOT_SUMMARISE = "the embedded model is too small to summarise"
    NO_SUMMARY_OFF_RECORD = "a summary would be kept, and begin another session"
    NO_SUCH_SUMMARY = "a summary that is not there any more"
    NOTHING_APART_OFF_RECORD = "off the record nothing runs beside the conversation"
    NOT_DONE_OFF_RECORD = "off the record nothing is done with an answer"
    NO_UNDO_OFF_RECORD = "off the record memory does not change, not even back"


@dataclass(frozen=True, slots=True)
class Greeting:
    """Answer to /start: who we are, which pack answers here, what else there is."""

    packs: tuple[tuple[str, str], ...]
    active: str


@dataclass(frozen=True, slots=True)
class Help:
    """(name, description) of our commands and of the active pack's skills."""

    commands: tuple[tuple[str, str], ...]
    skills: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class YourId:
    id: str


@dataclass(frozen=True, slots=True)
class NotAPerson:
    """A message in the name of the group or of a channel, which does not show its sender."""

    as_chat: AsChat


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where this conversation stands; "" where nothing is chosen."""

    platform: str
    chat_id: str
    thread_id: str
    pack: str
    skill: str
    session: str
    installed: tuple[str, ...]
    off_record: bool = False


@dataclass(frozen=True, slots=True)
class Picker:
    """The list to choose a pack from; `gone` is the bound pack if it is not installed any more.

    `about` describes each pack, in their order, when it is shown for the first time; `hello`: it
    answers /start.
    """

    packs: tuple[tuple[str, str], ...]
    current: str = ""
    gone: str = ""
    waiting: bool = False
    about: tuple[str, ...] = ()
    hello: bool = False


@dataclass(frozen=True, slots=True)
class StaysWith:
    """This is the chat of `pack` on the local page, so no other pack answers in it; `wanted` is
    the one that was asked for, "" = none by name."""

    pack: str
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """A conversation was bound to `pack`.

    `about` describes it in the person's own language, "" = it has no text in it. `skill` is the
    skill that was asked for by name, "" = none.
    """

    pack: str
    before: str = ""
    about: str = ""
    skill: str = ""


@dataclass(frozen=True, slots=True)
class NoSuchPack:
    name: str
    packs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoSuchSkill:
    name: str
    pack: str
    skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsageOf:
    """How a command is written."""

    line: str


@dataclass(frozen=True, slots=True)
class FreshSession:
    """`kept`: there is something to go back to."""

    kept: bool


@dataclass(frozen=True, slots=True)
class Sessions:
    """Earlier sessions: (id, title, when, messages); the current one is marked."""

    items: tuple[tuple[str, str, str, int], ...]
    current: str


@dataclass(frozen=True, slots=True)
class SessionOpened:
    title: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Answer to /stop: whether a turn was running, and how many waiting messages were dropped.

    Not `may`: the turn belongs to another person, and goes on.
    """

    running: bool
    dropped: int
    may: bool = True


@dataclass(frozen=True, slots=True)
class OffRecord:
    """The conversation's mode has changed."""

    on: bool


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    name: str


@dataclass(frozen=True, slots=True)
class OwnersCommand:
    """A person who is not the owner sent a command that only the owner may use."""

    name: str


@dataclass(frozen=True, slots=True)
class SkillOfOtherPack:
    name: str
    pack: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A person's name, and the titles of their group and topic.

    `group` "" = their private chat; `topic` "" = no topic, or its title is unknown.
    """

    person: str
    group: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """A message has to wait, for the answer to a `question` or for the running turn.

    `command` is its name, "" = it is none. `stops`: /stop ends what it waits for.
    """

    command: str
    question: bool
    stops: bool


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The question whether a tool call may be made.

    `subject` is what it would touch, `writes_bytes` -1 = it only looks. `answers` are the words
    that a tap on the gate `gate_id` may send. `waiting` is the person in another chat who waits
    for it, None = the owner, here.
    """

    gate_id: str
    tool: str
    pack: str
    subject: str
    writes_bytes: int
    answers: tuple[str, ...]
    waiting: Elsewhere | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What one or more days cost; `tokens` are input and output, `cached` of them were read from
    a cache, and `unpriced` of the calls had no known price."""

    calls: int
    tokens: int
    usd: float
    cached: int = 0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """What one person spent with `pack` ("" = none), and for the owner what all people spent;
    `days` are the week's (date, tokens), of all people if the owner asks."""

    pack: str
    today: Spending
    week: Spending
    all_today: Spending | None = None
    all_week: Spending | None = None
    days: tuple[tuple[date, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Compacted:
    """A summary replaces so many messages now; its buttons name the id `summary`."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class Renewed:
    """A session near its limit goes on in a fresh one; a summary replaces so many messages."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """A turn replaced so many older messages by a summary, because the window was nearly full."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class NothingToCompact:
    """There is nothing to summarise; `summary` is the id of an existing one, 0 = none."""

    summary: int = 0


@dataclass(frozen=True, slots=True)
class SummaryShown:
    summary: int
    messages: int
    text: str
    undone: bool


@dataclass(frozen=True, slots=True)
class SummaryUndone:
    """A summary was undone; `before` is an earlier one that is in force again, 0 = none."""

    messages: int
    before: int = 0


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of a pack's menu in a person's language; `name` is what the pack is called.

    `buttons` are (label, callback); `lines` the rows of its database; `unreadable`: the rows
    could not be read; `instead_of_gone`: the wanted page is gone, and this is the first one.
    """

    name: str
    title: str
    text: str
    lines: tuple[str, ...]
    buttons: tuple[tuple[tuple[str, str], ...], ...]
    instead_of_gone: bool = False
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class NoMenu:
    """The pack has no menu, "" = there is no pack."""

    pack: str


@dataclass(frozen=True, slots=True)
class MenuOfOtherPack:
    """A tap on a page of `pack`, while another pack, `current`, answers here."""

    pack: str
    current: str


@dataclass(frozen=True, slots=True)
class OnboardingSkipped:
    """The person skipped a pack's first conversation; not `now`: it was over before."""

    now: bool


SummaryNotice: TypeAlias = (
    Compacted | MadeRoom | Renewed | NothingToCompact | SummaryShown | SummaryUndone
)

Notice: TypeAlias = (
    Plain
    | MediaNotice
    | MemoryNotice
    | InstallNotice
    | CommandNotice
    | SummaryNotice
    | Greeting
    | Help
    | YourId
    | NotAPerson
    | Whereabouts
    | Picker
    | Bound
    | StaysWith
    | NoSuchPack
    | NoSuchSkill
    | UsageOf
    | FreshSession
    | Sessions
    | SessionOpened
    | Stopped
    | OffRecord
    | UnknownCommand
    | SkillOfOtherPack
    | ApprovalAsked
    | Waits
    | SpendingReport
    | OwnersCommand
    | OnboardingSkipped
    | MenuPage
    | NoMenu
    | MenuOfOtherPack
)
