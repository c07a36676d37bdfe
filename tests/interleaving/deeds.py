"""The deeds of people, drawn from a seed: each becomes updates, and a line in the book."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

from aouo.emulator import acts
from aouo.emulator.chats import Message
from aouo.emulator.refusals import Refusal
from tests.fakes.telegram.verbs import delete
from tests.interleaving.book import Duty, Place, Text
from tests.interleaving.model import MARK
from tests.interleaving.telegram import BOT
from tests.interleaving.town import PACKS, STRANGER, Town

_KINDS = ("plain",) * 14 + ("slow",) * 2 + ("long",) * 5 + ("msg",) * 3 + ("ask", "keys", "fail")
_CALL = f"@{BOT.username} "
_RECENT = 12


class Deeds:
    """One random deed after the other; `burst_s` is how far apart the texts of a burst are."""

    def __init__(self, town: Town, chance: random.Random) -> None:
        self.town = town
        self.book = town.book
        self.chance = chance
        self.tapped: set[str] = set()
        self.chosen: set[tuple[int, int]] = set()
        """Messages of which a button was tapped: of each, one choice counts."""
        self._recent: dict[int, list[Text]] = {}
        weights: dict[Callable[[Place], None], float] = {
            self.say: 52,
            self.burst: 5,
            self.edit: 9,
            self.tap: 9,
            self.reply: 3,
            self.react: 3,
            self.new: 2,
            self.use: 2,
            self.stop: 4,
            self.retry: 0.7,
            self.where: 2,
            self.overheard: 4,
            self.stranger: 2,
            self.nonsense: 1.5,
            self.take_away: 0.5,
            self.topic: 1.5,
            self.upgrade: 0.1,
        }
        self._deeds, self._weights = list(weights), list(weights.values())

    def any(self) -> None:
        """One deed, wherever it may be done."""
        (deed,) = self.chance.choices(self._deeds, self._weights)
        self.at(deed, self.chance.choice(self.book.places))

    def at(self, deed: Callable[[Place], None], place: Place) -> None:
        if place.open or deed == self.topic:
            self.book.at += 1
            self.book.events[deed.__name__] += 1
            deed(place)
            self.town.telegram.signal.bump()

    def say(
        self, place: Place, *, person: int = 0, reply_to: int | None = None, calls: bool = False
    ) -> None:
        person = person or self.chance.choice(place.people)
        kind = "huge" if self.chance.random() < 0.004 else self.chance.choice(_KINDS)
        number = len(self.book.texts)
        called = place.is_private or reply_to is not None or calls or self.chance.random() < 0.8
        duty: Duty = "must"
        if not called and not (place.kind == "topic" and place.pack):
            if place.kind == "topic" and place.ever_bound:
                duty = "may"
            else:
                return self.overheard(place)
        if not called and not self._is_seen_bound(place):
            duty = "may"  # it may come in before the command that binds the topic is carried out
        call = "" if not called or reply_to or place.is_private else _CALL
        tail = " with a long tail of words so that no window waits for more" * (number % 5 == 0)
        words = f"{call}{{mark}} {kind}{tail}"
        text = Text(place, number, person, place.chat, 0, self.book.at, words, duty)
        said = words.format(mark=text.mark)
        text.message_id = self._write(place, person, said, reply_to).id
        self.book.said(text)
        self._recent.setdefault(place.number, []).append(text)
        del self._recent[place.number][:-_RECENT]
        return None

    def _is_seen_bound(self, place: Place) -> bool:
        shown = [message.content.text for message in self._of_bot(place)]
        return any(text.startswith("begin ") or "answers here now" in text for text in shown)

    def burst(self, place: Place) -> None:
        person = self.chance.choice(place.people)
        for _ in range(self.chance.randrange(2, 5)):
            self.say(place, person=person)

    def reply(self, place: Place) -> None:
        """To a message of the bot: that calls it, and quotes what it said."""
        message = self._message_of_bot(place)
        if message and not message.service:
            self._quote(message)
            self.say(place, reply_to=message.id)

    def edit(self, place: Place) -> None:
        if not (recent := self._recent.get(place.number)):
            return
        text = self.chance.choice(recent)
        if text.version >= 7 or text.chat != place.chat:
            return
        if self.chance.random() < 0.85:  # otherwise the same words: a reaction, a preview
            text.version += 1
        with suppress(Refusal):
            acts.edit(
                self.town.world,
                self.town.telegram.now_s,
                user=text.person,
                chat=text.chat,
                message_id=text.message_id,
                text=text.words.format(mark=text.mark),
            )

    def tap(self, place: Place) -> None:
        """A button of one of the newest messages here, by anybody who is there; none that begins a
        session with a skill, since the book counts sessions, and none that lets the stranger in."""
        found = [
            (message, button["callback_data"])
            for message in self._of_bot(place)[-15:]
            for row in message.keyboard
            for button in row
            if button["callback_data"] not in self.tapped
            and not button["callback_data"].startswith(("skill:", "nav:person_"))
        ]
        if found:
            message, data = self.chance.choice(found)
            self.tap_on(place, message, data, self.chance.choice(place.people))

    def tap_on(self, place: Place, message: Message, data: str, person: int) -> None:
        head, _, rest = data.partition(":")
        if head != "pack" and not head.startswith("choice_"):  # a question waits for its person
            self.tapped.add(data)
        if head == "pack" and message.thread_id == place.thread:
            place.bind(rest)
        elif rest.startswith("edited_"):
            place.asks_again += 1
        elif head.startswith("choice_"):
            labels = {b["callback_data"]: b["text"] for row in message.keyboard for b in row}
            nonce = message.content.text.split()[1]
            self.book.chosen.add((nonce, person, labels[data]))
        elif MARK.fullmatch(data) and not data.startswith(place.mark):
            self.book.quoted.add(data[:9])  # it came from a topic that was closed
        elif found := MARK.fullmatch(data):
            at, number = self.book.at, int(found[3])
            duty = "may" if (place.chat, message.id) in self.chosen else "must"
            self.chosen.add((place.chat, message.id))
            tapped = Text(
                place, number, person, place.chat, 0, at, "tap", duty, version=int(found[4])
            )
            tapped.taps = True
            self.book.said(tapped)
        now_s = self.town.telegram.now_s
        acts.tap(
            self.town.world,
            now_s,
            user=person,
            chat=message.chat_id,
            message_id=message.id,
            data=data,
        )

    def react(self, place: Place) -> None:
        chat = self.town.world.chats[place.chat]
        if messages := [m for m in chat.in_thread(place.thread) if not m.service][-8:]:
            message = self.chance.choice(messages)
            self._quote(message)
            acts.react(
                self.town.world,
                self.town.telegram.now_s,
                user=self.chance.choice(place.people),
                chat=place.chat,
                message_id=message.id,
                emoji=self.chance.choice("👍👎🔥"),
            )

    def new(self, place: Place) -> None:
        place.sessions[place.pack] += 1
        self._leave(place, "new")

    def use(self, place: Place, pack: str = "") -> None:
        pack = pack or self.chance.choice(PACKS)
        place.bind(pack)
        self._command(place, "use", pack)

    def stop(self, place: Place) -> None:
        """Not everywhere: behind one it is not certain any more which commands were dropped."""
        if place.number % 3:
            return
        person = self.chance.choice(place.people)
        place.stops.append((self.book.at, person))
        self._command(place, "stop", person=person)

    def retry(self, place: Place) -> None:
        place.retries += 1
        self._leave(place, "retry")

    def _leave(self, place: Place, name: str) -> None:
        person = self.chance.choice(place.people)
        place.leaves.append((self.book.at, person))
        self._command(place, name, person=person)

    def where(self, place: Place) -> None:
        place.wheres += 1
        self._command(place, "whereami")

    def nonsense(self, place: Place) -> None:
        """A tap on what no message has: an old button, or data that somebody made up."""
        data = self.chance.choice(["nav:nothing", "choice_nothing:0", "nav:again_1x", "pack:gone"])
        now_s = self.town.telegram.now_s
        who = self.chance.choice((*place.people, STRANGER))
        if message := self._message_of_bot(place):
            acts.tap(
                self.town.world, now_s, user=who, chat=place.chat, message_id=message.id, data=data
            )

    def overheard(self, place: Place) -> None:
        """Talk among people that is not for the bot."""
        in_bound_topic = place.kind == "topic" and place.ever_bound
        if not (place.is_private or in_bound_topic):
            mark = f"u{place.number:02}n{self.book.at:05}v0"
            self._write(place, self.chance.choice(place.people), f"{mark} plain", None)

    def stranger(self, place: Place) -> None:
        """Somebody who is not on the list; in a group perhaps without calling the bot."""
        mark = f"u{place.number:02}n{self.book.at:05}v0"
        call = self.chance.choice([_CALL, "", "/use "])
        if place.is_private:
            acts.say(
                self.town.world,
                self.town.telegram.now_s,
                user=STRANGER,
                chat=STRANGER,
                text=f"{mark} plain",
            )
        else:
            self._write(place, STRANGER, f"{call}{mark} plain", None)

    def take_away(self, place: Place) -> None:
        """A person deletes a message of the bot, perhaps one that it is still filling."""
        if (message := self._message_of_bot(place)) and not message.keyboard:
            self.town.telegram.take_away(place.chat, message.id)
            delete(self.town.world, user=place.people[0], chat=place.chat, message_id=message.id)

    def topic(self, place: Place) -> None:
        """Close, reopen, rename or delete a topic, or create another one."""
        if place.deleted or place.kind not in ("topic", "forum"):
            return
        if place.kind == "forum":
            if len(self.town.world.chats[place.chat].topics) < 6:
                self.town.found(self.town.world.chats[place.chat], self.chance.choice(PACKS))
        elif not place.open:
            self.town.close(place, closed=False)
        elif self.chance.random() < 0.4:
            self.town.close(place, closed=True)
        elif self.chance.random() < 0.8:
            self.town.rename(place, self.chance.choice([*PACKS, f"about {self.book.at}"]))
        elif not place.is_private:
            self.town.delete(place)

    def upgrade(self, place: Place) -> None:
        if self.town.may_be_upgraded(place):
            self.town.upgrade(place)
            self._recent.pop(place.number, None)

    def _command(self, place: Place, name: str, rest: str = "", *, person: int = 0) -> None:
        at = "" if place.is_private else f"@{BOT.username}"
        who = person or self.chance.choice(place.people)
        self._write(place, who, f"/{name}{at} {rest}".strip(), None)

    def _write(self, place: Place, person: int, text: str, reply_to: int | None) -> Message:
        return acts.say(
            self.town.world,
            self.town.telegram.now_s,
            user=person,
            chat=place.chat,
            text=text,
            thread=place.thread,
            reply_to=reply_to,
        )

    def _quote(self, message: Message) -> None:
        """The bot reads these marks here because a person pointed at them."""
        self.book.quoted |= {mark[0][:9] for mark in MARK.finditer(message.content.text)}

    def _message_of_bot(self, place: Place) -> Message | None:
        found = self._of_bot(place)[-6:]
        return self.chance.choice(found) if found else None

    def _of_bot(self, place: Place) -> list[Message]:
        chat = self.town.world.chats[place.chat]
        found: list[Message] = []
        for message in reversed(chat.messages.values()):
            if message.sender_id == BOT.id and message.thread_id == place.thread:
                found.append(message)
                if len(found) == 15:  # newest are enough, and a chat may hold thousands
                    break
        return found[::-1]
