"""Says why turns, runs and files failed, what is asked meanwhile, and what menus show.

Each sentence says what happened and what helps; none quotes an exception.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

from aouo.facts import errors
from aouo.facts.attachments import VOICE_INSTALL, Lack
from aouo.facts.errors import BudgetExceeded
from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.facts.records import ANY_TARGET
from aouo.facts.taps import encode
from aouo.facts.transcript import AsksAgain
from aouo.guard.prepared import ALWAYS, Ask, Lasting, PreparedCall, answers
from aouo.words import models, money
from aouo.words.catalogue import LIMIT_UNITS, one_line, say, text
from aouo.words.markdown.tables import LIMIT, utf16_len
from aouo.words.permissions import platforms

_SHOWN_NAME_CHARS = 80
_BUTTON_CHARS, _SOURCES_UNITS, _OUTCOME_UNITS = 40, 400, 100
_CALL_UNITS = (3_000, 1_000, 300, 100)
"""Of the words of each call on a card, until all of it fits."""
_ALPHABETS = frozenset(
    ["LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"]
)
_TITLE_UNITS, _LABEL_UNITS = 200, 64
_WISHES = {"read_file": "read", "read_document": "read", "list_dir": "see", "msg": "send"}


def label(kind: str, option: str) -> str:
    """Return what the button for an option of a gate says."""
    return text(f"questions.button-{option}") if kind == "approval" else option


def question_settled(kind: str, state: str, answer: str) -> str:
    """Return the outcome below the question of a settled gate; see `store.gates` for the states."""
    if state == "answered":
        return text(f"questions.outcome-{answer}") if kind == "approval" else answer
    if state == "expired":
        return text("questions.expired-no" if kind == "approval" else "questions.expired")
    return text("questions.stopped")


class Asked(NamedTuple):
    """A call that the owner is asked about, and how often they said yes to its tool and targets."""

    action: PreparedCall
    ask: Ask
    before: int


def approval(
    gate_id: str, asked: Sequence[Asked], sources: Sequence[str], waiting: Inbound | None
) -> tuple[Rendered, int]:
    """Return the card that asks the owner for a yes to calls, whose turn has read the words of
    `sources`, and to how many of them: words are shortened, nothing else; 0 = it shows none whole.

    `waiting` is what the person said in another chat who waits for it, None = the owner, here.
    """
    who = text("questions.for", who=_waits(waiting)) if waiting else ""
    cards = (
        (_card(gate_id, asked[:count], sources, who, units), count)
        for count in range(len(asked), 0, -1)
        for units in _CALL_UNITS
    )
    whole = (
        (say_card, count)
        for say_card, count in cards
        if utf16_len(say_card.text) < LIMIT_UNITS - _OUTCOME_UNITS
    )
    return next(whole, (Rendered(""), 0))


def _card(
    gate_id: str, asked: Sequence[Asked], sources: Sequence[str], who: str, units: int
) -> Rendered:
    """Return a card with so many units of each call's words; of one that is too long the end is
    missing."""
    action, ask, _ = asked[0]
    pack = action.facts.pack or text("questions.no-pack")
    asks = [one.ask for one in asked]
    lasting = [one for ask in asks for one in ask.always]
    buttons = [
        ButtonSpec(_option(answer, lasting), encode("approval", gate_id, answer))
        for answer in answers(asks)
    ]
    rows = [buttons[:2], *([button] for button in buttons[2:])]
    if len(asked) == 1 and ask.why == "fence":
        return say(
            "questions.approval",
            *rows,
            pack=pack,
            wish=_wish(action, ask),
            subject=one_line(ask.subject, LIMIT_UNITS),
            tool=action.tool,
            waiting=who,
        )
    calls = "\n\n".join(_call(one, units) for one in asked)
    reasons = "\n".join(dict.fromkeys(_why(one, sources) for one in asks))
    named = "\n".join(dict.fromkeys(one_line(one.shown) for one in lasting))
    always = text("questions.always", names=named) if len(buttons) > 2 and "\n" in named else ""
    shown = "\n\n".join(filter(None, (calls, reasons, always)))
    why = ButtonSpec(text("questions.button-why"), encode("command", f"why {action.call_id}"))
    card = say("questions.calls", *rows, [why], pack=pack, waiting=who, calls=shown)
    return replace(card, entities=tuple(_bold(card.text, [_subject(one.ask) for one in asked])))


def _subject(ask: Ask) -> str:
    return one_line(" · ".join(ask.subject.splitlines()), LIMIT_UNITS)


def _bold(card: str, subjects: Sequence[str]) -> Iterator[Entity]:
    """Set off where the calls of a card lead to, in their order."""
    end = 0
    for subject in filter(None, subjects):
        if (at := card.find(f" → {subject}", end)) >= 0:
            end = at + 3 + len(subject)
            yield Entity("bold", utf16_len(card[: at + 3]), utf16_len(subject))


def _mixed(subject: str) -> list[str]:
    """Return the words of a subject that have letters of two alphabets, as to pass for another."""
    scripts = {
        word: {unicodedata.name(sign, "").partition(" ")[0] for sign in word if sign.isalpha()}
        for word in subject.split()
    }
    return [word for word, of_word in scripts.items() if len(of_word & _ALPHABETS) > 1]


def _source_name(label: str) -> str:
    """Return whose words a label means, as a person reads it."""
    name = one_line(server := label.removeprefix("mcp:"))
    return text("questions.through", server=name) if server != label else name


def _call(asked: Asked, units: int) -> str:
    """Return what a call would do: its tool, where it leads, whether that was ever asked, its
    arguments."""
    action, ask, before = asked
    said = text("questions.before", count=before) if before else text("questions.never-before")
    subject = _subject(ask)
    to = f" → {subject}" if subject else ""
    last = f" {text('questions.for-good')}" if ask.for_good else ""
    words = ", ".join(_mixed(subject))
    mixed = f"\n{text('questions.mixed', words=words)}" if words else ""
    arguments = "".join(
        sign if sign.isprintable() or sign == "\n" else f"\\u{ord(sign):04x}"
        for sign in ask.arguments
    )
    return f"{action.tool}{to}{mixed}\n{_shortened(arguments, units)}\n{said}{last}"


def _shortened(arguments: str, units: int) -> str:
    """Return arguments in so many UTF-16 units: first each long text keeps its beginning."""
    if utf16_len(arguments) <= units:
        return arguments
    try:
        values: Any = json.loads(arguments)
        fields = max(1, len(values))
        short = {
            key: one_block(str(value), units // fields) if isinstance(value, str) else value
            for key, value in values.items()
        }
        arguments = json.dumps(short, ensure_ascii=False)
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass
    return one_block(arguments, units)


def _why(ask: Ask, sources: Sequence[str]) -> str:
    named = one_block(", ".join(map(_source_name, sources)), _SOURCES_UNITS) or "?"
    match ask.why:
        case "fence":
            return text("questions.why-fence")
        case "person":
            return text("questions.why-person")
        case "read":
            return text("questions.why-read", sources=named)
        case "policy":
            return text("questions.why-policy", rule=ask.reason.partition(": ")[2])
        case "holds":
            return text("questions.why-holds", what=ask.reason.rpartition(": ")[2])
        case "lost":
            return text("questions.why-lost")
        case "spends":
            return text("questions.why-spends", sources=named)


def _option(answer: str, lasting: Sequence[Lasting]) -> str:
    """Return what a button says: "always" names what it covers, if that is one thing."""
    names = dict.fromkeys(one.shown for one in lasting)
    if answer != ALWAYS or not lasting:
        return label("approval", answer)
    if all(one.kind == "folder" for one in lasting):
        return text("questions.always-folder")
    if len(names) == 1 and (name := next(iter(names))) not in ("", ANY_TARGET):
        return text("questions.always-to", name=one_line(name, _BUTTON_CHARS))
    return label("approval", answer)


def _wish(action: PreparedCall, ask: Ask) -> str:
    if action.tool == "write_file":
        return text("questions.writes", count=ask.writes_bytes)
    return text(f"questions.wish-{_WISHES.get(action.tool, 'act')}")


def raising(error: BudgetExceeded, turn_id: str, waiting: Inbound) -> Rendered:
    """Return the card that asks the owner to raise the budget that stopped a turn elsewhere."""
    button = _raise_button(turn_id, error.raise_usd)
    return say("questions.raising", [button], who=_waits(waiting), why=money.raising(error))


def _raise_button(turn_id: str, usd: float) -> ButtonSpec:
    """Return the owner's button that raises a budget for today."""
    label = text("questions.raise", usd=money.usd(usd))
    return ButtonSpec(label, encode("budget_raise", turn_id))


def _waits(waiting: Inbound) -> str:
    """Return who waits, and where; strangers chose these names."""
    person, group, topic = (
        one_line(name, _SHOWN_NAME_CHARS)
        for name in (waiting.person.name or waiting.person.id, waiting.group, waiting.title)
    )
    place = text("questions.in-group", group=group) if group else text("questions.in-private")
    if topic:
        place = text("questions.in-topic", topic=topic, place=place)
    return text("questions.who", person=person, place=place)


CUT_SHORT = "…"
BUTTONS_OF_ALBUM = "⬆️"
"""The text above the buttons of an album without words."""


Rows: TypeAlias = tuple[tuple[ButtonSpec, ...], ...]


def failure(error: BaseException, reference: str, *, for_owner: bool = False) -> str:
    """Return the sentence for a failed turn; `reference` is its id in the log.

    `for_owner` adds what to edit.
    """
    match error:
        case errors.QuotaExceededError():
            return money.quota(error)
        case errors.BudgetExceeded():
            return money.budget(error)
        case errors.PlatformRefused(pack=pack):
            places = platforms(error.allowed, f" {text('card.and')} ")
            return text("turns.elsewhere-only", pack=pack, places=places)
        case errors.PriceUnknown():
            return text("turns.price-unknown", model=error.model, key=error.key)
        case errors.DispatchLimitReached():
            return text("turns.too-many-steps", steps=error.dispatches)
        case errors.GoingInCircles():
            return text("turns.in-circles", tool=error.tool)
        case errors.ToolsNotReady():
            return text("turns.tools-not-ready")
        case errors.PostActionFailed():
            return text("turns.post-action-failed", kind=error.kind, reference=reference)
        case errors.EmptyAnswer() if error.cut_off:
            return models.cut_off(error.cut_off, for_owner=for_owner)
        case errors.EmptyAnswer():
            return text("turns.no-answer")
        case errors.ProviderError():
            return models.failed(error, reference, for_owner=for_owner)
        case errors.SetupError():
            return text("turns.not-set-up", why=error)
        case _:
            return text("turns.broken", reference=reference)


def ways_on(turn_id: str, raise_usd: float, cheaper: str) -> Rows:
    """Return the buttons of a refusal by a budget.

    `raise_usd` 0 = no button to raise it; `cheaper` names a model, "" = there is none.
    """
    rows = [[_raise_button(turn_id, raise_usd)]] if raise_usd else []
    last = [ButtonSpec(text("budgets.button-stop"), encode("budget_stop", turn_id))]
    if cheaper:
        label = text("budgets.button-cheaper", model=cheaper)
        rows.append([ButtonSpec(label, encode("budget_cheaper", turn_id))])
    return tuple(tuple(row) for row in (*rows, last))


TOOK_EFFECT = "These had taken effect before, or may have"


def failed_in_history(error: BaseException, effects: Sequence[str]) -> str:
    """Return the line that history keeps of a failed turn."""
    return f"[This turn failed ({type(error).__name__}).{_done(effects)}]"


def stopped_in_history(reason: str, effects: Sequence[str]) -> str:
    return f"[This turn was stopped ({reason}).{_done(effects)}]"


def taken_back_in_history(effects: Sequence[str]) -> str:
    return f"[This answer was taken back; the person asks for it again.{_done(effects)}]"


def asking_again(asks: AsksAgain, *, why: bool) -> str:
    """Return the status line while the same or another service is asked; `why` adds the reason."""
    failed, asked = (f"{provider} ({model})" for provider, model in (asks.failed, asks.asked))
    reason = models.no_answer_because(type(asks.error).__name__)
    return text(
        "turns.asking-again",
        failed=failed,
        why=text("turns.asking-because", reason=reason) if why else "",
        asked=text("turns.asking-other", asked=asked) if asked != failed else "",
        attempt=asks.attempt,
        attempts=asks.attempts,
    )


def badge(pack_name: str) -> str:
    return f"\n\n— {pack_name}"


def run_badge(name: str, pack_name: str, *, by_command: bool = False) -> str:
    """Return the end of a message of a turn beside its conversation: what it comes from.

    `by_command`: a person asked for it by the command `name`; nobody did just now otherwise.
    """
    return f"\n\n— {' · '.join(filter(None, (pack_name, name if by_command else f'⏰ {name}')))}"


def run_refused(calls: Sequence[tuple[str, str, str]]) -> Rendered:
    """Return what a run was refused, because nobody was there to say yes: of each call its id, its
    tool and its arguments; a button makes exactly that call."""
    lines = [
        text("runs.refused-line", number=number, tool=tool, arguments=one_line(given))
        for number, (_, tool, given) in enumerate(calls, 1)
    ]
    rows = [
        [
            ButtonSpec(
                text("runs.button-redo", number=number), encode("command", f"grants do {call_id}")
            )
        ]
        for number, (call_id, _, _) in enumerate(calls, 1)
    ]
    return say("runs.refused", *rows, calls="\n".join(lines))


def run_failed(why: str) -> str:
    """Return what is said of a run without a result."""
    return text("runs.failed", why=why.removesuffix(f" {models.try_again()}"))


def run_given_up(words: str, why: str) -> str:
    """Return what a schedule's own words say in place of an answer that failed."""
    return text("runs.given-up", said=words, why=why.removesuffix(f" {models.try_again()}"))


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
    return text("config.broken", problem=problems[0] if problems else text("config.unreadable"))


def config_rejected(problems: Sequence[str]) -> str:
    """Return the note to the owner that a change of the configuration was not taken up."""
    return text("config.rejected", problem=problems[0])


def walls_down(keys: Sequence[str]) -> str:
    return text("config.walls-down", keys=", ".join(keys))


def config_after_restart(keys: Sequence[str]) -> str:
    """Return the note to the owner about changed keys that a running bot cannot take up."""
    return text("config.after-restart", keys=", ".join(keys))


def unfinished(
    items: Sequence[tuple[str, str, str]], *, did: Literal["started", "reloaded"] = "started"
) -> str:
    """Return the note to the owner about (what, why, fix) that a start or a reload left open."""
    lines = [
        text("parts.left", what=what, why=why.rstrip("."), fix=fix) for what, why, fix in items
    ]
    return "\n".join((text(f"parts.unfinished-{did}"), *lines))


def model_concern(what: str, fix: str) -> str:
    """Return the note to the owner that something is or will be wrong with a model."""
    return f"{text('turns.about-model')} {what}. {fix}"


def _done(effects: Sequence[str]) -> str:
    return f" {TOOK_EFFECT}: {', '.join(effects)}." if effects else ""


MediaTrouble: TypeAlias = Literal[
    "busy", "used-up", "late", "key", "money", "setting", "large", "refused", "silent", "broken"
]
"""Why a service failed, as far as a person can act on it."""


def no_ears(what: str, lack: Lack) -> str:
    """Say that nothing hears the recording `what`."""
    return text(f"media.no-ears-{lack}", what=what, install=VOICE_INSTALL)


def not_heard(what: str, why: MediaTrouble) -> str:
    """Say that speech recognition failed."""
    because = text(f"media.because-{why}", who=text("media.ears"))
    return text("media.not-heard", what=what, because=because)


def not_seen(why: MediaTrouble) -> str:
    """Say that the model that describes pictures failed."""
    return text("media.not-seen", because=text(f"media.because-{why}", who=text("media.eyes")))


def menu_page(
    name: str,
    title: str,
    shown: str,
    lines: Sequence[str] | None,
    buttons: Sequence[Sequence[ButtonSpec]],
    *,
    above: str = "",
) -> Rendered:
    """Return a page as one message; only its title is formatted, never the text of a row.

    `name` is what the pack is called; `lines` the rows of its database, None = they could not be
    read. `above` stands over it, "" = nothing. Where it would be too long for one message, each
    line keeps its beginning.
    """
    title = one_block(" ".join(title.split()), _TITLE_UNITS)
    unreadable = text("menus.page-unreadable") if lines is None else ""
    rows = list(lines or ())
    parts = (above, title, shown, unreadable)
    if utf16_len("\n\n".join((*parts, "\n".join(rows)))) > LIMIT:
        above, shown = one_block(above, LIMIT // 4), one_block(shown, LIMIT // 2)
        room = LIMIT - utf16_len("\n\n".join((above, title, shown, unreadable))) - 2
        each = max(2, room // max(1, len(rows)) - 1)
        rows = [one_block(line, each) for line in rows]
    body = "\n\n".join(filter(None, (shown, "\n".join(rows), unreadable)))
    before = f"{above}\n\n" if above else ""
    whole = before + ("\n\n".join(filter(None, (title, body))) or name)
    marks = (Entity("bold", utf16_len(before), utf16_len(title)),) if title else ()
    keyboard = tuple(
        tuple(replace(one, label=_button_label(one.label)) for one in row) for row in buttons
    )
    return Rendered(whole, marks, keyboard, preview=False)


def one_block(words: str, most: int) -> str:
    """Return a text of at most so many UTF-16 units, with … where something is left out."""
    if utf16_len(words) <= most:
        return words
    kept = words.encode("utf-16-le", "replace")[: 2 * (most - 1)].decode("utf-16-le", "ignore")
    return f"{kept.rstrip()}…"


def _button_label(label: str) -> str:
    """Return a label that Telegram takes: short, in one line, and something to see."""
    label = one_block(" ".join(label.split()), _LABEL_UNITS)
    return label if any(sign.isprintable() and not sign.isspace() for sign in label) else "…"


def page_turns(page: str, at: int, *, more: bool) -> tuple[ButtonSpec, ...]:
    """Return the buttons that lead to the parts of a page around the one that is shown."""
    before = ButtonSpec("‹", encode("page", f"{page}~{at - 1}" if at > 1 else page))
    after = ButtonSpec("›", encode("page", f"{page}~{at + 1}"))
    return (*([before] if at else []), *([after] if more else []))


def no_menu(pack: str) -> Rendered:
    """Say that a pack has no menu, "" = that there is no pack."""
    return say("menus.none-of-pack", pack=pack) if pack else say("menus.none")


def skip_introduction() -> tuple[tuple[ButtonSpec, ...], ...]:
    """Return the button under the first answer of a pack's first conversation."""
    return ((ButtonSpec(text("menus.skip-introduction"), encode("onboarding_skip")),),)
