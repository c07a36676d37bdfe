"""Takes in what the owner says, taps and decides on the local page, as jobs like any other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from aouo.facts.address import GENERAL, ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.errors import Refused
from aouo.facts.events import Album, Attached, Button, Content, Inbound, Person, Text
from aouo.facts.ids import ulid
from aouo.facts.people import Owner
from aouo.facts.ports import Media, MediaKind, Rendered, iso
from aouo.facts.taps import encode
from aouo.facts.work import Gate
from aouo.flow.approving import KIND as APPROVAL
from aouo.flow.handlers.gates import ANSWERED
from aouo.flow.uploads import Uploads
from aouo.outbound.messengers import WebMessenger
from aouo.packs.library import Library
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor
from aouo.queue import lexer
from aouo.queue.inbox import Inbox
from aouo.store import gates, off_record, routes, updates, web_messages
from aouo.store.database import Database, Tx
from aouo.store.gates import Grant
from aouo.words import sentences
from aouo.words.catalogue import text

_TEXT_CHARS = 100_000
"""The longest message."""
_FILES = 10
"""The most files of one message, as in an album."""
_SHOWN: dict[str, MediaKind] = {"photo": "photo", "video": "video", "audio": "audio"}


@dataclass(frozen=True, slots=True)
class WebChat:
    """The chats of the local page: one for each pack, and one that is of no pack.

    Whoever sits there is the owner. `messenger` shows what is answered, `uploads` holds the files.
    """

    database: Database
    inbox: Inbox
    messenger: WebMessenger
    uploads: Uploads
    owner: Callable[[], Owner]
    library: Callable[[], Library]
    redactor: Callable[[], Redactor]

    def address(self, chat: str) -> ConversationAddress | None:
        """Return the address of a chat, by its pack's name or `GENERAL`; None = no such pack."""
        known = chat == GENERAL or self.library().get(chat) is not None
        return ConversationAddress("web", chat) if known else None

    async def say(
        self, address: ConversationAddress, text: str, key: str, files: Sequence[str] = ()
    ) -> int:
        """Store what is said, with uploaded files, as a job; return its message's id.

        `key` is the page's name for it: said again with the same key it is not said twice.

        Raises:
            Refused: there is nothing in it, too much, or a file is not there.
        """
        text = self.redactor().known(text.strip())
        if not text and not files:
            raise Refused("There is nothing in it to send.")
        if len(text) > _TEXT_CHARS:
            raise Refused(
                f"It is too long: at most {_TEXT_CHARS:,} characters can be sent at once."
            )
        if len(files) > _FILES:
            raise Refused(f"At most {_FILES} files can be sent at once.")
        items = [
            await asyncio.to_thread(self.uploads.attachment, address, one, "" if n else text)
            for n, one in enumerate(files)
        ]
        found = [item for item in items if item]
        message_id, private = [0], dict[int, Rendered | None]()

        def file(tx: Tx, now: datetime) -> Sequence[Inbound]:
            name = f"said:{address.chat_id}:{key}"
            if known := web_messages.known(tx, name):
                message_id[:] = [known]
                return ()
            if len(found) < len(items):
                raise Refused("A file is not there any more. Add it again.")
            shown = _shown(text, found)
            number = web_messages.add(tx, address.chat_id, name, shown, iso(now), by_person=True)
            message_id[:] = [number]
            self._bind(tx, address, iso(now))
            inbound = self._inbound(address, _content(text, found, number), number)
            private.update(self._private(tx, inbound, number, Rendered(text)))
            return (inbound,)

        await self.inbox.trigger(file)
        self.uploads.said(files)
        await self.messenger.remember(address.chat_id, private)
        return message_id[0]

    async def tap(self, address: ConversationAddress, message_id: int, data: str, key: str) -> None:
        """Store a tap on a button of a message as a job; again with the same key it counts once.

        Raises:
            Refused: the message has no such button any more.
        """
        private = dict[int, Rendered | None]()
        update_id = _number(f"{address.chat_id}:{key}")

        def file(tx: Tx, now: datetime) -> Sequence[Inbound]:
            if not updates.add(tx, address.platform, update_id, "", iso(now)):
                return ()
            row = tx.ask(web_messages.one(address.chat_id, message_id))
            shown = self.messenger.shown(address.chat_id, row) if row else None
            buttons = chain.from_iterable(shown.message.buttons if shown else ())
            button = next((one for one in buttons if one.data == data), None)
            if button is None:
                raise Refused("That button is not there any more.")
            self._bind(tx, address, iso(now))
            tx.touch(web_messages.CHANGED)
            answer_id = f"{address.chat_id} {ulid()}"
            tapped = Button(data, button.label, answer_id, button.by_model)
            inbound = self._inbound(address, tapped, message_id)
            if tapped.speaks:  # then it is shown as what was said, since it is answered so
                name, shown = f"tapped:{answer_id}", Rendered(button.label)
                hides = off_record.hides(tx, 0, inbound)
                number = web_messages.add(
                    tx, address.chat_id, name, shown, iso(now), by_person=True, off_record=hides
                )
                private.update(self._private(tx, inbound, number, shown))
            return (inbound,)

        await self.inbox.trigger(file)
        await self.messenger.remember(address.chat_id, private)

    def _inbound(self, address: ConversationAddress, content: Content, number: int) -> Inbound:
        person = self.owner().person
        return Inbound(address, person, content, message_id=number, origin="web")

    def _private(
        self, tx: Tx, inbound: Inbound, number: int, words: Rendered
    ) -> Mapping[int, Rendered | None]:
        """Return, for `remember`, the words of a message that is off the record; those of one that
        is on it end what is remembered."""
        if off_record.hides(tx, 0, inbound):
            return {number: words}
        return self.messenger.forgettable(tx, inbound.address.chat_id)

    def _bind(self, tx: Tx, address: ConversationAddress, now: str) -> None:
        """Bind a pack's chat to its pack, the first time something is said there."""
        if not address.pack:
            return
        route = routes.get_or_create(tx, address, "private", now)
        if route.active_pack != address.pack:
            routes.set_pack(tx, route, address.pack, now)


def _number(name: str) -> int:
    """Return the number that stands for a name among updates."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def _content(text: str, files: Sequence[Attachment], number: int) -> Content:
    command = lexer.command(text)
    items = tuple(replace(item, message_id=number) for item in files)
    match items:
        case ():
            return command or Text(text)
        case (item,):
            return Attached(item, command=command)
        case _:
            return Album(f"web{number}", items, command=command)


def _shown(text: str, files: Sequence[Attachment]) -> Rendered:
    """What the page shows of what was said."""
    media = tuple(
        Media(_SHOWN.get(one.kind, "document"), one.file_id.rpartition("/")[2], one.name)
        for one in files
    )
    if len(media) > 1:
        return Rendered(text, album=media)
    return Rendered(text, media=media[0] if media else None)


_WITHIN_S = 10.0
_WORDS_CHARS = 4_096
"""Of an answer in words, as a message in a chat has."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Answers gates, and takes grants back, as the owner and as nobody else.

    `outcome` stores an inbound as a job, and returns what it ended with.
    """

    database: Database
    owner: Callable[[], Owner]
    outcome: Callable[[Inbound], Awaitable[str]]

    async def decide(self, gate_id: str, choice: str, words: str = "") -> str:
        """Answer a gate as a tap or words in its chat do; return what its message says then.

        Raises:
            LookupError: there is no such gate.
            ValueError: it offers no such choice, or takes no such words.
            Refused: it is over, or not the owner's to answer.
        """

        def look(tx: Tx) -> tuple[Gate | None, bool]:
            gate = gates.get(tx, gate_id)
            return gate, bool(gate and gates.is_off_record(tx, gate))

        gate, off_record = await self.database.read(look)
        if gate is None:
            raise LookupError(gate_id)
        if gate.state != "open":
            raise Refused(_over(gate, off_record=off_record))
        if why := undecidable(gate, self.owner(), off_record=off_record):
            raise Refused(why)
        said = _said(gate, words.strip()) if words else _tapped(gate, choice)
        inbound = Inbound(gate.address, Person(gate.person), said, origin="web")
        try:
            async with asyncio.timeout(_WITHIN_S):
                outcome = await self.outcome(inbound)
        except TimeoutError:
            raise Refused(text("deciding.stored")) from None
        if outcome != ANSWERED:
            gate, off_record = await self.database.read(look)
            if gate and gate.state != "open":
                raise Refused(_over(gate, off_record=off_record))
            raise Refused(outcome)
        gate, _ = await self.database.read(look)
        return sentences.question_settled(gate.kind, gate.state, gate.answer) if gate else ""

    async def revoke(self, grant_id: str) -> Grant:
        """Take a grant back: from the next call on it lets nothing pass.

        Raises:
            LookupError: there is no such grant.
        """
        grant = await self.database.transact(
            lambda tx: gates.revoke_grant(tx, grant_id), durable=True
        )
        if grant is None:
            raise LookupError(grant_id)
        log.info("grant_revoked", pack=grant.pack, tool=grant.tool, origin="web")
        return grant


def undecidable(gate: Gate, owner: Owner, *, off_record: bool) -> str:
    """Return why the owner cannot decide an open gate at the page, "" = they can."""
    at_home = gate.address.platform in ("cli", "web")
    if off_record:
        return text("deciding.off-record")
    if not (at_home or owner.id == gate.person != ""):
        return text("deciding.not-yours")
    return ""


def choices(gate: Gate) -> list[tuple[str, str]]:
    """Return what a gate offers: (choice, what its button says)."""
    names = gate.options if gate.kind == APPROVAL else map(str, range(len(gate.options)))
    labels = [sentences.label(gate.kind, option) for option in gate.options]
    return list(zip(names, labels, strict=True))


def _tapped(gate: Gate, choice: str) -> Button:
    """Return the tap that makes a choice. Raises: ValueError."""
    names = [name for name, _ in choices(gate)]
    if choice not in names:
        raise ValueError(text("deciding.no-choice"))
    number = names.index(choice)
    kind = "approval" if gate.kind == APPROVAL else "choice"
    return Button(
        encode(kind, gate.id, choice), sentences.label(gate.kind, gate.options[number]), ""
    )


def _said(gate: Gate, words: str) -> Text:
    """Return what answers a question in words. Raises: ValueError."""
    if gate.kind == APPROVAL:
        raise ValueError(text("deciding.choices-only"))
    if not words:
        raise ValueError(text("deciding.no-words"))
    if len(words) > _WORDS_CHARS:
        raise ValueError(text("deciding.too-long", most=_WORDS_CHARS))
    return Text(words, answers=gate.id)


def _over(gate: Gate, *, off_record: bool) -> str:
    """Say how a gate ended, if that is kept."""
    if off_record or (gate.state == "answered" and not gate.answer):
        return text("deciding.over")
    how = sentences.question_settled(gate.kind, gate.state, gate.answer)
    return text("deciding.over-so", how=how)
