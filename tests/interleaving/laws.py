"""What must hold of every play, read off the chats, the model's requests and the book."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.interleaving.book import Place, Text
from tests.interleaving.model import MARK
from tests.interleaving.play import Play
from tests.interleaving.telegram import Seen
from tests.interleaving.town import PEOPLE

_BEGINS = re.compile(r"^begin (q\d{6})$", re.MULTILINE)
_ENDS = re.compile(r"^end (q\d{6})$", re.MULTILINE)
_ANSWERS = re.compile(r"^(re|by) (p\d\dn\d{5}v\d)$", re.MULTILINE)
_MSG = re.compile(r"^(?:said|which) (q\d{6}) ", re.MULTILINE)
_FILLED_IN = re.compile(r"(?:\n→ |Saved: “|= “|holds “)(p\d\dn\d{5}v\d)")
_WHERE = re.compile(r"^Chat: (-?\d+)\nTopic: (none|\d+)$", re.MULTILINE)
_OFFER = "You edited a message that I had answered"
_FAILED = "The model service is busy"
_STATUS = ("Thinking…", "Working: ", "No answer yet from ")
STOPPED = "…"
OWNER = PEOPLE[0]
_FULL = 3_500


@dataclass
class Verdict:
    """What was found wrong; `wrong`, `lost` and `doubled` are counted by the benchmark."""

    wrong: list[str] = field(default_factory=list[str])
    """In another conversation, of another session, two at once, out of order."""
    lost: list[str] = field(default_factory=list[str])
    """Not answered, half answered, left lying."""
    doubled: list[str] = field(default_factory=list[str])

    @property
    def all(self) -> list[str]:
        return [*self.wrong, *self.lost, *self.doubled]


class Laws:
    """Holds the laws against one play."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.book = play.book
        self.telegram = play.telegram
        self.verdict = Verdict()
        self._shown = list(play.telegram.shown.values())
        self._ever = [*self._shown, *play.telegram.taken]
        self._lost_text = "\n".join(text for _, text in play.telegram.lost)
        self._stray_text = "\n".join(play.telegram.stray.values())
        shown = [one.text for one in self._ever] + [self._lost_text]
        self._filled_in = {mark[:9] for text in shown for mark in _FILLED_IN.findall(text)}
        """Texts that answered the form of an action, which shows them behind its question, or in
        what it did."""
        told = {mark[:9] for asked in play.model.asked for mark in asked.told}
        self._again = {
            mark[:9]
            for asked in play.model.asked
            if any(mark[-1] != "0" for mark in asked.marks)
            for mark in asked.marks
        }
        """Texts that were answered together with a changed one, perhaps once more and elsewhere."""
        self._told = told | self._filled_in

    def judge(self) -> Verdict:
        verdict = self.verdict
        verdict.wrong += self.play.model.wrong
        verdict.wrong += [f"Telegram's description: {one}" for one in self.telegram.problems]
        verdict.wrong += [f"logged: {e}" for e in self.play.errors if "job_set_aside" not in e]
        verdict.wrong += ["a route points to another's session"] * self.play.crossed
        verdict.lost += [f"left open: {one}" for one in self.play.left]
        verdict.wrong += self._misplaced()
        verdict.wrong += self._mixed_prompts()
        verdict.wrong += self._overheard()
        verdict.wrong += self._out_of_order()
        verdict.wrong += self._foreign_sessions()
        verdict.wrong += self._answers_of_others()
        verdict.doubled += self._said_twice()
        verdict.doubled += self._answered_twice()
        verdict.lost += self._unanswered()
        verdict.lost += self._half()
        verdict.lost += self._unsaid()
        verdict.lost += self._commands()
        return verdict

    def _misplaced(self) -> Iterator[str]:
        """A mark is seen under its own conversation's addresses only."""
        for seen in self.telegram.seen:
            for mark in {match[0] for match in MARK.finditer(seen.text)}:
                place = self._place(mark)
                if place is None or (seen.chat, seen.thread) not in place.addresses:
                    yield f"{mark} was shown in {seen.chat}:{seen.thread}"

    def _mixed_prompts(self) -> Iterator[str]:
        """A prompt holds marks of one place, but for what a person there pointed at."""
        for read in self.play.model.read:
            places = {mark[:3] for mark in read if mark[:9] not in self.book.quoted}
            if len(places) > 1 or any(place.startswith("u") for place in places):
                yield f"one prompt holds marks of {sorted(places)}: {sorted(read)}"

    def _overheard(self) -> Iterator[str]:
        """What was not for us is not even stored."""
        for body in self.play.stored:
            if found := re.search(r"\bu\d\dn\d{5}v\d", body):
                yield f"{found[0]} was not for us, and is kept"

    def _out_of_order(self) -> Iterator[str]:
        """Within one place, each text's first answer comes behind those of the texts before it.

        Texts that wait in a burst may be overtaken by another person's, not by their own.
        """
        first: dict[str, int] = {}
        for index, seen in enumerate(self.telegram.seen):
            for how, mark in _ANSWERS.findall(seen.text):
                if how == "re":
                    first.setdefault(mark, index)
        newest: dict[tuple[int, int], tuple[int, str]] = {}
        for text in self.book.texts.values():
            if not self._is_plain(text) or text.mark not in first or self._in_doubt(text.mark):
                continue
            if self._cut_off(text.mark, self.telegram.seen[first[text.mark]].at_s):
                continue
            if self._left(text):  # answered by a /retry only, behind what waited meanwhile
                continue
            key = (text.place.number, text.person if self.play.script.burst_ms else 0)
            before, mark = newest.get(key, (-1, ""))
            if first[text.mark] < before:
                yield f"{text.mark} was answered before {mark}"
            newest[key] = max((before, mark), (first[text.mark], text.mark))

    def _foreign_sessions(self) -> Iterator[str]:
        """A prompt holds the texts of one session, and is reminded of that pack's only; with bursts
        a person may overtake a /new."""
        if self.play.script.burst_ms:
            return
        for asked in self.play.model.asked:
            read = {
                mark: text
                for mark in asked.read
                if (text := self.book.of(mark))
                and self._is_plain(text)
                and self._has_certain_session(text.place)
            }
            sessions = {read[mark].session: mark for mark in asked.held if mark in read}
            if len(sessions) > 1:
                yield f"{asked.nonce} reads of several sessions: {sessions}"
            packs = {text.session.partition("#")[0]: mark for mark, text in read.items()}
            if len(packs) > 1:
                yield f"{asked.nonce} reads of several packs: {packs}"

    def _answers_of_others(self) -> Iterator[str]:
        """A question is answered once, by whom it was put to: a tap on it, or their next words."""
        heard: dict[str, str] = {}
        for mark, nonce, answer in self.play.model.heard:
            asked = self.book.of(mark)
            assert asked
            said = [self.book.of(one[0]) for one in MARK.finditer(answer)]
            if not said and (nonce, asked.person, answer) not in self.book.chosen:
                yield f"nobody who may chose {answer!r} for {nonce}"
            for text in said:
                if not text or (text.place, text.person) != (asked.place, asked.person):
                    yield f"{answer!r} is no answer of {asked.person} to {nonce}"
                elif text.at < asked.at:
                    yield f"{answer!r} was said before {nonce} asked"
            if heard.setdefault(nonce, answer) != answer:
                yield f"{nonce} was answered {heard[nonce]!r}, then {answer!r}"

    def _said_twice(self) -> Iterator[str]:
        """One answer, one `msg`, one question is shown once, but for what nobody can know."""
        seen: Counter[str] = Counter()
        for one in self._shown:
            if (one.chat, one.message_id) in self.telegram.stray:
                continue
            seen.update({*_BEGINS.findall(one.text), *(f"{n} msg" for n in _MSG.findall(one.text))})
        yield from (f"{nonce} is shown {n} times" for nonce, n in seen.items() if n > 1)

    def _answered_twice(self) -> Iterator[str]:
        """A text is answered by one turn, unless somebody asked to have it answered again.

        What came without our hearing of it cannot be gone on with: it stands there besides.
        """
        answers: dict[str, set[str]] = defaultdict(set)
        for one in self._ever:
            if (one.chat, one.message_id) in self.telegram.stray:
                continue
            for _, mark in _ANSWERS.findall(one.text):
                answers[mark].update(_BEGINS.findall(one.text))
        extra: dict[int, set[str]] = defaultdict(set)
        for mark, nonces in answers.items():
            if place := self._place(mark):
                extra[place.number].update(sorted(nonces)[1:])
        for place in self.book.places:
            again = extra[place.number]
            if len(again) > place.retries + place.asks_again:
                yield f"{place.mark} has {len(again)} answers too many: {sorted(again)}"

    def _unanswered(self) -> Iterator[str]:
        """Every text that was for us is answered, in its newest form or with an offer."""
        ended = {nonce for one in self._ever for nonce in _ENDS.findall(one.text)}
        answered: dict[str, set[str]] = defaultdict(set)
        for one in self._ever:
            if ended.intersection(_BEGINS.findall(one.text)):
                for _, mark in _ANSWERS.findall(one.text):
                    answered[mark[:9]].add(mark)
        failed = {mark[:9] for mark in self.play.model.failed}
        # A job whose process died three times is put aside, and its person is told.
        failed |= {mark[:9] for mark in self._set_aside()}
        others: Counter[int] = Counter()
        for text in self.book.texts.values():
            if text.duty == "may" or text.place.deleted or text.base in failed:
                continue
            if text.taps:
                if text.mark not in answered[text.base] and not self._stopped(text, others):
                    yield f"the tap {text.mark} is not answered"
            elif not (versions := answered[text.base]):
                if text.base not in self._filled_in and not (
                    self._stopped(text, others) or self._left(text)
                ):
                    yield f"{text.mark} by {text.person} is not answered"
            elif text.base in self._told:
                continue  # it answered a question, which stays answered
            elif text.mark not in versions and not (self._is_offered(text) or self._left(text)):
                yield f"{text.mark} is answered as {sorted(versions)} only"
        for place in self.book.places:
            if others[place.number] > 4 * len(place.stops):
                yield f"{place.mark}: {others[place.number]} texts lost to the owner's /stop"

    def _set_aside(self) -> Iterator[str]:
        """Marks of texts in places that were told so."""
        for one in self._ever:
            if one.text.startswith("I stopped working three times"):
                for asked in self.play.model.asked:
                    for mark in asked.marks:
                        place = self._place(mark)
                        if place and (one.chat, one.thread) in place.addresses:
                            yield mark

    def _half(self) -> Iterator[str]:
        """A stream that is over shows its end, or that it was stopped; no status line stays.

        In a group that became a supergroup nothing can be changed any more.
        """
        moved = {
            chat for place in self.book.places for chat, _ in place.addresses if chat != place.chat
        }
        ended = {nonce for one in self._ever for nonce in _ENDS.findall(one.text)}
        for one in self._shown:
            if (one.chat, one.message_id) in self.telegram.stray:
                continue
            if one.text.startswith(_STATUS) and one.chat not in moved:
                yield f"{one.text!r} stays in {one.chat}:{one.thread}"
            for nonce in _BEGINS.findall(one.text):
                over = _is_stopped(one) or (len(one.text) > _FULL and self._stops_below(one))
                if nonce not in ended and not over and f"end {nonce}" not in self._lost_text:
                    yield f"{nonce} has no end: {one.text[-60:]!r}"

    def _stops_below(self, full: Seen) -> bool:
        """Whether a message that is full goes on in one that says where it was stopped."""
        return any(
            (one.chat, one.thread) == (full.chat, full.thread)
            and one.message_id > full.message_id
            and _is_stopped(one)
            for one in self._shown
        )

    def _unsaid(self) -> Iterator[str]:
        """What a `msg` call reported as sent was there."""
        said = {found for one in self.telegram.seen for found in _MSG.findall(one.text)}
        for nonce, mark in self.play.model.said:
            if nonce not in said:
                yield f"msg {nonce} for {mark} was never shown"

    def _commands(self) -> Iterator[str]:
        """Each /whereami is answered once, for the place where it was asked."""
        where: Counter[tuple[int, int | None]] = Counter(
            (int(chat), None if thread == "none" else int(thread))
            for one in self._ever
            for chat, thread in _WHERE.findall(one.text)
        )
        for place in self.book.places:
            if any(chat != place.chat for chat, _ in place.addresses) or place.deleted:
                continue
            found = where[place.chat, place.thread]
            strays = sum(key[0] == place.chat for key in self.telegram.stray)
            if not place.wheres <= found <= place.wheres + strays:
                yield f"{place.mark}: {place.wheres} /whereami, {found} answers"

    def _is_plain(self, text: Text) -> bool:
        """Said once, never changed, and no answer to a question: order and session are certain."""
        quoted = text.base in self.book.quoted | self._told | self._again
        return not (text.version or text.taps or quoted or not text.session)

    def _cut_off(self, mark: str, shown_s: float) -> bool:
        """A life ended between its answer and the message: it was shown on request, later."""
        asked_s = [asked.at_s for asked in self.play.model.asked if mark in asked.marks]
        return any(min(asked_s) < end_s < shown_s for end_s in self.play.ends_s)

    def _has_certain_session(self, place: Place) -> bool:
        """A /stop may have dropped commands, and so may the move to a supergroup."""
        return not place.stops and not (place.kind == "group" and len(place.addresses) > 1)

    def _in_doubt(self, mark: str) -> bool:
        return mark in self._lost_text or mark in self._stray_text

    def _stopped(self, text: Text, others: Counter[int]) -> bool:
        """Whether a later /stop may have ended it: all of its person's, one turn of another's by
        the owner's."""
        stopped_by = {person for at, person in text.place.stops if at > text.at}
        if OWNER in stopped_by and text.person not in stopped_by:
            others[text.place.number] += 1
        return bool(stopped_by & {OWNER, text.person})

    def _left(self, text: Text) -> bool:
        """Whether its turn asked something and its person left that question by a command."""
        asks = any(
            asked.kind == "ask" and text.base in {mark[:9] for mark in asked.marks}
            for asked in self.play.model.asked
        )
        later = any(at > text.at and who == text.person for at, who in text.place.leaves)
        return asks and later

    def _is_offered(self, text: Text) -> bool:
        """The newest words came too late, and there is a button for them, or they were stopped."""
        offered = any(
            (one.chat, one.thread) in text.place.addresses and one.text.startswith(_OFFER)
            for one in self._ever
        )
        lost = _OFFER in self._lost_text
        return offered or lost or bool(text.place.stops)

    def _place(self, mark: str) -> Place | None:
        number = int(mark[1:3])
        return self.book.places[number] if number < len(self.book.places) else None


def _is_stopped(one: Seen) -> bool:
    return one.text.rstrip().endswith((STOPPED, "smaller step."))


def judge(play: Play) -> Verdict:
    """Everything that is wrong with a play."""
    return Laws(play).judge()


__all__ = ["Seen", "Verdict", "judge"]
