"""Says where a conversation stands: its pack, session, summaries, topics, commands."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import AouoError
from aouo.facts.people import AT_HOME, LetIn
from aouo.facts.ports import ButtonSpec, Entity, Media, Rendered
from aouo.facts.taps import encode
from aouo.facts.work import Route
from aouo.words import sentences
from aouo.words.catalogue import LIMIT_UNITS, cut, message, say, text
from aouo.words.markdown.tables import utf16_len
from aouo.words.models import no_answer_because


def welcome(packs: Sequence[tuple[str, str, str, bool]], active: str = "") -> Rendered:
    """Return the answer to `/start`: who I am, and each pack as (name, shown name, what it is for,
    whether it has a tour). A tap begins the tour, or chooses the pack; `active` answers here."""
    if not packs:
        return say("conversations.hello-no-pack")
    head = text("conversations.hello")
    if active:
        head = f"{head} {text('conversations.hello-in', pack=active)}"
    lines = [
        text("conversations.pack", pack=shown, about=about) if about else shown
        for _, shown, about, _ in packs
    ]
    rows = [
        [ButtonSpec(shown, encode("command", f"tour {name}") if tours else encode("pack", name))]
        for name, shown, _, tours in packs
    ]
    return message("\n".join([head, "", *lines]), *rows)


def commands(ours: Sequence[tuple[str, str]], skills: Sequence[tuple[str, str]]) -> Rendered:
    """Return the (name, description) of our commands and of the active pack's skills."""
    lines = [text("conversations.command", name=name, about=about) for name, about in ours]
    if skills:
        lines += ["", text("conversations.of-pack")]
    lines += [text("conversations.command", name=name, about=about) for name, about in skills]
    return message("\n".join(lines))


def whereabouts(
    address: ConversationAddress, route: Route | None, installed: Sequence[str]
) -> Rendered:
    """Return the answer to `/whereami`; topics are told where there are topics."""
    none = text("conversations.none")
    pack, skill, session, off_record = (
        (route.active_pack, route.active_skill, route.session_id, route.off_record)
        if route
        else ("", "", "", False)
    )
    on_telegram = address.platform == "tg"
    return say(
        "conversations.whereabouts",
        platform=address.platform,
        chat=address.chat_id,
        topic=text("conversations.whereabouts-topic", topic=address.thread_id or none)
        if on_telegram
        else "",
        pack=pack or text("conversations.none-chosen"),
        skill=skill or none,
        session=session or text("conversations.none-yet"),
        packs=", ".join(installed) or none,
        off_record=text("conversations.whereabouts-off-record") if off_record else "",
    )


def own_id(person: str) -> Rendered:
    """Return a person's Telegram id, which the owner at home has none of."""
    at_home = person == AT_HOME
    return say("conversations.id-at-home") if at_home else say("conversations.id", id=person)


def refused(person: str, *, asks_id: bool, asked: bool) -> Rendered:
    """Return what a stranger reads in private, who perhaps asked for their id; `asked`: the owner
    was, or is, asked about them."""
    parts = [text("people.stranger"), text("conversations.id", id=person)]
    parts = parts[::-1] if asks_id else [text("conversations.not-authorized"), *parts]
    return message(" ".join((*parts, *([text("people.owner-asked")] if asked else []))))


def letting_in(asked: LetIn, buttons: tuple[ButtonSpec, ...]) -> Rendered:
    """Return the card that asks the owner about a stranger, who chose the name on it."""
    name = asked.name or asked.person
    return unlinked(
        say("people.card", *((one,) for one in buttons), name=name, id=asked.person), name
    )


def unlinked(words: Rendered, *names: str) -> Rendered:
    """Mark names that strangers chose as code, so that no address in them becomes a link."""
    marks: list[Entity] = []
    at = 0
    for name in names:
        if name and (start := words.text.find(name, at)) >= 0:
            at = start + len(name)
            marks.append(Entity("code", utf16_len(words.text[:start]), utf16_len(name)))
    return replace(words, entities=(*words.entities, *marks), preview=False)


def people_known(owner: str, found: Sequence[tuple[LetIn, str]], listed: Container[str]) -> str:
    """Return who is let in, a line each: (what is kept, what they are now, "" = nobody)."""
    lines = [text("people.head")]
    if owner:
        lines.append(text("people.line", who=owner, what=text("people.owner")))
    for one, role in found:
        state = role or ("asked" if one.role == "asked" else "out")
        what = text(f"people.is-{state}")
        if state == "guest":
            what = text("people.until", what=what, at=one.until[:16].replace("T", " "))
        if state == "out" and one.person in listed:
            what = text("people.wins", what=what)
        who = f"{one.name} ({one.person})" if one.name else one.person
        lines.append(text("people.line", who=who, what=what))
    return "\n".join(lines)


_WORDS_SHOWN = 60


def picker(
    packs: Sequence[tuple[str, str]],
    *,
    current: str = "",
    gone: str = "",
    waiting: bool = False,
    about: Sequence[str] = (),
    words: str = "",
) -> Rendered:
    """Return the list to choose a pack from.

    `gone` is the bound pack if it is not installed any more; `waiting`: a message waits for the
    choice, with these `words`. `about` describes each pack, in their order, when it is shown for
    the first time.
    """
    if not packs:
        if gone:
            return say("conversations.pick-gone-last", pack=gone)
        return say("conversations.no-pack")
    if gone:
        head = text("conversations.pick-gone", pack=gone)
    else:
        head = text("conversations.pick-other", pack=current) if current else ""
    head = head or text("conversations.pick")
    if words and not gone:
        head = text("conversations.pick-for", words=cut(" ".join(words.split()), _WORDS_SHOWN))
    if waiting:
        head = text("conversations.pick-waiting", question=head)
    lines = [
        text("conversations.pack", pack=shown, about=what) if what else shown
        for (_, shown), what in zip(packs, about, strict=False)
    ]
    rows = [
        [ButtonSpec(f"✓ {shown}" if name == current else shown, encode("pack", name))]
        for name, shown in packs
    ]
    return message("\n".join([head, *lines]), *rows)


def no_such_pack(name: str, packs: Sequence[str]) -> Rendered:
    """Say which packs there are instead."""
    if not packs:
        return say("conversations.no-pack")
    return say("conversations.no-such-pack", name=name, packs=", ".join(packs))


def no_such_skill(name: str, pack: str, skills: Sequence[str]) -> Rendered:
    """Say which skills the pack has instead."""
    named = ", ".join(skills) or text("conversations.none")
    return say("conversations.no-such-skill", name=name, pack=pack, skills=named)


def bound(pack: str, *, already: bool = False, about: str = "", skill: str = "") -> Rendered:
    """Say that a conversation was bound to `pack`.

    `about` describes it in the person's own language, "" = it has no text in it. `skill` is the
    skill that was asked for by name, "" = none.
    """
    if skill:
        said = text("conversations.bound-with", pack=pack, skill=skill)
    else:
        said = text("conversations.bound-already" if already else "conversations.bound", pack=pack)
    return message(f"{said}\n{about}".rstrip("\n"))


def stays_with(pack: str, wanted: str = "") -> Rendered:
    """Say that no other pack answers in this chat of the local page; `wanted` "" = none by name."""
    other = f"“{wanted}”" if wanted else text("conversations.stays-with-other")
    return say("conversations.stays-with", pack=pack, other=other)


def sessions(items: Sequence[tuple[str, str, str]], current: str) -> Rendered:
    """Return the earlier sessions (id, title, when), each with its button."""
    if not items:
        return say("conversations.sessions-none")
    untitled = text("conversations.untitled")
    rows = [
        [
            ButtonSpec(
                f"{'✓ ' if session == current else ''}{title or untitled} · {when[:10]}",
                encode("command", f"sessions {session.rpartition('/')[2]}"),
            )
        ]
        for session, title, when in items
    ]
    return say("conversations.sessions", *rows)


def stopped(*, running: bool, dropped: int, may: bool) -> Rendered:
    """Return the answer to `/stop`: whether a turn was running, how many waiting messages were
    dropped. Not `may`: the turn belongs to another person, and goes on."""
    whose = "conversations.dropped" if may or not running else "conversations.dropped-yours"
    waited = text(whose, count=dropped) if dropped else ""
    if not running:
        return message(waited or text("conversations.stopped-nothing"))
    head = text("conversations.stopped" if may else "conversations.others-turn")
    return message(f"{head} {waited}".rstrip())


def waits(command: str, *, question: bool, stops: bool) -> Rendered:
    """Say that a message waits, for the answer to a `question` or for the running turn.

    `command` is its name, "" = it is none. `stops`: /stop ends what it waits for.
    """
    if question and not command:
        return say("conversations.waits-question")
    what, ends = "answer" if question else "turn", "-or-stop" if stops else ""
    return say(f"conversations.waits-for-{what}{ends}", command=command)


def topics_set_up(
    created: Sequence[str], bound: Sequence[str], failed: Mapping[str, str], *, hidden: bool
) -> Rendered:
    """Return the report of `/setup_topics`, pack by pack; `failed` has why, by pack.

    `hidden`: Telegram shows the bot only some of what is written in the topics.
    """
    lines = [
        text(name, packs=", ".join(packs))
        for name, packs in (
            ("topics.created", created),
            ("topics.bound", bound),
            ("topics.failed", failed),
        )
        if packs
    ]
    lines += [text(f"topics.trouble-{why}") for why in dict.fromkeys(failed.values())]
    return message("\n".join([*lines, *([text("topics.hidden")] if hidden else [])]))


def no_topics_here(why: str) -> Rendered:
    """Return why `/setup_topics` cannot do anything in this chat."""
    return say(f"topics.none-{why}")


def topic_shut(title: str, how: Literal["closed", "deleted"]) -> Rendered:
    """Return why a message for a topic comes outside it; `title` "" = unknown.

    Telegram may also not find topics that exist: on 8 May 2026 all in private chats.
    Source: github.com/tdlib/telegram-bot-api/issues/847 and /693.
    """
    return say(f"topics.shut-{how}", title=f" “{title}”" if title else "")


def compacted(messages: int, summary: int) -> Rendered:
    """Say that `/compact` replaced so many messages by a summary."""
    return _with_both(text("summaries.compacted", count=messages), summary)


def made_room(messages: int, summary: int) -> Rendered:
    """Say that a turn replaced older messages, because the window was nearly full."""
    return _with_both(text("summaries.made-room", count=messages), summary)


def renewed(messages: int, summary: int) -> Rendered:
    """Say that a session near its limit goes on in a fresh one."""
    return _with_both(text("summaries.renewed", count=messages), summary)


def nothing_new(summary: int) -> Rendered:
    """Say that there is nothing to summarise; `summary` stands for what was before, 0 = none."""
    if not summary:
        return say("summaries.nothing")
    return _with_both(text("summaries.nothing-new"), summary)


def summary_shown(summary: int, messages: int, words: str, *, undone: bool) -> Rendered:
    """Return a summary's words."""
    said = text("summaries.shown", count=messages, words=words)
    return message(said, *(() if undone else ([_undo(summary)],)))


def summary_undone(messages: int, before: int) -> Rendered:
    """Say that a summary was undone; `before` is an earlier one in force again, 0 = none."""
    said = text("summaries.undone", count=messages)
    return _with_both(f"{said} {text('summaries.one-before')}", before) if before else message(said)


def not_compacted(why: object, reference: str) -> Rendered:
    """Say that `/compact` failed."""
    said = text("turns.timed-out")
    if isinstance(why, AouoError):
        said = sentences.failure(why, reference)
    return say("summaries.failed", why=said)


def _with_both(said: str, summary: int) -> Rendered:
    show = ButtonSpec(
        text("summaries.button-show"), encode("command", f"sessions summary {summary}")
    )
    return message(said, [show, _undo(summary)])


def _undo(summary: int) -> ButtonSpec:
    return ButtonSpec(
        text("summaries.button-undo"), encode("command", f"sessions unsummary {summary}")
    )


_OPENING_CHARS = 900
_LISTED = 10


def output(name: str, said: str) -> Rendered:
    """Return all that a command says: as a file below its beginning, if it is more than a message
    holds."""
    if not said.strip():
        return say("commands.silent", name=name)
    if len(said.encode("utf-16-le", "replace")) <= 2 * LIMIT_UNITS:
        return message(said)
    opening = said[:_OPENING_CHARS].rstrip() + "…"
    return Rendered(opening, media=Media("document", "", f"{name}.txt", said))


def unusable(name: str, problem: str) -> Rendered:
    """Say that a command of the owner's cannot run; `problem` "" = nobody here reads why."""
    if problem:
        return say("commands.unusable-because", name=name, problem=problem)
    return say("commands.unusable", name=name)


def at_work(where: str, running: int, waiting: int, parked: int = 0) -> str:
    """Return the line of `/status` about what is at work "here" or "everywhere"."""
    parts = [
        text(name, count=count)
        for name, count in (
            ("status.at-work", running),
            ("status.waiting", waiting),
            ("status.parked", parked),
        )
        if count
    ]
    what = ", ".join(parts) or text("status.idle")
    return text("status.work", where=text(f"status.where-{where}"), what=what)


def model_line(provider: str, name: str, failures: int = 0, last: str = "", until: str = "") -> str:
    """Return the line about a model: its failures in a row, the error class of the last one, and
    `until` when others are asked before it, "" = they are not."""
    if not failures:
        return text("status.model", provider=provider, model=name)
    return text(
        "status.model-failed",
        count=failures,
        provider=provider,
        model=name,
        why=no_answer_because(last),
        cools=text("status.model-cools", until=until) if until else "",
    )


def problem_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines about what is wrong, the first of them."""
    shown = [text("status.problem", what=line) for line in lines[:_LISTED]]
    more = len(lines) - _LISTED
    return [*shown, text("status.more", count=more)] if more > 0 else shown
