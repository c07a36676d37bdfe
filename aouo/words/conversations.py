"""Says where a conversation stands: its pack, its session, what is at work and what waits."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.address import ConversationAddress
from aouo.facts.people import AT_HOME
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.facts.work import Route
from aouo.words.catalogue import message, say, text


def greeting(packs: Sequence[tuple[str, str]], active: str) -> Rendered:
    """Return the answer to `/start`; `packs` are (name, shown name), `active` "" = none is."""
    if not packs:
        return say("conversations.hello-no-pack")
    names = ", ".join(shown for _, shown in packs)
    if active:
        return say("conversations.hello-in", packs=names, pack=active)
    return say("conversations.hello", packs=names)


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


def picker(
    packs: Sequence[tuple[str, str]],
    *,
    current: str = "",
    gone: str = "",
    waiting: bool = False,
    about: Sequence[str] = (),
    hello: bool = False,
) -> Rendered:
    """Return the list to choose a pack from.

    `gone` is the bound pack if it is not installed any more; `waiting`: a message waits for the
    choice. `about` describes each pack, in their order, when it is shown for the first time;
    `hello`: it answers /start.
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
    if hello:
        head = text("conversations.pick-hello", question=head)
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
