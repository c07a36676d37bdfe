"""Decides in the lane what to do with a fact: pure."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from aouo.facts.attachments import Attachment
from aouo.facts.commands import (
    COMMANDS,
    INSTALL,
    OTR,
    PACK,
    RETRY,
    CommandEntry,
    Takes,
    TurnHints,
)
from aouo.facts.events import (
    Album,
    Attached,
    Button,
    Command,
    Inbound,
    Noted,
    Part,
    Shown,
    Text,
    TopicNamed,
    Triggered,
)
from aouo.routing import lexer
from aouo.routing.decisions import (
    AnswerGate,
    Decision,
    Ignore,
    NameTopic,
    ObeyCommand,
    ObeyTap,
    PickPack,
    RefuseCommand,
    RunTurn,
)
from aouo.routing.installed import Installed
from aouo.web.envelope import forwarded


def decide(
    inbound: Inbound,
    active_pack: str,
    installed: Installed,
    *,
    answers_gate: bool = False,
    hints: TurnHints | None = None,
) -> Decision:
    """Choose what to do with `inbound`; `hints` are left by its command, which ran already. For
    an isolated turn the command is obeyed once more: what it left is carried out where it can be.

    A conversation stays with its pack until a person moves it, so a pack that is gone asks
    again and never falls through to another one.
    """
    if hints is not None and not hints.isolated:
        return _hinted(hints, active_pack, installed)
    said = lexer.said(inbound.content)
    if isinstance(said, Noted):
        return said
    match said:
        case TopicNamed() if not inbound.address.thread_id:
            return Ignore("General is the forum itself, whatever it is called")
        case TopicNamed(title):
            return NameTopic(title, installed.named(title))
        case (
            Command(name, rest)
            | Attached(command=Command(name, rest))
            | Album(command=Command(name, rest))
        ):
            if hints is not None:
                return ObeyCommand(name, rest)
            return _command(name, rest, active_pack, installed)
        case Attached(item, about=(), command=None) if _is_pack(item) and not answers_gate:
            return ObeyCommand(INSTALL.name, "")
        case Attached() | Album() as content:
            captions = "\n".join(item.caption for item in content.items if item.caption)
            return _turn(captions, active_pack or installed.named(inbound.title), installed)
        case Shown(line, about):
            shown = "\n".join((*about, line))
            return _turn(shown, active_pack or installed.named(inbound.title), installed)
        case Button() as button:
            return _tap(button, active_pack, installed)
        case Triggered() as run:
            return RunTurn(run.pack, "\n".join((*run.about, run.prompt)), run.skill)
        case Text(text) as content:
            if answers_gate or content.answers:
                return AnswerGate(text, content.answers)
            return _turn(_words(content), active_pack or installed.named(inbound.title), installed)
        case _:
            assert_never(said)


def _words(content: Text) -> str:
    """Return a text as its turn reads it; forwarded words stand between marks."""
    parts = content.parts or (Part(0, content.text, content.about),)
    return "\n".join((*content.about, *(forwarded(part.text, part.about) for part in parts)))


def _is_pack(item: Attachment) -> bool:
    """Whether this is a pack's file, sent without a word: it is to be installed."""
    return item.name.casefold().endswith(".aouo") and not (item.caption or item.referred)


def _command(name: str, rest: str, active_pack: str, installed: Installed) -> Decision:
    entry = COMMANDS.get(name)
    if entry is not None:
        return _obeyed(entry, rest, _turn(rest, active_pack, installed))
    for spelled in (name, name.replace("-", "_")):
        if takes := installed.commands.get(spelled):
            return _split(spelled, rest, takes)
        if skill := installed.skills.get(spelled):
            return _hinted(
                TurnHints(f"/{name} {rest}".strip(), skill), active_pack, installed, name
            )
    return RefuseCommand(name)


def _obeyed(entry: CommandEntry, rest: str, turn: Decision) -> Decision:
    """Decide on a built-in command: `ObeyCommand`, or the turn that it runs."""
    if entry is RETRY:
        if isinstance(turn, RunTurn):
            return replace(turn, said="", again=True)
        return ObeyCommand(PACK.name, "")  # nothing is answered again before a pack is chosen
    if entry is OTR and rest.strip():
        return replace(turn, off_record=True) if isinstance(turn, RunTurn) else turn
    return _split(entry.name, rest, entry.takes)


def _split(name: str, rest: str, takes: Takes) -> Decision:
    if takes is not Takes.WORDS:
        return ObeyCommand(name, rest)
    try:
        return ObeyCommand(name, rest, lexer.words(rest))
    except ValueError as error:
        return RefuseCommand(name, why=str(error))


def _hinted(hints: TurnHints, active_pack: str, installed: Installed, name: str = "") -> Decision:
    """Decide on a turn with hints; a skill of another pack is refused as `name`, "" = its own."""
    turn = _turn(hints.said, active_pack, installed)
    if not hints.skill:
        if not isinstance(turn, RunTurn):
            return turn
        return replace(turn, fresh=hints.fresh, again=hints.again)
    if active_pack and not isinstance(turn, RunTurn):
        return turn
    pack, _, own = hints.skill.partition(":")
    if active_pack and active_pack != pack:
        return RefuseCommand(name or own, pack)
    return RunTurn(pack, hints.said, hints.skill, fresh=hints.fresh, again=hints.again)


def _tap(button: Button, active_pack: str, installed: Installed) -> Decision:
    """Decide on a tap by the kind of its callback data. Source: contract."""
    if not button.speaks:
        return ObeyTap(button.tap)
    return _callback(button.data, active_pack, installed)


def _callback(data: str, active_pack: str, installed: Installed) -> Decision:
    """Begin a session with the skill that the data names; other data is a turn's words."""
    skill = installed.workflow(data.removeprefix("skill:"), active_pack)
    return _hinted(
        TurnHints(f"[callback] {data}", skill, fresh=bool(skill)), active_pack, installed
    )


def _turn(said: str, active_pack: str, installed: Installed) -> Decision:
    if active_pack in installed.packs:
        return RunTurn(active_pack, said)
    if active_pack:
        return PickPack(installed.packs, gone=active_pack)
    if len(installed.packs) > 1:
        return PickPack(installed.packs)
    return RunTurn(installed.packs[0] if installed.packs else "", said)
