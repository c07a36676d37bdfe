"""What only tests ask of the local Telegram: more acts of people, its state, the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from aouo.emulator.acts import write
from aouo.emulator.chats import Chat, Membership, Message
from aouo.emulator.description import JsonObject, check
from aouo.emulator.entities import Formatted
from aouo.emulator.methods import bot
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import World
from tests.fakes.telegram.faults import FAULT_KINDS, Fault

if TYPE_CHECKING:
    from tests.fakes.telegram import LocalTelegram

_Verb: TypeAlias = "Callable[[LocalTelegram, JsonObject], Any]"

READS = frozenset({"state", "calls", "violations", "faults_pending"})


def send_other(
    world: World,
    now: float,
    *,
    user: int,
    chat: int,
    fields: JsonObject,
    thread: int | None = None,
) -> Message:
    """Send any other kind of message (contact, location, dice) by its Message fields."""
    sample = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}}
    problems = check(("Message",), sample | fields, "Message")
    if problems:
        raise bad_request("; ".join(map(str, problems)))
    return write(world, now, user, chat, Formatted(""), thread=thread, other=fields)


def delete(world: World, *, user: int, chat: int, message_id: int) -> None:
    """Delete a message as a person; the bot gets no update."""
    place = world.chats[chat]
    place.message(message_id, "message to delete not found")
    del place.messages[message_id]


def join(world: World, now: float, *, user: int, chat: int) -> None:
    """Let a person join; the bot sees the service message."""
    place = world.chats[chat]
    bot.change(world, now, place, user, user, Membership("member"))
    fields: JsonObject = {"new_chat_members": [world.person(user).as_json()]}
    bot.service(world, place, user, now, None, fields)


def leave(world: World, now: float, *, user: int, chat: int) -> None:
    """Let a person leave."""
    place = world.chats[chat]
    bot.change(world, now, place, user, user, Membership("left"))
    bot.service(world, place, user, now, None, {"left_chat_member": world.person(user).as_json()})


def block(world: World, now: float, *, user: int) -> None:
    """Block the bot in a person's private chat."""
    bot.set_bot_status(world, now, user=user, chat=user, status=Membership("kicked"))


def upgrade(world: World, now: float, *, user: int, chat: int) -> Chat:
    """Make a basic group a supergroup: both get a service message, and the old id is refused."""
    old = world.chats[chat]
    if old.kind != "group" or old.migrated_to is not None:
        raise bad_request("only a basic group can be upgraded")
    new = world.add_chat("supergroup", old.title)
    new.members = dict(old.members)
    new.ids = count(1)
    bot.service(world, old, user, now, None, {"migrate_to_chat_id": new.id})
    bot.service(world, new, user, now, None, {"migrate_from_chat_id": old.id})
    old.migrated_to = new.id
    return new


def set_bot_status(here: LocalTelegram, arguments: JsonObject) -> None:
    membership = Membership(arguments.pop("status"), arguments.pop("manages_topics", True))
    bot.set_bot_status(here.world, here.now, status=membership, **arguments)


def fault(here: LocalTelegram, arguments: JsonObject) -> None:
    if arguments.get("kind") not in FAULT_KINDS:
        raise bad_request(f"a fault is one of {', '.join(FAULT_KINDS)}")
    here.faults.append(Fault(**arguments))


def flood(here: LocalTelegram, arguments: JsonObject) -> None:
    here.flood.on = arguments["on"] is True


def state(here: LocalTelegram, arguments: JsonObject) -> Any:
    world = here.world
    return {
        "bot": world.bot.as_json(),
        "people": [person.as_json() for person in world.people.values() if not person.is_bot],
        "chats": [
            chat.as_json() | {"topics": [topic.as_json() for topic in chat.topics.values()]}
            for chat in world.chats.values()
        ],
    }


def _done(act: Callable[..., None]) -> _Verb:
    """Return the verb of an act without a result."""
    return lambda here, arguments: act(here.world, here.now, **arguments)


VERBS: dict[str, _Verb] = {
    "send_other": lambda here, arguments: here.shown(send_other(here.world, here.now, **arguments)),
    "join": _done(join),
    "leave": _done(leave),
    "block": _done(block),
    "unblock": _done(bot.unblock),
    "delete": lambda here, arguments: delete(here.world, **arguments),
    "upgrade": lambda here, arguments: upgrade(here.world, here.now, **arguments).as_json(),
    "set_bot_status": set_bot_status,
    "calls": lambda here, _: [asdict(call) for call in here.journal.calls],
    "violations": lambda here, _: here.journal.violations,
    "clear_faults": lambda here, _: here.faults.clear(),
    "faults_pending": lambda here, _: [asdict(fault) for fault in here.faults],
    "fault": fault,
    "flood": flood,
    "state": state,
}
