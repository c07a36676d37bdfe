"""The commands that every installation has: name, menu line, what it takes, what it bypasses."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from aouo.facts.languages import bundled

_NAME = re.compile(r"[a-z0-9_]{1,32}")
_Bypass: TypeAlias = Literal["never", "stopping", "looking", "leaving"]
"""When a command does not wait for the turn that runs in its conversation: always, for it stops
that turn; when it only looks, which is always or with the first words that it `looks` with; while
a question is open, which it closes, with its turn."""


class Takes(Enum):
    """What a command makes of what follows it."""

    NOTHING = auto()  # it has no use for it
    WORDS = auto()  # the lexer splits it: quotes, `--key=value`
    TEXT = auto()  # all of it counts as it is written


@dataclass(frozen=True, slots=True)
class Words:
    """What follows a command: positional words, and `--flag value` or `--flag` as `true`.

    `all` has both in the order in which they were typed.
    """

    args: tuple[str, ...] = ()
    flags: dict[str, str] = field(default_factory=dict[str, str])
    all: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class TurnHints:
    """What a command gives to the turn that it lets run.

    `said` are the turn's words, "" = what followed the command; `skill` is qualified, "" = the
    session's. `fresh`: in a new session. `isolated`: in one for this turn only, beside the
    conversation, which gets the answer. `again`: with the words of the person's newest turn, which
    is taken back.
    """

    said: str = ""
    skill: str = ""
    fresh: bool = False
    isolated: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class PostAction:
    """What a command wants done in the commit of its turn: a registered kind, and JSON for it."""

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Carried:
    """What a command that ran leaves to its job's turn; stored with the job.

    Jobs that try that turn again have it too: the post-action is done by the first that is
    answered. `command` is the job of the command then, 0 = this is it.
    """

    hints: TurnHints
    post_action: PostAction | None = None
    command: int = 0

    def dump(self) -> str:
        """Return it as JSON.

        Raises:
            TypeError, ValueError: the arguments of the post-action are no JSON.
        """
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def load(cls, text: str) -> Carried:
        """Read what `dump` wrote.

        Raises:
            ValueError, TypeError, LookupError: it is something else.
        """
        fields = json.loads(text)
        action = fields["post_action"]
        hints, command = TurnHints(**fields["hints"]), int(fields.get("command", 0))
        return cls(hints, PostAction(**action) if action else None, command)


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One built-in command; the catalogue of sentences describes it.

    `only_on` is the one platform where it means something, "" = it does everywhere; typed
    elsewhere it says so. `looks` are first words ("" = it came alone), empty = any.
    """

    name: str
    bypass: _Bypass = "never"
    takes: Takes = Takes.NOTHING
    only_on: str = ""
    looks: tuple[str, ...] = ()

    def bypasses(self, rest: str, *, asked: bool) -> bool:
        """Whether it runs without waiting; `rest` follows it, `asked`: a question is open."""
        match self.bypass:
            case "never":
                return False
            case "stopping":
                return True
            case "looking":
                return not self.looks or "".join(rest.split()[:1]).lower() in self.looks
            case "leaving":
                return asked

    @property
    def ends_burst(self) -> bool:
        """Whether it ends the burst that gathers, so that later words do not join earlier ones."""
        return self.bypass in ("stopping", "leaving")


def _by_name(entries: Iterable[CommandEntry]) -> Mapping[str, CommandEntry]:
    """Return the entries by name, in their order.

    Raises:
        ValueError: two entries share a name, or Telegram does not accept it.
    """
    found: dict[str, CommandEntry] = {}
    for entry in entries:
        if entry.name in found or not _NAME.fullmatch(entry.name):
            raise ValueError(f"command {entry.name!r} is taken or misspelt")
        found[entry.name] = entry
    return MappingProxyType(found)


COMMANDS = _by_name(
    CommandEntry(
        name,
        row.get("bypass", "never"),
        Takes[row.get("takes", "NOTHING")],
        row.get("only_on", ""),
        tuple(row.get("looks", ())),
    )
    for name, row in bundled("aouo.facts", "commands.yml").items()
)
MENU, PACK, USE, STOP, RETRY, INSTALL, OTR = map(
    COMMANDS.__getitem__, ("menu", "pack", "use", "stop", "retry", "install", "otr")
)


def offered(platform: str) -> list[CommandEntry]:
    """Return the commands that mean something on a platform, in their order."""
    return [entry for entry in COMMANDS.values() if entry.only_on in ("", platform)]


_ALIASES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"cron_add": ("cron", "add"), "cron_list": ("cron", ""), "cron_remove": ("cron", "remove")}
)
"""Other names of commands: which command, and its first word; the rest is kept after a word."""


def meant(name: str, rest: str) -> tuple[str, str]:
    """Return a command's own name, and what follows it, for one that may be typed as an alias."""
    if found := _ALIASES.get(name.replace("-", "_")):
        return found[0], f"{found[1]} {rest}".strip() if found[1] else ""
    return name, rest


def check_handled(handlers: Collection[str]) -> None:
    """Check that exactly the commands have a handler, but for `/retry`, which is a turn.

    Raises:
        ValueError: names the commands without a handler, and the handlers without a command.
    """
    if wrong := (COMMANDS.keys() - {RETRY.name}) ^ set(handlers):
        raise ValueError(
            f"commands without a handler, or handlers without a command: {sorted(wrong)}"
        )
