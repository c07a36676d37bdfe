"""Lets people in and puts them out: the owner's card about a stranger, and `/people`.

Of a stranger their id, their name for the card and when they asked are kept, and nothing they said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.people import Admission, LetIn, Role
from aouo.facts.ports import ButtonSpec, Rendered, iso, stamp
from aouo.facts.taps import Tap, encode
from aouo.facts.work import Delivery, Job
from aouo.flow.commands.registry import CommandCall, Result
from aouo.flow.replies import Replies, Said
from aouo.plumbing.logs import log
from aouo.queue.decide import ObeyCommand
from aouo.store import deliveries, people
from aouo.store.database import Tx
from aouo.words.catalogue import message, one_line, say, speaking, text
from aouo.words.conversations import letting_in, people_known, refused, unlinked

_DAY = timedelta(days=1)
_NAME_CHARS = 40
_ASKED_A_DAY = 10
"""So many strangers of a day wait for an answer: their names are no way to write to the owner."""
_ROLES: dict[str, Role] = {"member": "member", "guest": "guest", "out": "out"}
"""By what `/people` is told, what somebody becomes."""
_ANSWERS: dict[str, Role] = {"member": "member", "guest": "guest", "no": "no"}
"""By the button of a card, what somebody becomes."""


@dataclass(slots=True, eq=False, kw_only=True)
class LettingIn:
    """Asks the owner about strangers, and keeps what they decide, in `decided` too, for good.

    `end` ends what is of people who are not let in any more. `command` is what lets a person in
    from a terminal; it goes to the log. `language` is that of the person with an id.
    """

    replies: Replies
    decided: dict[str, LetIn]
    admission: Callable[[], Admission]
    end: Callable[[], Awaitable[None]]
    command: Callable[[str], str]
    language: Callable[[str], str]

    async def refuse(self, job: Job, who: events.Intruder) -> None:
        """Send this hour's one refusal to a stranger, and ask the owner about them; if the refusal
        gets lost, nobody is told."""
        person, asked = job.inbound.person, list[LetIn]()
        log.info(
            "tg_auth_denied",
            person=person.id,
            **({} if who.as_chat else {"let_in": self.command(person.id)}),
        )

        def work(tx: Tx, now: str) -> Said:
            if who.as_chat:
                return [say(f"conversations.wrote-as-{who.as_chat}")]
            cards = self._ask(tx, person, now)
            known = people.everybody(tx).get(person.id)
            asked[:] = [known] if known else []
            waits = known is not None and known.role == "asked"
            said = say("conversations.not-authorized")
            if job.inbound.chat_kind == "private":
                said = refused(person.id, asks_id=who.asked_id, asked=waits)
            return [said, *cards]

        await self.replies.settle(job, work, outcome="refused", kind="aside")
        self._take_up(*asked)

    def _ask(self, tx: Tx, person: events.Person, now: str) -> list[Delivery]:
        """Keep that somebody without an answer asked, at most once a day, and queue the card.

        They may have been let in since this message came in: the row says so."""
        chat, known = self.replies.owner().chat, people.everybody(tx).get(person.id)
        day_ago = iso(self.replies.clock.now() - _DAY)
        # An owner who is missing in the list has no question for themselves; who is on it and was
        # put out comes back by /people alone.
        settled = {self.replies.owner().id, *map(str, self.admission().people)}
        if chat is None or person.id in settled or not person.id.isdigit():
            return []
        if known and (known.role in ("no", "out", "member") or known.until > now):
            return []
        if known and known.role == "asked" and known.at > day_ago:
            return []
        if people.asked_since(tx, day_ago) >= _ASKED_A_DAY:
            return []
        asked = LetIn(person.id, one_line(person.name, _NAME_CHARS), "asked", now)
        people.put(tx, asked)
        with speaking(self.language(chat.chat_id)):
            card = letting_in(asked, tuple(_button(asked.person, how) for how in _ANSWERS))
        key = f"person:{person.id}:{now}"
        return [deliveries.add(tx, chat, "notice", card, now, key=key)]

    async def tap(self, job: Job, tap: Tap) -> None:
        """Let somebody in, or not, as the owner tapped on their card."""
        inbound, (person, how) = job.inbound, tap.values
        done = list[LetIn]()

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            known = people.everybody(tx).get(person)
            if not self.replies.owner().is_owner(inbound):
                return text("taps.for-the-owner")
            if known is None or how not in _ANSWERS:
                return text("taps.unknown")
            if known.role != "asked":
                return text("taps.expired")
            done[:] = [self._decided(tx, known, _ANSWERS[how], now)]
            said = unlinked(
                message(text(f"people.became-{how}", name=known.name, id=person)), known.name
            )
            card = deliveries.add(
                tx, inbound.address, "notice", said, now, edits=inbound.message_id
            )
            return [card, *self._told(tx, done[0], now)]

        await self.replies.answer_tap(job, work, "let in", then=lambda: self._take_up(*done))

    async def decide(self, person: str, how: str) -> bool:
        """Let somebody in or not, as the owner said elsewhere; False = they do not ask, or that is
        no answer."""
        now = stamp(self.replies.clock)

        def work(tx: Tx) -> tuple[list[LetIn], list[Delivery]]:
            known = people.everybody(tx).get(person)
            if known is None or known.role != "asked" or how not in _ANSWERS:
                return [], []
            one = self._decided(tx, known, _ANSWERS[how], now)
            return [one], self._told(tx, one, now)

        done, told = await self.replies.database.transact(work, durable=True)
        self._take_up(*done)
        self.replies.outbox.put(*told)
        return bool(done)

    def _decided(self, tx: Tx, known: LetIn, how: Role, now: str) -> LetIn:
        until = iso(self.replies.clock.now() + _DAY) if how == "guest" else ""
        decided = replace(known, role=how, at=now, until=until)
        people.put(tx, decided)
        log.info("person_decided", person=known.person, role=how)
        return decided

    def _told(self, tx: Tx, person: LetIn, now: str) -> list[Delivery]:
        """Tell somebody who is let in."""
        if person.role not in ("member", "guest"):
            return []
        address = ConversationAddress("tg", person.person)
        with speaking(self.language(person.person)):
            said = say(f"people.welcome-{person.role}")
        key = f"let-in:{person.person}:{now}"
        return [deliveries.add(tx, address, "notice", said, now, key=key)]

    async def run(self, job: Job, said: ObeyCommand) -> None:
        """Obey `/people [member | guest | out ID]`, the owner's, and settle its job."""
        before = self.admission().everybody("")
        changed, told = list[LetIn](), list[Delivery]()

        def obey(tx: Tx, call: CommandCall) -> Result:
            if not self.replies.owner().is_owner(call.inbound):
                return Result(say("people.owners"))
            if args := call.words.args:
                how, person = (*args, "", "")[:2]
                known = self.decided.get(person) or LetIn(person, "", "asked", call.now)
                if how not in _ROLES or not (person.isascii() and person.isdigit()):
                    return Result(say("people.usage"))
                if person == self.replies.owner().id:
                    return Result(say("people.is-owner"))
                changed[:] = [self._decided(tx, known, _ROLES[how], call.now)]
                if person not in before:
                    told[:] = self._told(tx, changed[0], call.now)
            return Result(self._shown({**self.decided, **{one.person: one for one in changed}}))

        await self.replies.command(job, obey, said)
        self._take_up(*changed)
        self.replies.outbox.put(*told)
        if before - self.admission().everybody(""):
            await self.end()

    def _take_up(self, *changed: LetIn) -> None:
        """Follow the rows; that somebody asked is older than what was decided since."""
        for one in changed:
            known = self.decided.get(one.person, one)
            if one.role != "asked" or one.at >= known.at:
                self.decided[one.person] = one

    def _shown(self, decided: dict[str, LetIn]) -> Rendered:
        """Return who is let in and who is not, with what the owner can change."""
        owner, admission = self.replies.owner().id, replace(self.admission(), decided=decided)
        known = {*map(str, admission.people), *decided} - {owner}
        found = [
            (decided.get(one, LetIn(one, "", "asked", "")), admission.role(one))
            for one in sorted(known, key=int)
        ]
        rows = [
            [ButtonSpec(text(f"people.button-{how}", name=one.name or one.person), data)]
            for one, role in found
            for how in (("out",) if role else ("member", "guest"))
            for data in [encode("command", f"people {how} {one.person}")]
        ]
        listed = frozenset(map(str, admission.people))
        return unlinked(
            message(people_known(owner, found, listed), *rows), *(one.name for one, _ in found)
        )


def _button(person: str, how: str) -> ButtonSpec:
    return ButtonSpec(text(f"people.answer-{how}"), encode("person", person, how))
