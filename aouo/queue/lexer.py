"""Splits a command line; what a decision knows of this installation: packs and skills."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from aouo.facts.commands import USE, Takes, Words, meant
from aouo.facts.events import Button, Command, Content, Inbound
from aouo.facts.ports import ButtonSpec
from aouo.facts.taps import Tap
from aouo.facts.work import Act, Correction


@dataclass(frozen=True, slots=True)
class Phrased:
    """What a text does without a model: an act of a pack, "" = of none; or what is asked back; or
    the kind of small talk that it is, with its language."""

    pack: str = ""
    act: Act | None = None
    back: str = ""
    options: tuple[tuple[ButtonSpec, ...], ...] = ()
    talk: tuple[str, str] = ("", "")
    tied: tuple[tuple[str, Act], ...] = ()
    """Acts of several packs that take the words, each with its pack, as the options are: that is
    meant whose row there is, or else that of the pack that acted last."""
    command: str = ""
    """The command that the words stand for."""
    correction: Correction | None = None
    """What the words correct, if the last act fits."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What a decision knows of this installation.

    `skills` maps the command of a skill to its qualified name; `workflows` are the qualified
    names of all skills; `commands` maps a command that the owner added to what it takes. `actions`
    maps an action, by `pack:name` and by its command, to `pack:name`; `phrases` says what a text
    does without a model.
    """

    packs: tuple[str, ...] = ()
    skills: Mapping[str, str] = field(default_factory=dict[str, str])
    workflows: frozenset[str] = frozenset()
    commands: Mapping[str, Takes] = field(default_factory=dict[str, Takes])
    actions: Mapping[str, str] = field(default_factory=dict[str, str])
    phrases: Callable[[Inbound, str], Phrased | None] = lambda inbound, active_pack: None
    default: str = ""
    """The pack that answers where none is chosen, "" = people are asked."""

    def named(self, title: str) -> str:
        """The pack that a topic's title names, "" = none."""
        return pack_of(title, self.packs)

    def workflow(self, name: str, active_pack: str) -> str:
        """Return the qualified name of the skill that a button names, "" = none.

        The active pack's skill comes first; a bare name means another pack's skill only if no
        pack is active and exactly one has it.
        """
        if active_pack and f"{active_pack}:{name}" in self.workflows:
            return f"{active_pack}:{name}"
        if name in self.workflows:
            return name
        found = [f"{pack}:{name}" for pack in self.packs if f"{pack}:{name}" in self.workflows]
        return found[0] if len(found) == 1 and not active_pack else ""


def pack_of(title: str, packs: Iterable[str]) -> str:
    """The pack that a topic's title names, "" = none."""
    wanted = title.strip().casefold()
    return next((pack for pack in packs if pack.casefold() == wanted), "")


_COMMAND = re.compile(r"/([A-Za-z0-9_-]{1,64})(?:@([A-Za-z0-9_]+))?(?:\s+|$)")
_DOUBLE = frozenset('"“”„')
_HYPHENS = ("--", "—")


def command(text: str) -> Command | None:
    """Return the command that `text` begins with, None = none; a slash in mid-text is none.

    `/name@bot` is accepted for any bot: the normaliser of updates decides whose command it is.
    """
    text = text.strip()
    found = _COMMAND.match(text)
    if not found:
        return None
    return Command(*meant(found[1].lower(), text[found.end() :].strip()), text)


def said(content: Content) -> Content:
    """Return the command that a tap on a button says; any other content as it is. A button that a
    model made chooses a pack, but says no command."""
    if not isinstance(content, Button):
        return content
    match content.tap:
        case Tap("pack", (name,)):
            return Command(USE.name, name, content.data)
        case Tap("command", (line,)) if not content.by_model:
            return command(f"/{line}") or content
        case _:
            return content


def words(rest: str) -> Words:
    """Split at white space; `'` and `"` group, a backslash escapes the next character; `'` after a
    letter is an apostrophe.

    Phones make `“` and `”` of quotes and `—` of two hyphens while somebody types: they mean the
    same.

    Raises:
        ValueError: a quote is not closed, or a backslash is last; says which.
    """
    args: list[str] = []
    flags: dict[str, str] = {}
    pending = ""
    tokens = _tokens(rest)
    for word, quoted in tokens:
        flag = "" if quoted else _flag(word)
        if flag:
            if pending:
                flags[pending] = "true"
            name, given, value = flag.partition("=")
            pending = "" if given else name.lower()
            if given:
                flags[name.lower()] = value or "true"
        elif pending:
            flags[pending] = word
            pending = ""
        else:
            args.append(word)
    if pending:
        flags[pending] = "true"
    return Words(tuple(args), flags, tuple(word for word, _ in tokens))


def _flag(word: str) -> str:
    """Return what stands after the hyphens of a flag, "" = it is none."""
    return next((word.removeprefix(sign) for sign in _HYPHENS if word.startswith(sign)), "")


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the words, each with whether it begins with a quote."""
    found: list[tuple[str, bool]] = []
    word, quote, quoted, escaped, begun = "", "", False, False, False
    for sign in text:
        if escaped:
            word, escaped = word + sign, False
        elif sign == "\\":
            escaped, begun = True, True
        elif quote:
            ends = sign == quote or {sign, quote} <= _DOUBLE
            quote, word = ("", word) if ends else (quote, word + sign)
        elif (sign == "'" and not word[-1:].isalnum()) or sign in _DOUBLE:
            quote, quoted, begun = sign, quoted or not begun, True
        elif sign.isspace():
            if begun:
                found.append((word, quoted))
            word, quoted, begun = "", False, False
        else:
            word, begun = word + sign, True
    if quote:
        raise ValueError(f"the quote {quote} is not closed")
    if escaped:
        raise ValueError("a backslash at the end escapes nothing")
    if begun:
        found.append((word, quoted))
    return found
