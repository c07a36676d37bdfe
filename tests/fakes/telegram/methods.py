"""Methods of the Bot API that aouo does not call, for the tests of the local Telegram itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from aouo.emulator.chats import Membership
from aouo.emulator.description import api_types
from aouo.emulator.files import Parameters
from aouo.emulator.methods import Handler, bot, editing
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import World
from tests.fakes.telegram.webhook import set_webhook


def _log_out(world: World, params: Parameters, now: float) -> bool:
    return True


def _close(world: World, params: Parameters, now: float) -> bool:
    return True


def _get_my_commands(world: World, params: Parameters, now: float) -> Any:
    return world.commands.get(bot._scope(params), [])


def _delete_my_commands(world: World, params: Parameters, now: float) -> bool:
    world.commands.pop(bot._scope(params), None)
    return True


def _get_chat_administrators(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    if chat.kind == "private":
        raise bad_request("there are no administrators in the private chat")
    return [
        member.as_json(world.person(person_id))
        for person_id, member in chat.members.items()
        if member.privileged and person_id != world.bot.id
    ]


def _get_chat_member_count(world: World, params: Parameters, now: float) -> int:
    chat = world.chat_of(params.values["chat_id"])
    return sum(1 for member in chat.members.values() if member.present)


def _leave_chat(world: World, params: Parameters, now: float) -> bool:
    chat = world.chat_for_send(params.values["chat_id"])
    chat.members[world.bot.id] = Membership("left")
    return True


def _close_forum_topic(world: World, params: Parameters, now: float) -> bool:
    return bot._set_closed(world, params, now, closed=True)


def _delete_forum_topic(world: World, params: Parameters, now: float) -> bool:
    chat = bot._forum(world, params, "delete")
    bot.delete_topic(chat, params.integer("message_thread_id"))
    return True


def _edit_message_reply_markup(world: World, params: Parameters, now: float) -> Any:
    return editing._changed(world, editing._own_message(world, params), params, now, {})


def _delete_messages(world: World, params: Parameters, now: float) -> bool:
    """Delete messages; unknown ids are skipped."""
    chat = world.chat_for_send(params.values["chat_id"])
    ids: Sequence[int] = params.values.get("message_ids", ())
    if not 1 <= len(ids) <= 100:
        raise bad_request("message identifiers are not specified")
    found = [chat.messages[message_id] for message_id in ids if message_id in chat.messages]
    for message in found:
        editing._check_deletable(world, chat, message, now)
    for message in found:
        chat.messages.pop(message.id, None)
    return True


def _set_message_reaction(world: World, params: Parameters, now: float) -> bool:
    """Set the bot's reaction, one at most; an empty list removes it."""
    chat = world.chat_for_send(params.values["chat_id"])
    message = chat.message(params.integer("message_id"), "message to react not found")
    given = params.objects("reaction")
    chosen = tuple(str(item.get("emoji", "")) for item in given)
    if len(chosen) > 1 or not set(chosen) <= _allowed_reactions():
        raise bad_request("REACTION_INVALID")
    reactions = dict(message.reactions) | {world.bot.id: chosen}
    chat.keep(replace(message, reactions={who: one for who, one in reactions.items() if one}))
    return True


@cache
def _allowed_reactions() -> frozenset[str]:
    """Return the emoji that the description lists."""
    text = api_types()["ReactionTypeEmoji"].fields["emoji"].text
    return frozenset(re.findall(r'"([^"]+)"', text))


METHODS: Mapping[str, Handler] = {
    handler.__name__.replace("_", ""): handler
    for handler in (
        set_webhook,
        _log_out,
        _close,
        _get_my_commands,
        _delete_my_commands,
        _get_chat_administrators,
        _get_chat_member_count,
        _leave_chat,
        _close_forum_topic,
        _delete_forum_topic,
        _edit_message_reply_markup,
        _delete_messages,
        _set_message_reaction,
    )
}
