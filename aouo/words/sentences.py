"""Words notices and failures for people; other rooms only make typed notices.

Each sentence says what happened and what helps; none quotes an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from aouo.facts import errors, notices
from aouo.facts.notices import Notice
from aouo.facts.notices_commands import CommandNotice
from aouo.facts.notices_install import InstallNotice
from aouo.facts.notices_media import MediaNotice, MediaRefused
from aouo.facts.notices_memory import MemoryFileShown, MemoryShown
from aouo.facts.people import AT_HOME
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.facts.transcript import AsksAgain
from aouo.words import (
    commands,
    conversations,
    install,
    media,
    memory,
    menus,
    models,
    money,
    questions,
    summaries,
)
from aouo.words.may import PLATFORMS
from aouo.words.saying import say

THINKING = "Thinking…"
ABOUT_MODEL = "About my model: "
CUT_SHORT = "…"
BUTTONS_OF_ALBUM = "⬆️"
"""The text above the buttons of an album without words."""
NOTHING_TO_SHOW = "The model's answer holds nothing that can be shown. Ask in other words."
TIMED_OUT = "This took too long, so I stopped it. Ask again, perhaps for a smaller step."
RUN_TIMED_OUT = "it took too long, so I stopped it."
ASKS_OWNER = "I am asking them now."
TAP_EXPIRED = "This question is closed."
TAP_NOT_YOURS = "This question is for somebody else."
NOT_AUTHORIZED = "You are not authorized to use this bot."
TAP_STOPPED = "This was stopped, so the question is closed."
TAP_FOR_THE_OWNER = "Only the owner can decide this."
TAP_SHOWN = "I have shown it again already."
TAP_UNKNOWN = "This button is from an earlier time and does nothing any more."


Rows: TypeAlias = tuple[tuple[ButtonSpec, ...], ...]


def word(notice: Notice | Rendered) -> Rendered:
    """Return the message for a notice, with its buttons."""
    if isinstance(notice, Rendered):
        return notice
    said = _said(notice)
    return say(said) if isinstance(said, str) else said


def _said(notice: Notice) -> str | Rendered:
    if isinstance(notice, InstallNotice):
        return install.worded(notice)
    if isinstance(notice, CommandNotice):
        return commands.worded(notice)
    if isinstance(notice, notices.SummaryNotice):
        return summaries.worded(notice)
    if isinstance(notice, MediaNotice):
        return (
            failure(notice.error, "")
            if isinstance(notice, MediaRefused)
            else media.sentence(notice)
        )
    match notice:
        case notices.Picker():
            return conversations.picker(notice)
        case notices.Sessions():
            return conversations.sessions(notice)
        case notices.ApprovalAsked():
            return questions.approval(notice)
        case notices.MenuPage():
            return menus.page(notice)
        case MemoryShown():
            return memory.shown(notice)
        case MemoryFileShown():
            return memory.whole(notice)
        case notices.Greeting():
            return conversations.greeting(notice)
        case notices.Help():
            return conversations.commands(notice)
        case notices.Whereabouts():
            return conversations.whereabouts(notice)
        case notices.Plain.WAITS_TOO:
            return "This message waits, too. Choose a pack above, or with /pack."
        case notices.YourId(person) if person == AT_HOME:
            return "You are the owner; you have no Telegram id here."
        case notices.YourId(person):
            return f"Your Telegram id is {person}."
        case notices.Plain.NOT_AUTHORIZED:
            return NOT_AUTHORIZED
        case notices.NotAPerson("channel"):
            return (
                "I answer people who are on my list, and this was written in the name of a "
                "channel. Write it as yourself."
            )
        case notices.NotAPerson():
            return (
                "I answer people who are on my list, and who writes in the name of the group I "
                "cannot see. Switch off “Remain anonymous” among your administrator rights."
            )
        case notices.Bound(pack, before, about, skill):
            when = "already" if pack == before else "now"
            how = f", beginning with “{skill}”" if skill else ""
            return f"“{pack}” answers here {when}{how}.\n{about}".rstrip("\n")
        case notices.StaysWith(pack, wanted):
            other = f"“{wanted}”" if wanted else "Every other pack"
            return (
                f"This is the chat of “{pack}”, and only that answers here. {other} has a chat of "
                "its own on this page."
            )
        case notices.NoSuchPack(name, packs):
            return conversations.no_such_pack(name, packs)
        case notices.NoSuchSkill(name, pack, skills):
            return f"“{pack}” has no skill “{name}”. It has: {', '.join(skills) or 'none'}."
        case notices.UsageOf(line):
            return f"Write it like this: {line}"
        case notices.FreshSession(kept=True):
            return "Started a fresh session. What we said before is kept: /sessions"
        case notices.FreshSession():
            return "Started a fresh session."
        case notices.SessionOpened(title):
            return f"Back in “{title}”."
        case notices.Plain.NO_SUCH_SESSION:
            return "That session is not there with this pack. /sessions lists what is."
        case notices.Plain.TOO_MUCH_TO_READ:
            return (
                "Looking this up takes too long here. The owner can do it in a terminal, with: "
                "aouo usage, aouo session list"
            )
        case notices.Plain.NOTHING_TO_RETRY:
            return "There is nothing of yours that I can answer again here. Write me what you need."
        case notices.OffRecord(on=True):
            return (
                "Off the record from now on: I look things up but change nothing, and what we say "
                "is erased as soon as it is answered. /otr ends it."
            )
        case notices.OffRecord():
            return "On the record again."
        case notices.Plain.ERASED:
            return (
                "I was restarted before I could answer what you said off the record; it is "
                "erased. Please say it again."
            )
        case notices.Stopped():
            return conversations.stopped(notice)
        case notices.UnknownCommand(name):
            return f"I do not know /{name}. /help lists what I know."
        case notices.OwnersCommand(name):
            return f"Only the owner of this bot can use /{name}."
        case notices.SkillOfOtherPack(name, pack):
            return f"/{name} belongs to “{pack}”; another pack answers here. Change: /use {pack}"
        case notices.Plain.UNKNOWN_BUTTON:
            return TAP_UNKNOWN
        case notices.Plain.EMPTY_MESSAGE:
            return "That message was empty. Write me what you need."
        case notices.Waits():
            return conversations.waits(notice)
        case notices.Plain.WAITS_FOR_OWNER:
            return "This waits for the yes of this bot's owner. I have asked them."
        case notices.Plain.OWNER_NOT_REACHED:
            return (
                "This needs the yes of this bot's owner, and I cannot reach them: they have to "
                "write to me in private first."
            )
        case notices.Plain.RESUMED:
            return "I was restarted while answering; continuing."
        case notices.SpendingReport():
            return money.spending(notice)
        case notices.Plain.CANNOT_SUMMARISE:
            return "The embedded model is too small to summarise. /new starts a fresh session."
        case notices.NoMenu(""):
            return "No pack is installed, so there is no menu. Just write, or see /help."
        case notices.NoMenu(pack):
            return f"“{pack}” has no menu. Just write, or see /help."
        case notices.MenuOfOtherPack(pack, current):
            return f"This menu is of “{pack}”, and “{current}” answers here. Change: /use {pack}"
        case notices.OnboardingSkipped(now=True):
            return "Skipped. Just write what you need."
        case notices.OnboardingSkipped():
            return "That is over already. Just write what you need."
        case notices.Plain.NOTHING_APART_OFF_RECORD:
            return (
                "Off the record I run nothing beside our conversation, since its answer is kept. "
                "/otr ends it."
            )
        case notices.Plain.NOT_DONE_OFF_RECORD:
            return (
                "Off the record I only answer: what this command does with the answer is left "
                "undone. /otr ends it."
            )
        case notices.Plain.NO_UNDO_OFF_RECORD:
            return "Off the record memory stays as it is, also by hand. /otr ends it."
        case notices.Plain.NO_SUMMARY_OFF_RECORD:
            return "Off the record I write no summaries. /otr ends it, then /compact works."
        case notices.Plain.NO_SUCH_SUMMARY:
            return "That summary is not there any more."
        case _:
            assert_never(notice)


def _elsewhere(error: errors.PlatformRefused) -> str:
    places = " and ".join(PLATFORMS.get(name, name) for name in error.allowed)
    return f"“{error.pack}” answers in {places} only (permissions.platforms in its pack.yml)."


def failure(error: BaseException, reference: str, *, for_owner: bool = False) -> str:
    """Return the sentence for a failed turn; `reference` is its id in the log.

    `for_owner` adds what to edit.
    """
    match error:
        case errors.QuotaExceededError():
            return money.quota(error)
        case errors.BudgetExceeded():
            return money.budget(error)
        case errors.PlatformRefused():
            return _elsewhere(error)
        case errors.PriceUnknown():
            return (
                f"A budget is set, and I do not know what {error.model} costs, so I did not ask "
                f"it. The owner sets {error.key}."
            )
        case errors.DispatchLimitReached():
            return (
                f"I worked through {error.dispatches} steps without coming to an answer, so I "
                "stopped. Ask for a smaller piece, or tell me what matters most."
            )
        case errors.ToolsNotReady():
            return "The tools for this did not come up in time. Try again in a minute."
        case errors.PostActionFailed():
            return (
                f"I had an answer, but what was to be done with it (“{error.kind}”) failed, so "
                f"neither is kept. The log has it under {reference}."
            )
        case errors.EmptyAnswer() if error.cut_off:
            return models.cut_off(error.cut_off, for_owner=for_owner)
        case errors.EmptyAnswer():
            return "The model gave no answer, twice. Ask in other words; /new starts afresh."
        case errors.ProviderError():
            return models.failed(error, reference, for_owner=for_owner)
        case errors.SetupError():
            return f"Something is not set up: {error}"
        case _:
            return broke(reference)


def broke(reference: str) -> str:
    """Return what is said where something of ours failed; `reference` is in the log."""
    return f"Something broke inside me; nothing is lost. The log has it under {reference}."


def ways_on(turn_id: str, raise_usd: float, cheaper: str) -> Rows:
    """Return the buttons of a refusal by a budget.

    `raise_usd` 0 = no button to raise it; `cheaper` names a model, "" = there is none.
    """
    rows = [[questions.raise_button(turn_id, raise_usd)]] if raise_usd else []
    last = [ButtonSpec("Stop", encode("budget_stop", turn_id))]
    if cheaper:
        cheaper_data = encode("budget_cheaper", turn_id)
        rows.append([ButtonSpec(f"Cheaper model: {cheaper}", cheaper_data)])
    return tuple(tuple(row) for row in (*rows, last))


def skip_onboarding() -> Rows:
    """Return the button under the first answer of a pack's first conversation."""
    return ((ButtonSpec("Skip introduction", encode("onboarding_skip")),),)


def failed_in_history(error: BaseException, effects: Sequence[str]) -> str:
    """Return the line that history keeps of a failed turn."""
    return f"[This turn failed ({type(error).__name__}).{_done(effects)}]"


def stopped_in_history(reason: str, effects: Sequence[str]) -> str:
    return f"[This turn was stopped ({reason}).{_done(effects)}]"


def taken_back_in_history(effects: Sequence[str]) -> str:
    return f"[This answer was taken back; the person asks for it again.{_done(effects)}]"


def calling(tool: str) -> str:
    return f"Working: {tool} …"


def asking_again(asks: AsksAgain, *, why: bool) -> str:
    """Return the status line while the same or another service is asked; `why` adds the reason."""
    failed, asked = (f"{provider} ({model})" for provider, model in (asks.failed, asks.asked))
    reason = f", which {models.no_answer_because(type(asks.error).__name__)}" if why else ""
    other = f", so I ask {asked}" if asked != failed else ""
    return (
        f"No answer yet from {failed}{reason}{other}, attempt {asks.attempt} of {asks.attempts} …"
    )


def whole_answer(words: int) -> str:
    """Return the caption of the file that a very long answer is sent as."""
    return f"The whole answer is in this file: {words:,} words."


def badge(pack_name: str) -> str:
    return f"\n\n— {pack_name}"


def run_badge(name: str, pack_name: str, *, by_command: bool = False) -> str:
    """Return the end of a message of a turn beside its conversation: what it comes from.

    `by_command`: a person asked for it by the command `name`; nobody did just now otherwise.
    """
    return f"\n\n— {' · '.join(filter(None, (pack_name, name if by_command else f'⏰ {name}')))}"


def run_failed(why: str) -> str:
    """Return what is said of a run without a result."""
    return f"This did not work: {why.removesuffix(models.TRY_AGAIN)}"


def run_without_pack(pack_name: str) -> str:
    """Return why a run cannot begin whose pack is gone."""
    return f"the pack {pack_name} is not installed any more."


def run_broke(reference: str) -> str:
    """Return why a run failed that we could not even begin or end; `reference` is in the log."""
    return f"something in me broke ({reference}). The owner finds it in the log."


def run_in_history(name: str, prompt: str, *, by_command: bool = False) -> str:
    """Return the line that history keeps of what a run was asked to do; see `run_badge`."""
    if by_command:
        return f"[{name}, answered beside this conversation: {prompt}]"
    asked = f": {prompt}" if prompt and prompt != name else ""
    return f"[by itself, not from the person: {name!r} was due{asked}]"


def run_sent_in_history() -> str:
    return "[The messages were sent.]"


def config_broken(problems: Sequence[str]) -> str:
    """Return the note to the owner after a start with the last good configuration."""
    return (
        "config.json has a problem, so I run on the last good version of it: "
        f"{problems[0] if problems else 'unreadable'} (aouo doctor lists all)"
    )


def config_rejected(problems: Sequence[str]) -> str:
    """Return the note to the owner that a change of the configuration was not taken up."""
    return (
        "config.json has a problem, so nothing of it has changed here: "
        f"{problems[0]} (aouo doctor lists all)"
    )


def config_mended() -> str:
    """Return the note to the owner that the configuration is taken up again."""
    return "config.json is in order again, and in force."


def config_after_restart(keys: Sequence[str]) -> str:
    """Return the note to the owner about changed keys that a running bot cannot take up."""
    return f"In config.json, this takes effect after a restart: {', '.join(keys)} (aouo restart)"


def unfinished(items: Sequence[tuple[str, str, str]], *, did: str = "started") -> str:
    """Return the note to the owner about (what, why, what to do) that a start could not finish, or
    whatever else the bot `did`."""
    lines = [f"• {what}: {why.rstrip('.')}. {fix}." for what, why, fix in items]
    return "\n".join((f"I {did}, and could not end this:", *lines))


def part_failed(name: str) -> str:
    """Return the note to the owner that an optional part does not run for now."""
    return (
        f"A part of me has failed: {name}. Everything else goes on, and I start it again by "
        "itself; `aouo status` says how it fares, `aouo logs` why it failed."
    )


def model_concern(what: str, fix: str) -> str:
    """Return the note to the owner that something is or will be wrong with a model."""
    return f"{ABOUT_MODEL}{what}. {fix}"


def _done(effects: Sequence[str]) -> str:
    return f" These had taken effect before, or may have: {', '.join(effects)}." if effects else ""


def not_compacted(why: object, reference: str) -> Rendered:
    """Return the message that `/compact` failed."""
    said = failure(why, reference) if isinstance(why, errors.AouoError) else TIMED_OUT
    return say(f"{said} Nothing was changed.")
