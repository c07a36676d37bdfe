"""Words where a conversation stands: its pack, its session, what is at work and what waits."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts import notices
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words.saying import say

STOPPED_TURN = "Stopped."
OTHERS_TURN = "I am answering somebody else: only they and the owner can stop that."


def greeting(notice: notices.Greeting) -> str:
    """Answer /start."""
    if not notice.packs:
        return (
            "Hello! I am aouo. No pack is installed yet, so I just answer. "
            "The owner adds one with /install."
        )
    names = ", ".join(shown for _, shown in notice.packs)
    here = f" “{notice.active}” answers here." if notice.active else ""
    return f"Hello! I am aouo. Installed: {names}.{here} Just write, or see /help."


def commands(notice: notices.Help) -> str:
    """List the commands that are known here."""
    lines = [f"/{name} – {text}" for name, text in notice.commands]
    if notice.skills:
        lines += ["", "In this pack:", *(f"/{name} – {text}" for name, text in notice.skills)]
    return "\n".join(lines)


def whereabouts(notice: notices.Whereabouts) -> str:
    """Answer /whereami."""
    lines = [
        f"Platform: {notice.platform}",
        f"Chat: {notice.chat_id}",
        *([f"Topic: {notice.thread_id or 'none'}"] if notice.platform == "tg" else []),
        f"Pack: {notice.pack or 'none chosen'}",
        f"Skill: {notice.skill or 'none'}",
        f"Session: {notice.session or 'none yet'}",
        f"Installed packs: {', '.join(notice.installed) or 'none'}",
        *(["Off the record: nothing is kept. /otr ends it."] if notice.off_record else []),
    ]
    return "\n".join(lines)


def picker(notice: notices.Picker) -> Rendered:
    """Return the list to choose a pack from."""
    if notice.gone and not notice.packs:
        return say(f"The pack “{notice.gone}” is not installed any more, and there is no other.")
    if notice.gone:
        head = f"The pack “{notice.gone}” is not installed any more. Which one shall answer here?"
    elif notice.current:
        head = f"“{notice.current}” answers here. Tap another one to change it."
    elif not notice.packs:
        return say(no_such_pack("", ()))
    else:
        head = "Which pack shall answer here?"
    if notice.hello:
        head = f"Hello! I am aouo. {head}"
    if notice.waiting:
        head += " Your message waits and is answered as soon as you choose."
    lines = [
        f"{shown} – {about}" if about else shown
        for (_, shown), about in zip(notice.packs, notice.about, strict=False)
    ]
    head = "\n".join([head, *lines])
    rows = [
        [ButtonSpec(f"✓ {shown}" if name == notice.current else shown, encode("pack", name))]
        for name, shown in notice.packs
    ]
    return say(head, *rows)


def no_such_pack(name: str, packs: Sequence[str]) -> str:
    """Say which packs there are instead."""
    if not packs:
        return "No pack is installed. The owner adds one with /install."
    return f"There is no pack “{name}”. Installed: {', '.join(packs)}."


def sessions(notice: notices.Sessions) -> Rendered:
    """Return the earlier sessions, each with its button."""
    if not notice.items:
        return say("There is no earlier session here.")
    rows = [
        [
            ButtonSpec(
                f"{'✓ ' if session == notice.current else ''}{title or 'untitled'} · {when[:10]}",
                encode("command", f"sessions {session.rpartition('/')[2]}"),
            )
        ]
        for session, title, when, _ in notice.items
    ]
    return say("Earlier sessions here, newest first. Tap one to go back to it.", *rows)


def stopped(notice: notices.Stopped) -> str:
    """Answer /stop."""
    some = "1 message" if notice.dropped == 1 else f"{notice.dropped} messages"
    waiting = f"{some} that waited will not be answered." if notice.dropped else ""
    if notice.running and not notice.may:
        mine = f"{some} of yours that waited will not be answered." if notice.dropped else ""
        return f"{OTHERS_TURN} {mine}".strip()
    if notice.running:
        return f"{STOPPED_TURN} {waiting}".strip()
    return waiting or "Nothing is running here."


def waits(notice: notices.Waits) -> str:
    """Say why a message waits, and what ends that."""
    if notice.question and not notice.command:
        return (
            "This is no answer to my question above, so it waits until you tap or write one; "
            "/stop ends both."
        )
    what = "you have answered my question above" if notice.question else "I have answered what came"
    before = "" if notice.question else " before it"
    ends = "; /stop ends both" if notice.stops else ""
    return f"/{notice.command} waits until {what}{before}{ends}."
