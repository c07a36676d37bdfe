"""Says what a text does without a model: by a phrase of a pack, or the runtime's own reminders."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo

from aouo.facts.events import Inbound, Text
from aouo.facts.ports import ButtonSpec, Clock
from aouo.facts.taps import encode
from aouo.facts.work import Act
from aouo.flow.talking import heard
from aouo.packs.actions import slots
from aouo.packs.actions.phrases import Match, Phrase, Phrases
from aouo.packs.actions.slots import Here
from aouo.packs.library import Library
from aouo.packs.settings import PersonValues
from aouo.plumbing.zones import zone_of
from aouo.queue.lexer import Phrased
from aouo.words.catalogue import text

_OURS = "~"
_REMINDED = ("remind me ", "remind me to ", "erinnere mich ", "erinnere mich an ")
_FEW = 4
"""So many words may be an amount and what it was for."""
_WHEN = {"text": "text", "when": "datetime"}
_SPAN = {"span": "duration"}
_EVERY = {"text": "text", "when": "recurrence"}
_REMINDERS: Mapping[str, Sequence[str]] = {
    "en": (
        "[please] remind me {when} to {text}",
        "[please] remind me to {text} {when}",
        "[please] remind me {when} (that|about|of|:) {text}",
        "[please] remind me (about|of) {text} {when}",
        "[please] remind me {when}[,] {text}",
        "(don't forget|remember)[,] {when} [to] {text}",
        "set a reminder [for] {when} (to|:|for) {text}",
        "set a reminder to {text} {when}",
        "{when} remind me (to|about|of|that) {text}",
        "(ping|nudge|alert) me {when} (to|about) {text}",
        "(don't let me forget|don't forget|remember) [to|about] {text} {when}",
        "{when}: {text}",
        "[new|add|set] [a] reminder[:] [to|for] {text} {when}",
        "[new|add|set] [a] reminder {when} (to|:|for) {text}",
        "[new|add|set] [a] reminder {when} {text}",
    ),
    "de": (
        "[bitte] erinnere mich {when} (an|an das|:|dass) {text}",
        "[bitte] erinnere mich {when} daran[,] {text}",
        "[bitte] erinnere mich (an|an das) {text} {when}",
        "[bitte] erinnere mich daran[,] {text} {when}",
        "[bitte] erinnere mich {when} [daran][,] {text}",
        "[neue] erinnerung[:] [an|für] {text} {when}",
        "[neue] erinnerung [für] {when} (:|an) {text}",
        "[neue] erinnerung {when} {text}",
        "[bitte] erinnere mich daran[,] {when} {text}",
        "(vergiss nicht|denk daran)[,] {text} {when}",
        "(vergiss nicht|denk daran)[,] {when} {text}",
        "erinnere mich {when}[,] {text}",
        "mich {when} daran erinnern[,] {text}",
        "mich {when} (an|daran) {text} (erinnern|zu erinnern)",
        "{when}: {text}",
    ),
}
_ALARMS: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": (
        ("wake me [up] {when}", "Wake up"),
        ("[set] [an] alarm [for|at] {when}", "Alarm"),
        ("[set] [a] timer [for|of] {span}", "Time is up"),
    ),
    "de": (
        ("weck mich {when}", "Aufwachen"),
        ("[stell] [einen|den] wecker [auf|für|um] {when}", "Wecker"),
        ("[stell] [einen|den] timer [auf|für] {span}", "Die Zeit ist um"),
    ),
}


_COMMANDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "undo": {
        "en": ("undo [that|it|this|the last one]", "(take|put) (that|it) back", "revert [that|it]"),
        "de": ("(mach|mache) [das] rückgängig", "rückgängig [machen]", "nimm [das] zurück"),
    },
}
"""Words that stand for a command."""


def _ours() -> list[Phrase]:
    commands = [
        Phrase(_OURS, command, pattern, language)
        for command, spoken in _COMMANDS.items()
        for language, patterns in spoken.items()
        for pattern in patterns
    ]
    return (
        commands
        + [
            Phrase(_OURS, action, pattern, language, kinds=kinds)
            for language, patterns in _REMINDERS.items()
            for pattern in patterns
            for action, kinds in (("once", _WHEN), ("again", _EVERY))
        ]
        + [
            Phrase(_OURS, "once", pattern, language, {"text": said}, {**_WHEN, **_SPAN})
            for language, patterns in _ALARMS.items()
            for pattern, said in patterns
        ]
    )


@dataclass(slots=True, eq=False)
class Phrasing:
    """Knows the phrases of what is installed now; they are compiled when they are first needed."""

    clock: Clock
    zone: Callable[[], tzinfo]
    zones: PersonValues
    library: Callable[[], Library]
    muted: Callable[[], Collection[str]]
    """Packs whose phrases do nothing, `*` = none does."""
    answers: Callable[[str], bool]
    """Whether a model answers small talk with this pack; "" = none is chosen."""
    _known: tuple[Library, Phrases] | None = field(init=False, default=None)

    def __call__(self, inbound: Inbound, active_pack: str) -> Phrased | None:
        """Return what this text does, None = it is no phrase.

        In a private chat the phrases of all packs count, elsewhere those of the pack at hand.
        """
        content, library = inbound.content, self.library()
        if not isinstance(content, Text) or "*" in self.muted():
            return None
        here, packs = self._here(inbound), self._packs(inbound, active_pack)
        found = self._phrases(library).match(content.text, here, (*packs, _OURS))
        if not found:
            return self._talk(content.text, here, active_pack)
        best = found[0]
        tied = [one for one in found if one.rank == best.rank]
        own = [one for one in tied if one.phrase.pack == active_pack]
        if best.misread:
            return Phrased(back=text(best.misread.why, **best.misread.parts))
        if len(tied) > 1 and len(own) != 1:
            return Phrased(back=text("actions.which"), options=self._options(tied, library, here))
        chosen = own[0] if own else best
        if chosen.phrase.action in _COMMANDS and chosen.phrase.pack == _OURS:
            return Phrased(command=chosen.phrase.action)
        if chosen.phrase.pack == _OURS:
            act = _reminder(chosen, here, self.zones.of(inbound.person.id))
            return Phrased(_may_remind(library, active_pack), act=act)
        tool = f"{chosen.phrase.pack}__{chosen.phrase.action}"
        return Phrased(chosen.phrase.pack, Act(tool, _arguments(chosen)))

    def stops(self, inbound: Inbound) -> bool:
        """Whether a text only says that something shall stop, or that it is not wanted."""
        content = inbound.content
        if not isinstance(content, Text):
            return False
        return heard(content.text, self._here(inbound))[0] in ("stop", "halt")

    def _talk(self, said: str, here: Here, active_pack: str) -> Phrased | None:
        if self.answers(active_pack):
            return None
        talk = heard(said, here)
        if talk[0] == "clock":
            _, day, time = slots.say("datetime", here.now, here).split(", ")
            return Phrased(back=text("talk.clock", time=time, day=day))
        kind = "stop" if talk[0] == "halt" else talk[0]
        return Phrased(talk=(kind, talk[1])) if kind else None

    def nearest(self, inbound: Inbound, active_pack: str) -> tuple[tuple[ButtonSpec, ...], ...]:
        """Return what these words could have meant, each a button with the words in it."""
        content, library, here = inbound.content, self.library(), self._here(inbound)
        if not isinstance(content, Text):
            return ()
        others = (name for name in self._packs(inbound, active_pack) if name != active_pack)
        packs, phrases = [*filter(None, (active_pack,)), *others], self._phrases(library)

        def keeps(phrase: Phrase) -> bool:
            """Whether words that are no question could be for this: it keeps something."""
            pack = library.get(phrase.pack)
            action = pack.declared.actions[phrase.action] if pack else None
            says = action and action.tool == "cron" and "text" in phrase.kinds
            return action is not None and bool(action.sql or says)

        few = len(content.text.split()) <= _FEW
        loose = phrases.match(content.text, here, packs, loosely=True)[:1] if few else []
        return self._options(
            [*self._timed(content.text, here, packs), *loose], library, here
        ) + tuple(
            (ButtonSpec(said[:60], _tap(one)),)
            for _, said in phrases.nearest(content.text, here, packs, fits=keeps)
            for one in phrases.match(said, here, packs)[:1]
        )

    def _timed(self, said: str, here: Here, packs: Sequence[str]) -> list[Match]:
        """Return words with a time in them as what a pack that reminds takes."""
        takes = {"text", "when"}
        for phrase in self._phrases(self.library()).phrases:
            if phrase.pack in packs and takes <= phrase.kinds.keys():
                for begin in _REMINDED:
                    for one in self._phrases(self.library()).match(begin + said, here, (_OURS,)):
                        if set(one.texts) == takes and not one.misread:
                            return [replace(one, phrase=phrase)]
                break
        return []

    def _here(self, inbound: Inbound) -> Here:
        named = self.zones.of(inbound.person.id)
        zone = zone_of(named) if named else self.zone()
        return Here(self.clock.now(), zone, inbound.person.language or "en")

    def _packs(self, inbound: Inbound, active_pack: str) -> tuple[str, ...]:
        apart = inbound.chat_kind == "private" and not inbound.address.thread_id
        packs, muted = self.library().names if apart else (active_pack,), self.muted()
        return () if "*" in muted else tuple(one for one in packs if one and one not in muted)

    def _phrases(self, library: Library) -> Phrases:
        if self._known is None or self._known[0] is not library:
            of_packs = [phrase for pack in library.packs.values() for phrase in pack.phrases]
            self._known = (library, Phrases([*of_packs, *_ours()]))
        return self._known[1]

    def _options(
        self, tied: Sequence[Match], library: Library, here: Here
    ) -> tuple[tuple[ButtonSpec, ...], ...]:
        """Return a button for each phrase of one rank, with the person's own words in it."""
        rows: list[tuple[ButtonSpec, ...]] = []
        for one in tied:
            pack = library.get(one.phrase.pack)
            if pack is None:
                continue
            name = pack.said(here.language, pack.manifest.display_name)
            title = pack.declared.actions[one.phrase.action].title
            label = f"{name}: {pack.said(here.language, title)}"
            rows.append((ButtonSpec(label[:60], _tap(one)),))
        return tuple(rows)


def _tap(match: Match) -> str:
    given = json.dumps(_arguments(match), ensure_ascii=False)
    return encode("act", f"{match.phrase.pack}.{match.phrase.action}:{given}")


def _arguments(match: Match) -> dict[str, object]:
    """Return the arguments as a call has them; an amount as it was said, with its currency."""
    kinds = match.phrase.kinds
    values = {
        name: match.texts[name]
        if kinds.get(name) == "money"
        else slots.stored(kinds.get(name, "text"), value)
        for name, value in match.values.items()
    }
    return {**match.phrase.given, **values}


def _reminder(match: Match, here: Here, zone: str) -> Act:
    span = match.values.get("span")
    when = here.now + span if isinstance(span, timedelta) else match.values["when"]
    schedule = when.astimezone(here.zone).isoformat() if isinstance(when, datetime) else str(when)
    said = match.texts.get("text") or str(match.phrase.given["text"])
    said = said[:1].upper() + said[1:]
    named = {"timezone": zone} if zone else {}
    return Act("cron", {"action": "create", "schedule": schedule, "say": said, **named})


def _may_remind(library: Library, active_pack: str) -> str:
    """Return the pack that a reminder belongs to: that at hand, if it may have schedules."""
    pack = library.get(active_pack)
    allowed = pack is not None and pack.manifest.permissions.cron
    return active_pack if pack and allowed and "cron" in pack.manifest.permissions.tools else ""
