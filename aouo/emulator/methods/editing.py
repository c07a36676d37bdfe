"""Methods that change or remove a message, or answer what a person did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aouo.emulator.chats import Chat, Message
from aouo.emulator.description import JsonObject
from aouo.emulator.files import Parameters
from aouo.emulator.methods.sending import body_text, caption_text
from aouo.emulator.objects import inline_keyboard, message_json
from aouo.emulator.refusals import bad_request
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


def _delete_message(world: World, params: Parameters, now: float) -> bool:
    chat = world.chat_for_send(params.values["chat_id"])
    message = chat.message(params.integer("message_id"), "message to delete not found")
    _check_deletable(world, chat, message, now)
    del chat.messages[message.id]
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


METHODS = (_edit_message_text, _edit_message_caption, _delete_message, _answer_callback_query)
