"""What the runtime has to say, as facts; `outbound.wording` makes the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Literal, TypeAlias

from aouo.facts.errors import Refused
from aouo.facts.events import AsChat
from aouo.facts.notices_install import InstallNotice


class Plain(Enum):
    """A notice without details; the value says what happened."""

    NOT_AUTHORIZED = "who wrote is not on the list"
    WAITS_TOO = "another message waits until a pack is chosen"
    NO_SUCH_SESSION = "a session that is not there with this pack"
    TOO_MUCH_TO_READ = "a command would look through more than it may"
    NOTHING_TO_RETRY = "nothing of this person can be answered again"
    ERASED = "what was said off the record was erased by a restart before it was answered"
    UNKNOWN_BUTTON = "a button of an earlier version"
    ANSWERING_EDITED = "the offer of `EditedTooLate` was taken"
    EMPTY_MESSAGE = "a message without words"
    CANNOT_READ = "nothing can be made out of a message"
    SET_ASIDE = "a message ended the process three times"
    RESUMED = "the process was restarted in the middle of this turn"
    WAITS_FOR_OWNER = "this turn waits until the owner has answered in their own chat"
    OWNER_NOT_REACHED = "the owner has no chat with the bot, so that nothing can be asked of them"
    BUDGET_STOPPED = "the person leaves it at a refusal"
    CANNOT_SUMMARISE = "the embedded model is too small to summarise"
    NO_SUMMARY_OFF_RECORD = "a summary would be kept, and begin another session"
    NO_SUCH_SUMMARY = "a summary that is not there any more"
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
    """Said in the name of the group, or of a channel: who it was is not shown."""

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
    """Choose a pack; `gone` is one that is not installed any more.

    `about` says of each pack what it is, in their order, where that is told for the first time;
    `hello`: as the answer to /start.
    """

    packs: tuple[tuple[str, str], ...]
    current: str = ""
    gone: str = ""
    waiting: bool = False
    about: tuple[str, ...] = ()
    hello: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """`about` is what the pack is in the person's own language, "" = it says nothing in it.
    `skill` is the one that was asked for by name, "" = none."""

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
    """Whether a turn was at work, how many messages that waited were dropped; not `may`: that
    turn is somebody else's, and goes on."""

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
    """Somebody else sent a command that is the owner's."""

    name: str


@dataclass(frozen=True, slots=True)
class SkillOfOtherPack:
    name: str
    pack: str


@dataclass(frozen=True, slots=True)
class CannotTake:
    what: str


@dataclass(frozen=True, slots=True)
class EditedTooLate:
    """A message was edited after it had been answered; its button names the offer."""

    offer: int


@dataclass(frozen=True, slots=True)
class SetAsideElsewhere:
    """The same, for the owner: whose message it was, in which chat ("" = alone with us) and topic,
    and the turn that it had begun; "" = none."""

    name: str
    person: str
    chat_id: str
    thread_id: str
    turn_id: str
    why: Literal["broke", "unreadable", "failed"] = "broke"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A person, by name, and the group and topic they are in; "" = their private chat, no topic or
    one whose title nobody told."""

    person: str
    group: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """A message has to wait, for its person's answer to a `question` or for what is at work;
    `command` "" = it is none. `stops`: /stop ends what it waits for."""

    command: str
    question: bool
    stops: bool


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """May this call be made? `subject` is what it reaches for, `writes_bytes` -1 = it only looks.

    `answers` are the words that a tap on the gate `gate_id` may send. `waiting` is who asked for
    it in another chat than the owner's, None = the owner, here.
    """

    gate_id: str
    tool: str
    pack: str
    subject: str
    writes_bytes: int
    answers: tuple[str, ...]
    waiting: Elsewhere | None = None


@dataclass(frozen=True, slots=True)
class RaiseAsked:
    """May the budget be raised that stopped a turn in another chat than the owner's?

    The first fields are those of `errors.BudgetExceeded`.
    """

    kind: str
    name: str
    used_usd: float
    cap_usd: float
    worst_usd: float
    raise_usd: float
    turn_id: str
    waiting: Elsewhere


@dataclass(frozen=True, slots=True)
class BudgetRaised:
    """The owner added so many USD for today; `again`: the refused words are answered now."""

    usd: float
    again: bool


@dataclass(frozen=True, slots=True)
class CheaperModel:
    """This model answers here for the rest of the day; `again` as in `BudgetRaised`."""

    model: str
    again: bool


@dataclass(frozen=True, slots=True)
class Spending:
    """Model calls and tool calls of some days; `tokens` are input and output, `cached` of them
    were read from a cache, money in USD."""

    calls: int
    tokens: int
    usd: float
    cached: int = 0


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """What one person used with the pack here ("" = none), and for the owner what all did."""

    pack: str
    today: Spending
    week: Spending
    all_today: Spending | None = None
    all_week: Spending | None = None


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """One schedule: `when` and `due` in words ("" = off, or over); `paused` as it is stored."""

    id: str
    name: str
    pack: str
    when: str
    due: str
    paused: str


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of this conversation; `forbidden`: its pack has some and may not use them."""

    lines: tuple[ScheduleLine, ...]
    forbidden: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """Something of ours failed before a turn could begin."""

    reference: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """So many messages are a summary now, whose id its buttons name."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class Renewed:
    """A session near its limit goes on in a fresh one; so many of its messages are a summary."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """A turn put so many older messages into a summary, because the window was getting full."""

    messages: int
    summary: int


@dataclass(frozen=True, slots=True)
class NothingToCompact:
    """`summary` is the one that stands already, 0 = none."""

    summary: int = 0


@dataclass(frozen=True, slots=True)
class ReadsNoSkills:
    """A skill was asked for, and the model that answers here reads none."""

    skill: str


@dataclass(frozen=True, slots=True)
class SummaryShown:
    summary: int
    messages: int
    text: str
    undone: bool


@dataclass(frozen=True, slots=True)
class SummaryUndone:
    """`before` is an earlier summary that stands again, 0 = none."""

    messages: int
    before: int = 0


TopicTrouble: TypeAlias = Literal["admin", "right", "off", "later", "unknown", "refused"]
"""Why a topic was not created: the bot is no administrator, or lacks the right; topics are off;
nobody answered, before it was created or perhaps after; Telegram will not."""


@dataclass(frozen=True, slots=True)
class TopicsSetUp:
    """Packs whose topic is new, was there, is not there; `hidden`: privacy mode keeps back what
    does not call the bot."""

    created: tuple[str, ...]
    bound: tuple[str, ...]
    failed: tuple[tuple[str, TopicTrouble], ...]
    hidden: bool


@dataclass(frozen=True, slots=True)
class NoTopicsHere:
    """There is no pack that needs one, or this kind of chat has none."""

    why: Literal["packs", "private", "group", "elsewhere"]


Trouble: TypeAlias = Literal[
    "busy", "used up", "late", "key", "money", "setting", "large", "refused", "silent", "broken"
]
"""Why a service gave nothing, as far as a person can do something about it."""

Lack: TypeAlias = Literal["unset", "not_installed", "no_model"]
"""Why there is nobody who hears or speaks: no key or not wanted; wanted from this machine, where
its packages are not, or where the configured model is not."""
VOICE_INSTALL = "scripts/setup voice"
"""The command that installs speech without a service."""


@dataclass(frozen=True, slots=True)
class FileTooLarge:
    """More than the server gives to bots; `what` is what a person calls the file."""

    what: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class FileIsGone:
    """The platform does not have it any more."""

    what: str


@dataclass(frozen=True, slots=True)
class FileNotReached:
    """It could not be downloaded, also not when tried again."""

    what: str


@dataclass(frozen=True, slots=True)
class FilesTookTooLong:
    """A turn's whole time went by before its files were there."""


@dataclass(frozen=True, slots=True)
class HearingNotSetUp:
    what: str
    lack: Lack = "unset"


@dataclass(frozen=True, slots=True)
class NotHeard:
    """Speech recognition gave nothing."""

    what: str
    why: Trouble


@dataclass(frozen=True, slots=True)
class NothingHeard:
    """There are no words in it, or none that are understood (`unclear`)."""

    what: str
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class SeeingNotSetUp:
    """Neither the model sees nor is there another one that does."""


@dataclass(frozen=True, slots=True)
class NotSeen:
    """The model that looks at pictures gave nothing."""

    why: Trouble


@dataclass(frozen=True, slots=True)
class MediaRefused:
    """A limit is reached before the turn could begin."""

    error: Refused


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of a pack's menu in a person's language; `name` is what the pack is called.

    `buttons` are (label, callback); `lines` the rows of its database; `unreadable`: they could
    not be had; `instead_of_gone`: the page that was asked for is gone, and this is the first.
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
    """The pack has none, "" = there is no pack."""

    pack: str


@dataclass(frozen=True, slots=True)
class MenuOfOtherPack:
    """A button on a page of `pack`, while another one, `current`, answers here."""

    pack: str
    current: str


@dataclass(frozen=True, slots=True)
class OnboardingSkipped:
    """A pack's first conversation ended on the person's wish; not `now`: it was over before."""

    now: bool


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A memory file as it is now; `text` is "" when it holds nothing."""

    name: str
    size_bytes: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One change of a memory file, in the bot owner's local time.

    `added` and `removed` are lines; `words` is the message that it came from, "" = unknown;
    `by` names whoever wrote it where several people write; `emptied` by a person in the chat.
    """

    version: int
    file: str
    origin: Literal["tool", "summary", "hand", "undo"]
    at: datetime
    added: tuple[str, ...]
    removed: tuple[str, ...]
    words: str = ""
    by: str = ""
    emptied: bool = False


@dataclass(frozen=True, slots=True)
class MemoryShown:
    """What a pack ("" = none) remembers in this conversation, and the newest change of it.

    `undo` is the version that a button takes back, 0 = there is none; `edited` are files that
    other hands have changed since their newest version; `undone` is the file that was just put
    back, `emptied` the one that was just emptied, "" = none was; `message_id` is the message of
    the newest change, 0 = none here.
    """

    pack: str
    files: tuple[KeptFile, ...]
    changes: tuple[MemoryChange, ...] = ()
    undo: int = 0
    edited: tuple[str, ...] = ()
    undone: str = ""
    nothing_undone: bool = False
    message_id: int = 0
    emptied: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFileShown:
    """The whole of one memory file."""

    file: KeptFile


MediaNotice: TypeAlias = (
    FileTooLarge
    | FileIsGone
    | FileNotReached
    | FilesTookTooLong
    | HearingNotSetUp
    | NotHeard
    | NothingHeard
    | SeeingNotSetUp
    | NotSeen
    | MediaRefused
)

SummaryNotice: TypeAlias = (
    Compacted | MadeRoom | Renewed | NothingToCompact | SummaryShown | SummaryUndone
)

Notice: TypeAlias = (
    Plain
    | MediaNotice
    | InstallNotice
    | SummaryNotice
    | Greeting
    | Help
    | YourId
    | NotAPerson
    | Whereabouts
    | Picker
    | Bound
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
    | CannotTake
    | EditedTooLate
    | SetAsideElsewhere
    | ApprovalAsked
    | Waits
    | RaiseAsked
    | BudgetRaised
    | CheaperModel
    | SpendingReport
    | Schedules
    | Broken
    | ReadsNoSkills
    | TopicsSetUp
    | NoTopicsHere
    | OwnersCommand
    | MemoryShown
    | MemoryFileShown
    | OnboardingSkipped
    | MenuPage
    | NoMenu
    | MenuOfOtherPack
)
