"""Methods that change or remove a message, or answer what a person did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from aouo.emulator.chats import Chat, Message
from aouo.emulator.description import JsonObject, api_types
from aouo.emulator.faults import bad_request
from aouo.emulator.files import Parameters
from aouo.emulator.methods.sending import body_text, caption_text
from aouo.emulator.objects import inline_keyboard, message_json
from aouo.emulator.world import CALLBACK_DEADLINE_S, World

_DELETABLE_S = 48 * 3600  # in private chats and basic groups
_SAME = (
    "message is not modified: specified new message content and reply markup are exactly the "
    "same as a current content and reply markup of the message"
)


def _edit_message_text(world: World, params: Parameters, now: float) -> Any:
    """Edit a text; without `reply_markup` the keyboard is removed, as on the real server."""
    content = body_text(params)
    message = _own_message(world, params)
    if message.attachment is not None or message.service:
        raise bad_request("there is no text in the message to edit")
    return _changed(world, message, params, now, {"content": content})


def _edit_message_caption(world: World, params: Parameters, now: float) -> Any:
    content = caption_text(params)
    message = _own_message(world, params)
    if message.attachment is None:
        raise bad_request("there is no caption in the message to edit")
    return _changed(world, message, params, now, {"content": content})


def _edit_message_reply_markup(world: World, params: Parameters, now: float) -> Any:
    return _changed(world, _own_message(world, params), params, now, {})


def _delete_message(world: World, params: Parameters, now: float) -> bool:
    chat = world.chat_for_send(params.values["chat_id"])
    message = chat.message(params.integer("message_id"), "message to delete not found")
    _check_deletable(world, chat, message, now)
    del chat.messages[message.id]
    return True


def _delete_messages(world: World, params: Parameters, now: float) -> bool:
    """Delete messages; unknown ids are skipped."""
    chat = world.chat_for_send(params.values["chat_id"])
    ids = params.integers("message_ids")
    if not 1 <= len(ids) <= 100:
        raise bad_request("message identifiers are not specified")
    found = [chat.messages[message_id] for message_id in ids if message_id in chat.messages]
    for message in found:
        _check_deletable(world, chat, message, now)
    for message in found:
        chat.messages.pop(message.id, None)
    return True


def _own_message(world: World, params: Parameters) -> Message:
    if params.has("inline_message_id"):
        raise bad_request("MESSAGE_ID_INVALID")
    if not params.has("chat_id"):
        raise bad_request("chat_id is empty")
    if not params.has("message_id"):
        raise bad_request("message identifier is not specified")
    chat = world.chat_for_send(params.values["chat_id"])
    message = chat.message(params.integer("message_id"), "message to edit not found")
    if message.sender_id != world.bot.id or message.service:
        raise bad_request("message can't be edited")
    return message


def _changed(
    world: World, message: Message, params: Parameters, now: float, change: Mapping[str, Any]
) -> Any:
    keyboard = inline_keyboard(params.object("reply_markup"))
    edited = replace(message, keyboard=keyboard, **change)
    if edited == message:
        raise bad_request(_SAME)
    if change:  # a new keyboard alone does not mark the message as edited
        edited = replace(edited, edited_at=int(now))
    return message_json(world, world.chats[message.chat_id].keep(edited))


def _check_deletable(world: World, chat: Chat, message: Message, now: float) -> None:
    if chat.kind != "supergroup" and now - message.date > _DELETABLE_S:
        raise bad_request("message can't be deleted for everyone")
    own = message.sender_id == world.bot.id
    if chat.kind != "private" and not own and not world.bot_status(chat).privileged:
        raise bad_request("message can't be deleted")


_MAX_ANSWER = 200
_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"


def _answer_callback_query(world: World, params: Parameters, now: float) -> bool:
    if len(params.text("text")) > _MAX_ANSWER:
        raise bad_request("MESSAGE_TOO_LONG")
    query_id = params.text("callback_query_id")
    if query_id not in world.tapped_at or query_id in world.tap_answers:
        raise bad_request(_TOO_OLD)
    if now - world.tapped_at[query_id] > CALLBACK_DEADLINE_S:
        raise bad_request(_TOO_OLD)
    answer: JsonObject = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    if params.text("url"):
        answer["url"] = params.text("url")
    world.tap_answers[query_id] = answer
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


METHODS = (
    _edit_message_text,
    _edit_message_caption,
    _edit_message_reply_markup,
    _delete_message,
    _delete_messages,
    _answer_callback_query,
    _set_message_reaction,
)
