"""Changes memberships: joining, leaving, blocking, upgrading a group to a supergroup."""

from itertools import count

from aouo.emulator.chats import Chat
from aouo.emulator.jsons import JsonObject
from aouo.emulator.methods.topics import announce, service
from aouo.emulator.people import Membership
from aouo.emulator.refusal import bad_request
from aouo.emulator.world import World


def join(world: World, now: float, *, user: int, chat: int) -> None:
    """Let a person join; the bot sees the service message."""
    place = world.chats[chat]
    _change(world, now, place, user, user, Membership("member"))
    fields: JsonObject = {"new_chat_members": [world.person(user).as_json()]}
    service(world, place, user, now, None, fields)


def leave(world: World, now: float, *, user: int, chat: int) -> None:
    """Let a person leave."""
    place = world.chats[chat]
    _change(world, now, place, user, user, Membership("left"))
    service(world, place, user, now, None, {"left_chat_member": world.person(user).as_json()})


def block(world: World, now: float, *, user: int) -> None:
    """Block the bot in a person's private chat."""
    set_bot_status(world, now, user=user, chat=user, status=Membership("kicked"))


def unblock(world: World, now: float, *, user: int) -> None:
    """Unblock the bot in a person's private chat; nothing happens if it was not blocked."""
    if world.bot_status(world.chats[user]).status == "kicked":
        set_bot_status(world, now, user=user, chat=user, status=Membership("member"))


def set_bot_status(world: World, now: float, *, user: int, chat: int, status: Membership) -> None:
    """Add, promote, demote or remove the bot as a person."""
    _change(world, now, world.chats[chat], user, world.bot.id, status)


def upgrade(world: World, now: float, *, user: int, chat: int) -> Chat:
    """Make a basic group a supergroup: both get a service message, and the old id is refused."""
    old = world.chats[chat]
    if old.kind != "group" or old.migrated_to is not None:
        raise bad_request("only a basic group can be upgraded")
    new = world.add_chat("supergroup", old.title)
    new.members = dict(old.members)
    new.ids = count(1)
    service(world, old, user, now, None, {"migrate_to_chat_id": new.id})
    service(world, new, user, now, None, {"migrate_from_chat_id": old.id})
    old.migrated_to = new.id
    return new


def welcome_bot(world: World, chat: Chat, creator_id: int, now: float) -> None:
    """Send the updates that tell the bot of a new group with it."""
    _change(world, now, chat, creator_id, world.bot.id, Membership("member"))
    kind = "group_chat_created" if chat.kind == "group" else "supergroup_chat_created"
    service(world, chat, creator_id, now, None, {kind: True})


def tell_topic_created(world: World, chat: Chat, thread_id: int) -> None:
    """Deliver the service message of a topic that a person created."""
    announce(world, chat, chat.messages[thread_id])


def _change(
    world: World, now: float, chat: Chat, actor_id: int, person_id: int, new: Membership
) -> None:
    old = chat.membership(person_id)
    person = world.person(person_id)
    chat.members[person_id] = new
    kind = "my_chat_member" if person_id == world.bot.id else "chat_member"
    update: JsonObject = {
        "chat": chat.as_json(),
        "from": world.person(actor_id).as_json(),
        "date": int(now),
        "old_chat_member": old.as_json(person),
        "new_chat_member": new.as_json(person),
    }
    world.updates.push(kind, update)
