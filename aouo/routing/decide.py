"""What to do with a fact: pure, one function for what is decided before the lane, one inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from aouo.events import (
    Album,
    Attached,
    Button,
    Command,
    Edited,
    Inbound,
    Intruder,
    Migrated,
    Reacted,
    Shown,
    Standing,
    Text,
    TopicNamed,
    TopicShut,
    Unsupported,
)

BYPASSING = frozenset({"stop", "id", "whereami", "help"})


@dataclass(frozen=True, slots=True)
class RunTurn:
    """Run a turn with this pack ("" = general mode); `skill` is qualified, "" = the session's.

    Of files, `said` are the words under them; what the files say is found out before the turn.
    `again`: with the words of the session's newest turn, which is taken back. `off_record`: these
    words are not kept, whatever the conversation's mode is. `fresh`: in a session of its own.
    """

    pack: str
    said: str
    skill: str = ""
    again: bool = False
    off_record: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class PickPack:
    """Several packs and none chosen, or the chosen one (`gone`) is not loaded: ask."""

    available: tuple[str, ...]
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ObeyCommand:
    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class RefuseCommand:
    """A command nobody knows; or a skill of `pack`, while another pack is active here."""

    name: str
    pack: str = ""


@dataclass(frozen=True, slots=True)
class BindPack:
    """Bind this conversation to the pack that a person tapped."""

    pack: str


@dataclass(frozen=True, slots=True)
class NameTopic:
    """Remember what a topic is called, and bind it to the pack of that name, "" = there is none."""

    title: str
    pack: str


@dataclass(frozen=True, slots=True)
class ShutTopic:
    """Remember that a topic was closed; or, not `closed`, opened again."""

    closed: bool


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """An answer to an open question: a tap names gate and option, a text just answers."""

    gate_id: str = ""
    option: int = -1
    text: str = ""


@dataclass(frozen=True, slots=True)
class OpenMenu:
    """A button that needs no model; only one of `ours` does more than open a page."""

    key: str
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Refuse:
    """Somebody who is not on the list."""

    tell_id: bool


@dataclass(frozen=True, slots=True)
class MoveChat:
    new_chat_id: str


@dataclass(frozen=True, slots=True)
class ApplyEdit:
    """Other words for a message that came before."""


@dataclass(frozen=True, slots=True)
class NoteReaction:
    """Somebody put something on a message, or took it away."""


@dataclass(frozen=True, slots=True)
class NoteStanding:
    """We were blocked, put out or muted in this chat, or are back."""

    standing: Standing


@dataclass(frozen=True, slots=True)
class Explain:
    """Tell the person that this kind of message cannot be taken in."""

    what: str


@dataclass(frozen=True, slots=True)
class Ignore:
    reason: str


Decision: TypeAlias = (
    RunTurn
    | PickPack
    | ObeyCommand
    | RefuseCommand
    | BindPack
    | NameTopic
    | ShutTopic
    | AnswerGate
    | OpenMenu
    | Refuse
    | MoveChat
    | ApplyEdit
    | NoteReaction
    | NoteStanding
    | Explain
    | Ignore
)


@dataclass(frozen=True, slots=True)
class Installed:
    """What a decision knows of this installation.

    `skills` maps the command of a skill to its qualified name; `commands` are our own, and
    `workflows` the qualified names of all skills.
    """

    packs: tuple[str, ...] = ()
    skills: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: frozenset[str] = frozenset()
    workflows: frozenset[str] = frozenset()

    def named(self, title: str) -> str:
        """The pack that a topic's title names, "" = none."""
        wanted = title.strip().casefold()
        return next((pack for pack in self.packs if pack.casefold() == wanted), "")

    def workflow(self, name: str, active_pack: str) -> str:
        """The skill that a button names, qualified: the active pack's own come before all others,
        and a bare name means another pack's only where no pack is chosen and one has it."""
        if active_pack and f"{active_pack}:{name}" in self.workflows:
            return f"{active_pack}:{name}"
        if name in self.workflows:
            return name
        found = [f"{pack}:{name}" for pack in self.packs if f"{pack}:{name}" in self.workflows]
        return found[0] if len(found) == 1 and not active_pack else ""


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """What is decided before the lane; see `queue.inbox.Policy`."""

    installed: Installed

    def concerns_us(self, inbound: Inbound, active_pack: str) -> bool:
        """Group talk is ours inside a topic that has a pack, or by its title gets one."""
        in_topic = bool(inbound.address.thread_id)
        return inbound.addressed or (
            in_topic and bool(active_pack or self.installed.named(inbound.title))
        )

    def lane_of(self, inbound: Inbound, *, answers_gate: bool) -> str:
        """Everything waits in its conversation's lane, but refusals, `/stop`, answers and reads."""
        lane = inbound.address.lane
        match inbound.content:
            case Intruder():
                return f"!refuse:{lane}"
            case Command(name) | Attached(command=Command(name)) | Album(command=Command(name)) if (
                name in BYPASSING
            ):
                return f"!{lane}"
            case Button() as button if bypasses(button):
                return f"!{lane}"
            case Text() if answers_gate:
                return f"!{lane}"
            case Edited() | Reacted() | Standing() | Migrated() | TopicShut():
                return f"!{lane}"
            case _:
                return lane

    def counts_once(self, button: Button) -> bool:
        """What was asked is answered once, and so are offers: a second tap is told so."""
        return button.data.startswith(("choice_", "approval_", "nav:budget_", "nav:edited_"))


def bypasses(button: Button) -> bool:
    """Answers to questions, and reads, do not wait behind a running turn."""
    if button.by_model or button.lost:
        return False
    return button.data.startswith(
        ("choice_", "approval_", "nav:again_", "nav:budget_", "nav:edited_")
    )


def decide(
    inbound: Inbound, active_pack: str, installed: Installed, *, answers_gate: bool = False
) -> Decision:
    """Choose what to do with `inbound`.

    A conversation stays with its pack until a person moves it, so a pack that is gone asks
    again and never falls through to another one.
    """
    match inbound.content:
        case Intruder(asked_id):
            return Refuse(asked_id)
        case Migrated(new_chat_id):
            return MoveChat(new_chat_id)
        case TopicNamed() if not inbound.address.thread_id:
            return Ignore("General is the forum itself, whatever it is called")
        case TopicNamed(title):
            return NameTopic(title, installed.named(title))
        case TopicShut(closed):
            return ShutTopic(closed)
        case Edited():
            return ApplyEdit()
        case Reacted():
            return NoteReaction()
        case Standing() as standing:
            return NoteStanding(standing)
        case Unsupported(what):
            return Explain(what)
        case (
            Command(name, rest)
            | Attached(command=Command(name, rest))
            | Album(command=Command(name, rest))
        ):
            return _command(name, rest, active_pack, installed)
        case Attached() | Album() as content:
            captions = "\n".join(item.caption for item in content.items if item.caption)
            return _turn(captions, active_pack or installed.named(inbound.title), installed)
        case Shown(line, about):
            said = "\n".join((*about, line))
            return _turn(said, active_pack or installed.named(inbound.title), installed)
        case Button() as button:
            return _tap(button, active_pack, installed)
        case Text(text) as content:
            if answers_gate:
                return AnswerGate(text=text)
            said = "\n".join((*content.about, text))
            return _turn(said, active_pack or installed.named(inbound.title), installed)
        case _:
            assert_never(inbound.content)


def _command(name: str, rest: str, active_pack: str, installed: Installed) -> Decision:
    turn = _turn(rest, active_pack, installed)
    if name == "retry" and isinstance(turn, RunTurn):
        return replace(turn, said="", again=True)
    if name == "otr" and rest.strip():
        return replace(turn, off_record=True) if isinstance(turn, RunTurn) else turn
    if name in installed.commands:
        return ObeyCommand(name, rest)
    skill = installed.skills.get(name, "") or installed.skills.get(name.replace("-", "_"), "")
    if not skill:
        return RefuseCommand(name)
    pack = skill.partition(":")[0]
    if active_pack and active_pack != pack:
        return RefuseCommand(name, pack)
    return RunTurn(pack, f"/{name} {rest}".strip(), skill)


def _tap(button: Button, active_pack: str, installed: Installed) -> Decision:
    """The tiers of callback data; the last one is a fresh inbound. Source: contract.

    A button that a model made may choose a pack or open a page, and nothing else of ours: what
    looks like an answer to one of our questions is only told to the model.
    """
    kind, found, rest = button.data.partition(":")
    if button.lost:
        return OpenMenu(button.data, ours=False)
    if kind == "pack" and found:
        return BindPack(rest)
    if kind == "nav" or button.data == "menu":
        return OpenMenu(rest or "main", ours=not button.by_model)
    if button.by_model:
        return _callback(button.data, active_pack, installed)
    if kind.startswith("choice_"):
        option = int(rest) if rest.isascii() and rest.isdigit() else -1
        return AnswerGate(kind.removeprefix("choice_"), option)
    if kind.startswith("approval_"):
        return AnswerGate(kind.removeprefix("approval_"), text=rest)
    return _callback(button.data, active_pack, installed)


def _callback(data: str, active_pack: str, installed: Installed) -> Decision:
    """Data that names a skill begins a session with it; anything else is heard as it is."""
    turn = _turn(f"[callback] {data}", active_pack, installed)
    skill = installed.workflow(data, active_pack)
    if not skill or (active_pack and not isinstance(turn, RunTurn)):
        return turn
    pack, _, name = skill.partition(":")
    if active_pack and active_pack != pack:
        return RefuseCommand(name, pack)
    return RunTurn(pack, f"[callback] {data}", skill, fresh=True)


def _turn(said: str, active_pack: str, installed: Installed) -> Decision:
    if active_pack in installed.packs:
        return RunTurn(active_pack, said)
    if active_pack:
        return PickPack(installed.packs, gone=active_pack)
    if len(installed.packs) > 1:
        return PickPack(installed.packs)
    return RunTurn(installed.packs[0] if installed.packs else "", said)
