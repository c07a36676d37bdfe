"""Says what a text does without a model: by a phrase of a pack, or the runtime's own reminders."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import cache
from itertools import product
from typing import cast

from aouo.facts import languages, times
from aouo.facts.events import Inbound, Text
from aouo.facts.letters import folded
from aouo.facts.ports import ButtonSpec, Clock
from aouo.facts.records import Effect
from aouo.facts.taps import encode
from aouo.facts.work import Act, Correction, Gate
from aouo.flow.talking import heard
from aouo.packs.actions import corrections, dated, offers, plans, several, slots, spending, spoken
from aouo.packs.actions.patterns import OPEN
from aouo.packs.actions.phrases import Match, Phrase, Phrases
from aouo.packs.actions.slots import Here
from aouo.packs.library import Library
from aouo.packs.settings import PersonValues
from aouo.plumbing.zones import zone_of
from aouo.queue.lexer import Phrased
from aouo.words.catalogue import text
from aouo.words.schedules import text_in_words

_OURS = "~"
_POINTER, _POINTING_WORDS = "Zzyzx", 8
"""What stands for a word that points, and how many blanks a text with one may have."""
_FEW, _HEAD_MAX = 4, 3
"""So many words may be an amount and what it was for."""
_OFFERS_MAX, _LABEL_CHARS = 3, 60
_REMINDS, _AHEAD, _FIND = ("once", "again"), "ahead", "find"
_WHEN = {"text": "text", "more": "text", "when": "datetime"}
_SPAN = {"span": "duration"}
_BEFORE = {"text": "text", "more": "text", "at": "datetime", "part": "datetime", **_SPAN}
_EVERY = {"text": "text", "more": "text", "when": "recurrence"}


def _ours() -> list[Phrase]:
    """Return the phrases of the runtime: commands, reminders, alarms."""
    phrases: list[Phrase] = []
    for language in languages.names():
        table = languages.table(language, "phrases")
        for command, patterns in table.get("commands", {}).items():
            phrases += (Phrase(_OURS, command, pattern, language) for pattern in patterns)
        for pattern in table.get("reminders", ()):
            for action, kinds in (("once", _WHEN), ("again", _EVERY)):
                phrases.append(Phrase(_OURS, action, pattern, language, kinds=kinds))
        for pattern in table.get("finding", ()):
            phrases.append(Phrase(_OURS, _FIND, pattern, language, kinds={"words": "text"}))
        for part, patterns in table.get("ahead", {}).items():
            fixed = {"part": part} if part else {}
            phrases += (Phrase(_OURS, _AHEAD, one, language, fixed, _BEFORE) for one in patterns)
        for alarm in table.get("alarms", ()):
            for pattern in alarm["phrases"]:
                fixed, kinds = {"text": alarm["say"]}, {**_WHEN, **_SPAN}
                phrases.append(Phrase(_OURS, "once", pattern, language, fixed, kinds))
    return phrases


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
        content = inbound.content
        if isinstance(content, Text) and "*" not in self.muted():
            correction = corrections.hear(content.text, self._here(inbound))
            if correction is None and self.pointing(inbound, active_pack):
                correction = Correction("points")
            if correction:
                return Phrased(correction=correction)
            return self._wish(content, inbound, active_pack)
        return None

    def pointing(self, inbound: Inbound, active_pack: str) -> Phrased | None:
        """Return what a text does if a word of it that points ("it", "that") is taken for what was
        acted on, marked so in its arguments; None = it does not point."""
        content = inbound.content
        if not isinstance(content, Text) or content.text.count(" ") > _POINTING_WORDS:
            return None
        for word in re.finditer(r"\w+", content.text):
            if (prefix := spoken.glue().pointing.get(folded(word.group()))) is None:
                continue
            pointer = f"{prefix} {_POINTER}".strip()
            said = f"{content.text[: word.start()]}{pointer}{content.text[word.end() :]}"
            wish = self._wish(replace(content, text=said), inbound, active_pack) or Phrased()
            acts = ((wish.pack, wish.act),) if wish.act else wish.tied
            acts = [one for one in acts if any(map(is_pointer, one[1].arguments.values()))]
            if len(acts) == 1 and not any(
                spoken.asks(str(v)) for v in acts[0][1].arguments.values()
            ):
                return Phrased(*acts[0])
        return None

    def uncorrected(self, inbound: Inbound, active_pack: str) -> Phrased | None:
        """Return what a text does that corrects nothing which was done: of a time or an amount
        alone nothing, without a model it is said so."""
        content = inbound.content
        if not isinstance(content, Text):
            return None
        here = self._here(inbound)
        correction = corrections.hear(content.text, here)
        if correction and correction.rest:
            return self._wish(replace(content, text=correction.rest), inbound, active_pack)
        if correction and corrections.is_typed(correction, here):
            by_model = self.answers(active_pack or _OURS)  # also where a pack is asked for first
            return None if by_model else Phrased(back=text("corrections.nothing"))
        wish = self._wish(content, inbound, active_pack)
        named = [*wish.act.arguments.values()] if wish and wish.act and not correction else []
        points = any(isinstance(one, str) for one in named) and self.pointing(inbound, active_pack)
        return Phrased(back=text("corrections.which-it")) if points else wish

    def once_more(
        self, words: str, inbound: Inbound, effect: Effect
    ) -> Mapping[str, object] | None:
        """Return the arguments that words have as a phrase of the action of this effect, None =
        they are none; their amount needs no currency. Where phrases of it fix all but one text,
        such as the list that things are put on, they are that text."""
        here, known, pack = self._here(inbound), self._phrases(self.library()), effect.pack
        if effect.name == "cron":
            zone = self.zones.of(inbound.person.id)
            begun = (f"{begin} {words}" for begin in languages.words("phrases", "reminded"))
            matches = (match for said in begun for match in known.match(said, here, (_OURS,)))
            timed = (match for match in matches if {"text", "when"} <= match.values.keys())
            return next((_reminder(match, here, zone).arguments for match in timed), None)
        matches = known.match(words, here, (pack,), loosely=True)
        alike = (m for m in matches if f"{pack}__{m.phrase.action}" == effect.name and m.values)
        return next(map(_arguments, alike), None) or self._listed(words, inbound, effect)

    def _listed(self, words: str, inbound: Inbound, effect: Effect) -> Mapping[str, object] | None:
        """Return the last arguments with these words in the one text that no phrase of the action
        fixes, None = there is none such, or they ask, or hold a time or an amount."""
        pack, name = self.library().get(effect.pack), effect.name.partition("__")[2]
        action = pack.declared.actions.get(name) if pack else None
        if pack is None or action is None:
            return None
        fixed = {n for one in pack.declared.patterns if one.action == name for n in one.given}
        free = [(n, kind) for n, kind in action.kinds.items() if n not in fixed]
        language, words = self._here(inbound).language, words.strip(" ,;:")
        more = times.find(words, language) or spending.names_amount(words, language)
        if not fixed or [kind for _, kind in free] != ["text"] or more:
            return None
        if spoken.asks(words, anywhere=True) or not spoken.telling(words):
            return None
        return {**effect.given, free[0][0]: words}

    def _wish(self, content: Text, inbound: Inbound, active_pack: str) -> Phrased | None:
        library = self.library()
        here, packs = self._here(inbound), self._packs(inbound, active_pack)
        found = self._matches(content.text, inbound, active_pack)
        search = next((one for one in found if one.phrase.pack == _OURS), None)
        if search and search.phrase.action == _FIND:
            others = [one for one in found if one is not search]
            better = others and others[0].rank >= search.rank
            found = others if better else [*self._found(search, here, packs, active_pack), *others]
        if wishes := self._several(content.text, inbound, active_pack, found[:1]):
            return wishes
        foreign = bool(found) and not found[0].rank[1]  # "bin" is no English verb here
        answer = self._talk(content.text, here, active_pack) if foreign or not found else None
        if not (answer or found):
            answer = self._planned(content.text, inbound, active_pack)
        if answer:
            return answer
        wish = self._reasoned(content, inbound, active_pack, found[:1])
        if wish or not found:
            return wish or self._ask_time(content.text, here, packs, active_pack)
        best = found[0]
        rows = [one for one in found if one.rank[0] == best.rank[0] and _rows_in(one)]
        of_packs = {one.phrase.pack: one for one in reversed(rows)} if _rows_in(best) else {}
        equal = [one for one in found if one.rank == best.rank]
        tied = [*{_tap(one): one for one in (*equal, *of_packs.values())}.values()]
        own = [one for one in tied if one.phrase.pack == active_pack]
        if best.misread:
            return Phrased(back=text(best.misread.why, **best.misread.parts))
        if len(tied) > 1 and (len(own) != 1 or _rows_in(best)):
            known = [one for one in tied if library.get(one.phrase.pack)]
            acts = tuple((one.phrase.pack, _act_of(one)) for one in known)
            options = self._options(known, library, here)
            return Phrased(back=text("actions.which"), options=options, tied=acts)
        chosen = own[0] if own else best
        if chosen.phrase.pack == _OURS and chosen.phrase.action == _AHEAD:
            return self._ahead(chosen, here, inbound, active_pack)
        if chosen.phrase.pack == _OURS and chosen.phrase.action not in _REMINDS:
            return Phrased(command=chosen.phrase.action)
        return self._phrased(chosen, inbound, active_pack)

    def _phrased(self, match: Match, inbound: Inbound, active_pack: str) -> Phrased:
        """Return what a phrase does; a reminder belongs to the pack at hand."""
        if match.phrase.pack != _OURS:
            return Phrased(match.phrase.pack, _act_of(match))
        act = _reminder(match, self._here(inbound), self.zones.of(inbound.person.id))
        return Phrased(_may_remind(self.library(), active_pack), act=act)

    def _found(
        self, match: Match, here: Here, packs: Sequence[str], active_pack: str
    ) -> list[Match]:
        """Return a search by whatever words as that of the pack at hand, or else of any; a model
        that answers knows better what is asked."""
        sought, by_model = match.texts["words"], self.answers(active_pack or _OURS)
        other = folded(sought) in spoken.glue().subjects or times.is_sure(sought, here.language)
        for pack in sorted(packs, key=lambda name: name != active_pack):
            for name, action in self.library().packs[pack].declared.actions.items():
                if action.search and not (other or by_model):
                    words = {next(iter(action.arguments)): sought}
                    search = Phrase(pack, name, "", "")
                    return [replace(match, phrase=search, texts=words, values=words)]
        return []

    def _matches(
        self, words: str, inbound: Inbound, active_pack: str, *, loosely: bool = False
    ) -> list[Match]:
        phrases, packs = self._phrases(self.library()), self._packs(inbound, active_pack)
        return phrases.match(words, self._here(inbound), (*packs, _OURS), loosely=loosely)

    def _reasoned(
        self, content: Text, inbound: Inbound, active_pack: str, whole: Sequence[Match]
    ) -> Phrased | None:
        """Return what a wish on a row does beside a reason: that is the row which it names, or with
        which the reason shares a word; None = it is none such, or the `whole` text is a phrase."""
        if whole and not any(map(several.joining().search, _rows_in(whole[0]))):
            return None
        known, here = self.library().packs, self._here(inbound)
        for wish, reason in spoken.reasoned(content.text):
            matches = self._matches(wish, inbound, active_pack)
            undoes = any(match.phrase.action == "undo" for match in matches)
            act = None if whole or not matches else self._reminded(matches[0], reason, inbound)
            if act and not self._whole(reason, inbound, active_pack, loosely=False):
                return Phrased(_may_remind(self.library(), active_pack), act=act)
            if not matches or plans.plan(reason, here, alone=False):
                continue
            if not undoes and self._matches(reason, inbound, active_pack):
                continue
            for match in (one for one in matches if one.phrase.pack in known):
                action = known[match.phrase.pack].declared.actions[match.phrase.action]
                if len(action.rows) == 1 and not _rows_in(match):
                    act, like = _act_of(match), {next(iter(action.rows)): {"like": reason}}
                    act = replace(act, arguments={**act.arguments, **like})
                    return Phrased(match.phrase.pack, act)
            points = any(map(is_pointer, matches[0].texts.values()))
            if not whole and (undoes or (_rows_in(matches[0]) and not points)):
                return self._wish(replace(content, text=wish), inbound, active_pack)
        return None

    def _reminded(self, match: Match, words: str, inbound: Inbound) -> Act | None:
        """Return the reminder of the words beside a wish that says when, and at most points at
        them: "the exam is on Friday, remind me of it on Tuesday at 9"; None = it is none such."""
        pack, when = self.library().get(match.phrase.pack), match.values.get("when")
        action = pack and pack.declared.actions[match.phrase.action]
        reminds = action.tool == "cron" if action else match.phrase.action in _REMINDS
        says, here = match.texts.get("text", ""), self._here(inbound)
        if not reminds or not when or (says and folded(says) not in spoken.glue().pointing):
            return None
        spans = times.find(match.texts["when"], here.language)
        whole = any(span.readings[0][0].keys() & {*dated.DAYS, "span"} for span in spans)
        zone = self.zones.of(inbound.person.id)
        return _reminder_at(when, words, here, zone) if whole else None

    def _several(
        self, said: str, inbound: Inbound, active_pack: str, whole: Sequence[Match]
    ) -> Phrased | None:
        """Return the acts of several wishes in one message, or a button for each where one turn
        cannot do them; None = it is none such, or the `whole` text is a phrase that has them."""
        lines = bool(whole) and "\n" in said  # no part goes on from the words before it
        takes_all = not lines and any("+}" in match.phrase.pattern for match in whole)
        if takes_all or not several.joining().search(said):
            return None
        here = self._here(inbound)
        said = spending.unsummed(said, here.language)
        words = said.split()
        shortest = [" ".join(words[:count]) for count in range(1, _HEAD_MAX + 1)]
        heads = cache(lambda: [] if lines else [*dated.heads(said, here), *shortest])
        marked = spending.names_amount(said, here.language)
        priced = marked or self._phrases(self.library()).name_thing(said)

        def read(part: str) -> tuple[str, Match] | None:
            """Read a part, or else one that goes on from the first words of the message."""
            begun = (part, *(f"{head} {part}" for head in heads() if not said.startswith(part)))
            ways = (False, True)[: 1 + (priced and spending.holds_number(part))]
            for words, loosely in product(begun, ways):
                wish = self._whole(words, inbound, active_pack, loosely=loosely)
                if wish and (marked or not loosely or not _counts(words, wish, here)):
                    return words, wish
            return None

        parts = [] if lines else self._on_one_day(said, here, read)
        if not parts:
            parts = several.split(said, read)
            if parts and not lines and dated.leaves_day_open([words for words, _ in parts], here):
                return None
        matches = [match for _, match in parts]
        same = len({(match.phrase.pack, match.phrase.action) for match in matches}) == 1
        if not matches or (whole and not lines and (same or matches[0].phrase.pack == _OURS)):
            return None
        wishes = [self._phrased(match, inbound, active_pack) for match in matches]
        acts = [wish.act for wish in wishes if wish.act]
        own = {wish.pack for wish in wishes if wish.act and wish.act.tool != "cron"}
        pack = next(iter(own), wishes[0].pack)
        reminds = own and any(act.tool == "cron" for act in acts)
        if len(own) > 1 or (reminds and _may_remind(self.library(), pack) != pack):
            keeper = self._keeper(self._packs(inbound, active_pack))
            kept = keeper and [
                replace(one, phrase=keeper) if one.phrase.pack == _OURS else one for one in matches
            ]
            options = self._options(kept or matches, self.library(), here)
            return Phrased(back=text("actions.several"), options=options)
        return Phrased(pack, replace(acts[0], then=tuple(acts[1:])))

    def _on_one_day(
        self, said: str, here: Here, read: Callable[[str], tuple[str, Match] | None]
    ) -> list[tuple[str, Match]]:
        """Return wishes that a day before or after all of them is of: "yesterday tea 3, cake 4"."""
        for rest, day in dated.parted(said, here):
            at_edge = said.startswith(day) or said.endswith(day)
            spans = times.find(day, here.language) if at_edge else ()
            if any(span.readings[0][0].keys() & dated.DAYS for span in spans):
                parts = several.split(rest, lambda part, day=day: read(f"{part} {day}"))
                if parts and all(match.phrase.pack != _OURS for _, match in parts):
                    return parts
        return []

    def _whole(
        self, said: str, inbound: Inbound, active_pack: str, *, loosely: bool
    ) -> Match | None:
        """Return the one act that words are, with all that it takes; it changes something, and
        nothing in a slot announces more ("words: uno")."""
        best, *others = self._matches(said, inbound, active_pack, loosely=loosely) or [None]
        if (
            best is None
            or best.misread
            or any(re.search(r":\s", text) for text in best.texts.values())
            or any(one and one.rank == best.rank and _tap(one) != _tap(best) for one in others)
        ):
            return None
        name = best.phrase.action
        if (pack := self.library().get(best.phrase.pack)) is None:
            return best if name in _REMINDS else None
        action, whole = pack.declared.actions[name], {*pack.declared.asked(name)}
        if action.tool == "cron" and whole <= best.values.keys():  # one of the runtime's own
            return replace(best, phrase=replace(best.phrase, pack=_OURS))
        asks = not whole <= _arguments(best).keys() or action.confirm or action.page
        return None if asks or not action.writes else best

    def _ask_time(
        self, said: str, here: Here, packs: Sequence[str], active_pack: str
    ) -> Phrased | None:
        """Ask which of the times in a reminder is meant, by acts that a tap does as they are said;
        a model that answers here is not forestalled."""
        keeper = self._keeper(packs)
        if self.answers(active_pack) or keeper is None:
            return None
        nearly = self._phrases(self.library()).nearly(said, here, (*packs, _OURS))
        timed = [
            one for one in nearly if one.phrase.pack == _OURS and one.phrase.action in _REMINDS
        ]
        acts = (
            replace(one, phrase=keeper) for near in timed for one in offers.finished(near, here)
        )
        if rows := self._options([*acts], self.library(), here):
            return Phrased(back=text("actions.which"), options=rows[:_OFFERS_MAX])
        without = [match for match in nearly if match.phrase.pack != _OURS]
        if without and not without[0].texts.keys() & {"when"}:  # its form asks for the time
            return Phrased(without[0].phrase.pack, _act_of(without[0]))
        if timed:
            return Phrased(back=text("slots.no-time", text=timed[0].texts.get("when", said)))
        return None

    def _planned(self, said: str, inbound: Inbound, active_pack: str) -> Phrased | None:
        """Return the reminders that deeds beside times plainly are, where no model answers."""
        if self.answers(active_pack):
            return None
        here, zone = self._here(inbound), self.zones.of(inbound.person.id)
        deeds = plans.plain(said, here)
        acts = [_reminder_at(deed.when, deed.text, here, zone) for deed in deeds]
        pack = _may_remind(self.library(), active_pack)
        return Phrased(pack, act=replace(acts[0], then=tuple(acts[1:]))) if acts else None

    def _ahead(self, match: Match, here: Here, inbound: Inbound, active_pack: str) -> Phrased:
        """Return the reminder of an appointment that comes some time before it."""
        at, span = cast("datetime", match.values["at"]), match.values.get("span")
        part = match.texts.get("part") or str(match.phrase.given.get("part", ""))
        when = at - (span if isinstance(span, timedelta) else timedelta(days=1))
        if part:
            begin = when.astimezone(here.zone).replace(hour=0, minute=0, second=0, microsecond=0)
            try:
                when = cast("datetime", slots.read("datetime", part, replace(here, now=begin)))
            except slots.Misread as error:
                return Phrased(back=text(error.why, **error.parts))
        if not here.now < when < at:
            return Phrased(back=text("slots.past", text=slots.say("datetime", when, here)))
        far = replace(here, now=at - timedelta(days=30))
        said = f"{match.texts.get('more', match.texts['text'])} ({slots.say('datetime', at, far)})"
        act = _reminder_at(when, said, here, self.zones.of(inbound.person.id))
        return Phrased(_may_remind(self.library(), active_pack), act=act)

    def stops(self, inbound: Inbound) -> bool:
        """Whether a text only says that something shall stop, or that it is not wanted."""
        content = inbound.content
        if not isinstance(content, Text):
            return False
        return heard(content.text, self._here(inbound))[0] in ("stop", "halt")

    def fits(self, inbound: Inbound, question: Gate, pack: str) -> bool:
        """Whether a text is what a pack's action asks for: one of the options, or of its kind.
        Words are of the kind of no question."""
        content, asking = inbound.content, self.library().get(pack)
        if not isinstance(content, Text) or asking is None:
            return False
        words = content.text.strip()
        if folded(words) in map(folded, question.options):
            return True
        argument = question.call_id.removeprefix(f"{question.turn_id}:").partition(":")[0]
        kinds = {action.kinds.get(argument, "text") for action in asking.declared.actions.values()}
        here = self._here(inbound)
        return any(slots.is_one(kind, words, here) for kind in kinds if kind not in OPEN)

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
        """Return the acts that these words could have meant, the likeliest first, each a button
        that says what it does."""
        content, library, here = inbound.content, self.library(), self._here(inbound)
        if not isinstance(content, Text):
            return ()
        packs, phrases = self._packs(inbound, active_pack), self._phrases(library)

        def keeps(phrase: Phrase) -> bool:
            """Whether words that are no question could be for this: it keeps something."""
            pack = library.get(phrase.pack)
            action = pack.declared.actions[phrase.action] if pack else None
            return action is not None and bool(action.sql) and not action.rows

        plan, keeper = plans.plan(content.text, here), self._keeper(packs)
        timed: list[Match] = []
        if plan and keeper:
            given = {"when": plan.when, "text": plan.text}
            timed.append(Match(keeper, {"text": plan.text}, given, (0,)))
        elif keeper and (deed := plans.obliged(content.text, here)):
            timed.append(Match(keeper, {"text": deed}, {"text": deed}, (0,)))
        undated = (rest for rest, _ in dated.parted(content.text, here))
        few = any(len(words.split()) <= _FEW for words in (content.text, *undated))
        loose = phrases.match(content.text, here, packs, loosely=True)[:1] if few else []
        near = phrases.nearest(content.text, here, packs, active_pack, fits=keeps)
        return self._options([*timed, *loose, *near], library, here)

    def likeliest(self, inbound: Inbound, packs: Collection[str]) -> list[str]:
        """Return these packs, those whose phrases are the most like a text first."""
        content = inbound.content
        words = content.text if isinstance(content, Text) else ""
        likeness = self._phrases(self.library()).likeness(words, self._here(inbound))
        best: dict[str, float] = {}
        for (pack, _), score in likeness.items():
            best[pack] = max(score, best.get(pack, 0.0))
        return sorted(packs, key=lambda pack: -best.get(pack, 0.0))

    def _keeper(self, packs: Sequence[str]) -> Phrase | None:
        """Return a phrase of a pack that reminds, None = there is none."""
        known, takes = self._phrases(self.library()).phrases, {"text", "when"}
        return next((one for one in known if one.pack in packs and takes <= one.kinds.keys()), None)

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
        self, matches: Sequence[Match], library: Library, here: Here
    ) -> tuple[tuple[ButtonSpec, ...], ...]:
        """Return a button for each act: what it does, with the person's own words."""
        labels: dict[str, str] = {}
        for match in matches:
            if (pack := library.get(match.phrase.pack)) and (tap := _tap(match)) not in labels:
                title = pack.declared.actions[match.phrase.action].title
                label = _label(match, here, pack.said(here.language, title))
                if label in labels.values():
                    name = pack.said(here.language, pack.manifest.display_name)
                    label = f"{name}: {label}"[:_LABEL_CHARS]
                labels[tap] = label
        return tuple((ButtonSpec(label, tap),) for tap, label in labels.items())


def _rows_in(match: Match) -> list[str]:
    """Return the words by which a phrase names rows."""
    kinds = match.phrase.kinds
    return [words for name, words in match.texts.items() if kinds.get(name) == "row"]


def _counts(words: str, wish: Match, here: Here) -> bool:
    """Whether a number that nothing shows to be money is none: it comes first ("2 eggs"; "eggs 2"
    is what they cost), or is of a clock ("meet Jo at 2")."""
    timed = any("clock" in span.readings[0][0] for span in times.find(words, here.language))
    return timed or str(next(iter(_arguments(wish).values()), ""))[:1].isdigit()


def is_pointer(value: object) -> bool:
    """Whether an argument is what was acted on last."""
    return value == _POINTER


def _label(match: Match, here: Here, title: str = "") -> str:
    """Return an act that a tap does as the person reads it: when, and of what; else its title, with
    the words that it takes."""
    words = " · ".join(match.texts.values())
    if when := match.values.get("when"):
        zone = here.zone
        title = text_in_words(when, zone) if isinstance(when, str) else slots.say("", when, here)
        words = match.texts["text"]
    label = f"{title}: {words}" if words else title
    return label if len(label) <= _LABEL_CHARS else f"{label[: _LABEL_CHARS - 1].rstrip()}…"


def _tap(match: Match) -> str:
    given = json.dumps(_arguments(match), ensure_ascii=False)
    return encode("act", f"{match.phrase.pack}.{match.phrase.action}:{given}")


def _act_of(match: Match) -> Act:
    return Act(f"{match.phrase.pack}__{match.phrase.action}", _arguments(match))


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
    words = [match.texts[name] for name in ("text", "more") if name in match.texts]
    said = " ".join(words) or str(match.phrase.given["text"])
    return _reminder_at(when, said, here, zone)


def _reminder_at(when: object, said: str, here: Here, zone: str) -> Act:
    schedule = when.astimezone(here.zone).isoformat() if isinstance(when, datetime) else str(when)
    said = said[:1].upper() + said[1:]
    named = {"timezone": zone} if zone else {}
    return Act("cron", {"action": "create", "schedule": schedule, "say": said, **named})


def _may_remind(library: Library, active_pack: str) -> str:
    """Return the pack that a reminder belongs to: that at hand, if it may have schedules."""
    pack = library.get(active_pack)
    allowed = pack is not None and pack.manifest.permissions.cron
    return active_pack if pack and allowed and "cron" in pack.manifest.permissions.tools else ""
