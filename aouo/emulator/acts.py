"""Acts of people: write, edit, tap, react, send files; each becomes an update for the bot."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aouo.emulator.chats import Attachment, Chat, MediaKind, Message
from aouo.emulator.description import JsonObject, Upload
from aouo.emulator.entities import Formatted, formatted, utf16_length
from aouo.emulator.files import Parameters, attach
from aouo.emulator.methods.bot import unblock
from aouo.emulator.methods.sending import MAX_TEXT
from aouo.emulator.objects import inaccessible_json, message_json
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import ANONYMOUS, World


def say(world: World, now: float, *, user: int, chat: int, text: str, **how: Any) -> Message:
    """Write a text as a person; the server marks its links, commands and mentions. See `write`."""
    content = formatted(text)
    if not content.text:
        raise bad_request("text must be non-empty")
    if utf16_length(content.text) > MAX_TEXT:
        raise bad_request("message is too long")
    return write(world, now, user, chat, content, **how)


def send_file(
    world: World,
    now: float,
    *,
    user: int,
    chat: int,
    kind: MediaKind,
    upload: Upload,
    caption: str = "",
    album: str = "",
    **how: Any,
) -> Message:
    """Send a file as a person; files with the same `album` belong together."""
    attachment = attach(world, kind, upload, Parameters({}, {}))
    content = formatted(caption)
    return write(world, now, user, chat, content, attachment=attachment, album=album, **how)


def edit(world: World, now: float, *, user: int, chat: int, message_id: int, text: str) -> Message:
    """Change the text or caption of a person's message."""
    place = world.chats[chat]
    message = place.message(message_id, "message to edit not found")
    if message.sender_id != user:
        raise bad_request("message can't be edited")
    edited = replace(message, content=formatted(text), edited_at=int(now))
    place.keep(edited)
    _deliver(world, "edited_message", place, edited)
    return edited


def tap(world: World, now: float, *, user: int, chat: int, message_id: int, data: str) -> str:
    """Tap a button as a person, and return the id of the query; a deleted message is reported as
    inaccessible."""
    place = world.chats[chat]
    message = place.messages.get(message_id)
    query_id = world.serial("48151623")
    world.tapped_at[query_id] = now
    shown = (
        inaccessible_json(world, chat, message_id)
        if message is None
        else message_json(world, message)
    )
    query: JsonObject = {
        "id": query_id,
        "from": world.person(user).as_json(),
        "message": shown,
        "chat_instance": str(abs(chat)),
        "data": data,
    }
    world.updates.push("callback_query", query)
    return query_id


def stop_draft(world: World, *, user: int, chat: int, thread: int | None = None) -> None:
    """Press *Stop* below a draft: it vanishes, later parts are not shown, the bot is told."""
    draft = world.drafts.get((chat, thread))
    if draft is None or not draft.stops or chat != user:
        raise bad_request("there is no draft to stop")
    del world.drafts[chat, thread]
    world.stopped_drafts.add((chat, thread, draft.stops))
    stopped: JsonObject = {"chat": world.chats[chat].as_json(), "draft_id": draft.stops}
    if thread is not None:
        stopped["message_thread_id"] = thread
    world.updates.push("stopped_message_generation", stopped)


def react(
    world: World, now: float, *, user: int, chat: int, message_id: int, emoji: str
) -> Message:
    """React to a message as a person; an empty emoji removes the reaction."""
    place = world.chats[chat]
    message = place.message(message_id, "message to react not found")
    old = message.reactions.get(user, ())
    new = (emoji,) if emoji else ()
    reactions = dict(message.reactions) | {user: new}
    changed = replace(message, reactions={who: one for who, one in reactions.items() if one})
    update: JsonObject = {
        "chat": place.as_json(),
        "message_id": message_id,
        "user": world.person(user).as_json(),
        "date": int(now),
        "old_reaction": [{"type": "emoji", "emoji": one} for one in old],
        "new_reaction": [{"type": "emoji", "emoji": one} for one in new],
    }
    world.updates.push("message_reaction", update)
    return place.keep(changed)


def write(
    world: World,
    now: float,
    user: int,
    chat_id: int,
    content: Formatted,
    *,
    thread: int | None = None,
    reply_to: int | None = None,
    attachment: Attachment | None = None,
    album: str = "",
    quote: str = "",
    other: Mapping[str, Any] | None = None,
    anonymous: bool = False,
) -> Message:
    """Keep a message of a person and deliver it.

    `quote` is the part of `reply_to` that the person selected, `other` are more fields of the
    message. `anonymous`: an administrator writes it in the name of the group.
    """
    chat = world.chats.get(chat_id)
    if chat is None:
        raise bad_request("chat not found")
    member = chat.membership(user)
    if not member.present:
        raise bad_request("the user is not a member of the chat")
    if anonymous and (chat.kind == "private" or not member.privileged):
        raise bad_request("only administrators of a group stay anonymous")
    if reply_to is not None:
        target = chat.message(reply_to, "message to be replied not found")
        if quote not in target.content.text:
            raise bad_request("QUOTE_TEXT_INVALID")
    manages = member.privileged and member.manages_topics
    thread_id = chat.thread_for_send(chat.thread_of(thread) or 0, closed_too=manages)
    if chat.kind == "private":
        world.acquainted.add(user)
        unblock(world, now, user=user)
    message = chat.keep(
        Message(
            id=next(chat.ids),
            chat_id=chat.id,
            sender_id=ANONYMOUS if anonymous else user,
            date=int(now),
            content=content,
            thread_id=thread_id,
            reply_to=reply_to,
            attachment=attachment,
            album=album,
            quote=quote,
            other={"sender_chat": chat.as_json()} if anonymous else other or {},
        )
    )
    _deliver(world, "message", chat, message)
    return message


def _deliver(world: World, kind: str, chat: Chat, message: Message) -> None:
    if world.message_seen_by_bot(chat, addressed=_is_addressed(world, chat, message)):
        world.acquainted.add(message.sender_id)
        world.updates.push(kind, message_json(world, message))


def _is_addressed(world: World, chat: Chat, message: Message) -> bool:
    """Whether a message passes privacy mode: commands, mentions of the bot and replies to it."""
    name = f"@{world.bot.username}".lower()
    text = message.content.text.lower()
    command = text.split(maxsplit=1)[0] if text.startswith("/") else ""
    target = chat.messages.get(message.reply_to or 0)
    return (
        (bool(command) and ("@" not in command or command.endswith(name)))
        or name in text.split()
        or (target is not None and target.sender_id == world.bot.id)
    )
