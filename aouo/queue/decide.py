"""Decides what to do with a fact: before the lane whether it bypasses, in the lane what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from aouo.facts import commands, events
from aouo.facts.address import Lane
from aouo.facts.taps import Tap
from aouo.facts.work import Act
from aouo.guard.targets import as_said
from aouo.plumbing.web.envelope import said_by
from aouo.queue import lexer
from aouo.queue.lexer import Installed, Phrased, pack_of


@dataclass(frozen=True, slots=True)
class RunTurn:
    """Run a turn with this pack ("" = general mode); `skill` is qualified, "" = the session's.

    `said` are the words, of files their captions; what the files say is read before the turn.
    `again`: answer the words of this person's newest turn in the session, which is taken back.
    `off_record`: these words are not kept, whatever the conversation's mode is. `fresh`: in a
    new session. `act`: what it does without a model, beside the conversation's pack, which stays.
    """

    pack: str
    said: str
    skill: str = ""
    again: bool = False
    off_record: bool = False
    fresh: bool = False
    act: Act | None = None


@dataclass(frozen=True, slots=True)
class PickPack:
    """Ask for a pack: several are installed and none is chosen, or the chosen one is `gone`."""

    available: tuple[str, ...]
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ObeyCommand:
    """Carry out a command; `rest` is what follows it, `words` are the same, split."""

    name: str
    rest: str
    words: commands.Words = field(default_factory=commands.Words)


@dataclass(frozen=True, slots=True)
class RefuseCommand:
    """Refuse an unknown command, or that of a skill of `pack` while another pack is active, or one
    whose words cannot be split: `why` is the reason."""

    name: str
    pack: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class NameTopic:
    """Remember what a topic is called, and bind it to the pack of that name, "" = there is none."""

    title: str
    pack: str


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """Answer a gate with these words, "" = the person's open question here."""

    text: str
    gate_id: str = ""


@dataclass(frozen=True, slots=True)
class Ignore:
    reason: str


Decision: TypeAlias = (
    RunTurn
    | PickPack
    | ObeyCommand
    | RefuseCommand
    | NameTopic
    | AnswerGate
    | Tap
    | Phrased
    | Ignore
    | events.Noted
)
"""What is only noted leads to its handler as it is, and so does a tap on our own buttons."""


_FILE = "file"
"""Follows a command that came with one: it does not come alone."""


def concerns_us(inbound: events.Inbound, active_pack: str, packs: Iterable[str]) -> bool:
    """Whether a message is ours: addressed to us, or in a topic with a pack's route or name; not a
    word of other group talk is stored."""
    in_topic = bool(inbound.address.thread_id)
    return inbound.addressed or (in_topic and bool(active_pack or pack_of(inbound.title, packs)))


def lane_of(inbound: events.Inbound, answers_gate: bool = False) -> Lane:
    """Return the conversation's lane, or its bypass for what must not wait: refusals, `/stop`,
    answers, taps that only read, and facts about messages and chats.
    What a trigger begins has a lane of its own.

    `answers_gate`: a question to this person is open there.
    """
    lane = inbound.address.lane
    match lexer.said(inbound.content):
        case events.Intruder():
            return lane.refusals
        case events.Triggered(trigger):
            return Lane(f"{inbound.origin}:{trigger}")
        case events.Command(name, rest) if _hurries(name, rest, asked=answers_gate):
            return lane.bypass
        case (
            events.Attached(command=events.Command(name))
            | events.Album(command=events.Command(name))
        ) if _hurries(name):
            return lane.bypass
        case events.Button(bypasses=True):
            return lane.bypass
        case events.Text(answers=gate_id) if answers_gate or gate_id:
            return lane.bypass
        case events.Report(due_at=due, sent=False) if due:
            return lane.bypass  # a reminder comes at its minute, whatever runs there
        case (
            events.Edited()
            | events.Reacted()
            | events.DraftStopped()
            | events.Standing()
            | events.Migrated()
            | events.TopicShut()
        ):
            return lane.bypass
        case _:
            return lane


def _hurries(name: str, rest: str = _FILE, *, asked: bool = False) -> bool:
    """Whether a command bypasses the lane; one with a file is never `asked`."""
    entry = commands.COMMANDS.get(name)
    return entry is not None and entry.bypasses(rest, asked=asked)


def decide(
    inbound: events.Inbound,
    active_pack: str,
    installed: Installed,
    *,
    answers_gate: bool = False,
    hints: commands.TurnHints | None = None,
) -> Decision:
    """Choose what to do with `inbound`; `hints` are left by its command, which ran already. For
    an isolated turn the command is obeyed once more: what it left is carried out where it can be.

    A conversation stays with its pack until a person moves it, so a pack that is gone asks
    again and never falls through to another one.
    """
    if hints is not None and not hints.isolated:
        return _hinted(hints, active_pack, installed)
    said = lexer.said(inbound.content)
    if isinstance(said, events.Noted):
        return said
    match said:
        case events.TopicNamed() if not inbound.address.thread_id:
            return Ignore("General is the forum itself, whatever it is called")
        case events.TopicNamed(title):
            return NameTopic(title, installed.named(title))
        case (
            events.Command(name, rest)
            | events.Attached(command=events.Command(name, rest))
            | events.Album(command=events.Command(name, rest))
        ):
            if hints is not None:
                return ObeyCommand(name, rest)
            return _command(name, rest, active_pack, installed)
        case events.Attached(item, about=(), command=None) if item.is_pack and not answers_gate:
            return ObeyCommand(commands.INSTALL.name, "")
        case events.Attached() | events.Album() as content:
            captions = "\n".join(item.caption for item in content.items if item.caption)
            return _turn(captions, active_pack or installed.named(inbound.title), installed)
        case events.Shown(line, about, theirs):
            shown = "\n".join((*about, said_by(theirs, line)))
            return _turn(shown, active_pack or installed.named(inbound.title), installed)
        case events.Button(tap=Tap("fix", (call, words)), by_model=False):
            typed = replace(inbound, content=events.Text(words))
            phrased = installed.phrases(typed, active_pack)
            if phrased is None or phrased.correction is None:
                return Tap("old", (words,))
            return replace(phrased, correction=replace(phrased.correction, of=call))
        case events.Button() as button:
            return _tap(button, active_pack, installed)
        case events.Triggered() as run:
            act = Act(f"{run.pack}__{run.act}") if run.act else None
            return RunTurn(run.pack, "\n".join((*run.about, run.prompt)), run.skill, act=act)
        case events.Text(text) as content:
            if answers_gate or content.answers:
                return AnswerGate(text, content.answers)
            if phrased := _phrase(content, inbound, active_pack, installed):
                return phrased
            return _turn(_words(content), active_pack or installed.named(inbound.title), installed)
        case _:
            assert_never(said)


def _phrase(
    content: events.Text, inbound: events.Inbound, active_pack: str, installed: Installed
) -> RunTurn | Phrased | ObeyCommand | None:
    """Decide on a text that is a phrase; one that quotes or is passed on never is."""
    if content.about or content.parts or content.theirs:
        return None
    found = installed.phrases(inbound, active_pack)
    if found is None or found.act is None:
        return ObeyCommand(found.command, "") if found and found.command else found
    return RunTurn(found.pack, content.text, act=found.act)


def _words(content: events.Text) -> str:
    """Return a text as its turn reads it; forwarded words stand between marks."""
    parts = content.parts or (events.Part(0, content.text, content.about, content.theirs),)
    return "\n".join((*content.about, *(as_said(part.theirs, part.text) for part in parts)))


def _command(name: str, rest: str, active_pack: str, installed: Installed) -> Decision:
    entry = commands.COMMANDS.get(name)
    if entry is not None:
        return _obeyed(entry, rest, _turn(as_said("", rest), active_pack, installed))
    for spelled in (name, name.replace("-", "_")):
        if takes := installed.commands.get(spelled):
            return _split(spelled, rest, takes)
        if action := installed.actions.get(spelled):
            return _acting(action, f"/{name} {rest}".strip(), {"": rest} if rest else {})
        if skill := installed.skills.get(spelled):
            return _hinted(
                commands.TurnHints(f"/{name} {as_said('', rest)}".strip(), skill),
                active_pack,
                installed,
                name,
            )
    return RefuseCommand(name)


def _obeyed(entry: commands.CommandEntry, rest: str, turn: Decision) -> Decision:
    """Decide on a built-in command: `ObeyCommand`, or the turn that it runs."""
    if entry is commands.RETRY:
        if isinstance(turn, RunTurn):
            return replace(turn, said="", again=True)
        return ObeyCommand(
            commands.PACK.name, ""
        )  # nothing is answered again before a pack is chosen
    if entry is commands.OTR and rest.strip():
        return replace(turn, off_record=True) if isinstance(turn, RunTurn) else turn
    return _split(entry.name, rest, entry.takes)


def _split(name: str, rest: str, takes: commands.Takes) -> Decision:
    if takes is not commands.Takes.WORDS:
        return ObeyCommand(name, rest)
    try:
        return ObeyCommand(name, rest, lexer.words(rest))
    except ValueError as error:
        return RefuseCommand(name, why=str(error))


def _hinted(
    hints: commands.TurnHints, active_pack: str, installed: Installed, name: str = ""
) -> Decision:
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


def _tap(button: events.Button, active_pack: str, installed: Installed) -> Decision:
    """Decide on a tap by the kind of its callback data. Source: contract."""
    if button.tap.name == "act" and not button.by_model:
        return _act(button, installed) or Tap("old", (button.data,))
    if not button.speaks:
        return button.tap
    return _callback(button.data, active_pack, installed)


def _act(button: events.Button, installed: Installed) -> RunTurn | None:
    """Return the turn of a tap on an action, None = the pack that drew it has none of the name. A
    row that a page names is a key; our own buttons hold a person's words."""
    name, _, rest = button.tap.values[0].partition(":")
    name, _, seal = name.partition("@")
    drawn_by, _, own = name.rpartition(".")  # of our own button: which pack is meant
    pack, name = (drawn_by, own) if drawn_by else (button.pack, name)
    if f"{pack}:{name}" not in installed.actions:
        return None
    try:
        given = json.loads(rest) if rest.startswith("{") else {"": rest} if rest else {}
    except ValueError:
        given = {"": rest}
    turn = _acting(f"{pack}:{name}", f"[tap] {button.label}", given)
    assert turn.act
    return replace(turn, act=replace(turn.act, by_key=not drawn_by, seal=seal))


def _acting(action: str, said: str, given: Mapping[str, object]) -> RunTurn:
    pack, _, name = action.partition(":")
    return RunTurn(pack, said, act=Act(f"{pack}__{name}", given))


def _callback(data: str, active_pack: str, installed: Installed) -> Decision:
    """Begin a session with the skill that the data names; other data is a turn's words."""
    skill = installed.workflow(data.removeprefix("skill:"), active_pack)
    return _hinted(
        commands.TurnHints(f"[callback] {data}", skill, fresh=bool(skill)), active_pack, installed
    )


def _turn(said: str, active_pack: str, installed: Installed) -> Decision:
    if active_pack in installed.packs:
        return RunTurn(active_pack, said)
    if active_pack:
        return PickPack(installed.packs, gone=active_pack)
    if installed.default in installed.packs:
        return RunTurn(installed.default, said)
    if len(installed.packs) > 1:
        return PickPack(installed.packs)
    return RunTurn(installed.packs[0] if installed.packs else "", said)
