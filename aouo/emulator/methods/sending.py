"""Methods that put something into a chat."""

from dataclasses import replace
from typing import Any

from aouo.emulator.chats import Attachment, MediaKind, Message
from aouo.emulator.description import JsonObject
from aouo.emulator.entities import Formatted, formatted, utf16_length
from aouo.emulator.files import Parameters, attach
from aouo.emulator.objects import inline_keyboard, message_json
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import DRAFT_S, TYPING_S, Shown, World

MAX_TEXT = 4096  # UTF-16 units: the stricter of the two readings of Telegram's limit
_MAX_CAPTION = 1024
_MAX_RAW_BYTES = 32_768
_ACTIONS = frozenset(
    [
        *("typing", "choose_sticker", "find_location", "cancel"),
        *("upload_photo", "upload_video", "upload_voice", "upload_document", "upload_video_note"),
        *("record_video", "record_voice", "record_video_note"),
    ]
)

KINDS: tuple[MediaKind, ...] = ("photo", "audio", "voice", "document", "video", "animation")
"""What one message can hold: each has a method of its own."""


def _send_message(world: World, params: Parameters, now: float) -> Any:
    begun = _begun(world, params, now)
    return _post(world, params, begun, body_text(params), None)


def _send_media_group(world: World, params: Parameters, now: float) -> Any:
    begun = _begun(world, params, now)
    items = params.objects("media")
    if not 2 <= len(items) <= 10:
        raise bad_request("media group must include 2-10 items")
    kinds = {str(item["type"]) for item in items}
    if len(kinds) > 1 and kinds & {"document", "audio"}:
        raise bad_request("can't use the media of the specified type in the album")
    album = world.serial("album-")
    prepared: list[tuple[Formatted, Attachment]] = []
    for item in items:
        one = Parameters(item, params.uploads)
        source = params.reference(one.text("media"))
        kind: Any = item["type"]
        prepared.append((caption_text(one), attach(world, kind, source, one)))
    return [
        _post(world, params, begun, content, attachment, album=album)
        for content, attachment in prepared
    ]


def _send_chat_action(world: World, params: Parameters, now: float) -> bool:
    """Show an action; unlike a send it may name General (1), and a deleted topic is no error."""
    chat = world.chat_for_send(params.values["chat_id"])
    action = params.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    thread_id = params.integer("message_thread_id")
    key = (chat.id, chat.thread_of(thread_id) if chat.is_forum else None)
    hidden = chat.kind == "supergroup" and chat.is_forum and thread_id == 0
    if action == "cancel":
        world.typing.pop(key, None)
    elif not hidden:
        world.typing[key] = Shown(action, now + TYPING_S)
    return True


def _send_message_draft(world: World, params: Parameters, now: float) -> bool:
    chat = world.chat_for_send(params.values["chat_id"])
    if chat.kind != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if params.integer("draft_id") == 0:
        raise bad_request("RANDOM_ID_INVALID")
    thread_id = chat.thread_for_send(params.integer("message_thread_id"))
    content = formatted(params.text("text"), params.objects("entities"))
    if utf16_length(content.text) > MAX_TEXT:
        raise bad_request("message is too long")
    draft_id = params.integer("draft_id")
    if (chat.id, thread_id, draft_id) not in world.stopped_drafts:
        stops = draft_id if params.flag("can_stop") else 0
        text = content.text or "Thinking…"
        world.drafts[chat.id, thread_id] = Shown(text, now + DRAFT_S, stops)
    return True


def body_text(params: Parameters) -> Formatted:
    """Return the text of a message, or refuse one beyond the limits."""
    raw = params.text("text")
    if not raw:
        raise bad_request("message text is empty")
    if len(raw.encode("utf-8", "surrogatepass")) > _MAX_RAW_BYTES:
        raise bad_request("text is too long")
    content = formatted(raw, params.objects("entities"))
    if not content.text:
        raise bad_request("text must be non-empty")
    if utf16_length(content.text) > MAX_TEXT:
        raise bad_request("message is too long")
    return content


def caption_text(params: Parameters) -> Formatted:
    """Return the caption, perhaps empty, or refuse one beyond its limit."""
    content = formatted(params.text("caption"), params.objects("caption_entities"))
    if utf16_length(content.text) > _MAX_CAPTION:
        raise bad_request("message caption is too long")
    return content


def send_file(world: World, params: Parameters, now: float, kind: MediaKind) -> Any:
    begun = _begun(world, params, now)
    content = caption_text(params)
    return _post(world, params, begun, content, attach(world, kind, params.file(kind), params))


def _begun(world: World, params: Parameters, now: float) -> Message:
    """Return a call's message without id and content; refusals come before any effect."""
    chat = world.chat_for_send(params.values["chat_id"])
    reply = params.object("reply_parameters")
    thread_id = chat.thread_for_send(params.integer("message_thread_id"))
    begun = Message(0, chat.id, world.bot.id, int(now), thread_id=thread_id)
    if reply is None:
        return begun
    target = chat.messages.get(reply["message_id"])
    if target is None:
        if reply.get("allow_sending_without_reply") is True:
            return begun
        raise bad_request("message to be replied not found")
    quote = str(reply.get("quote", ""))
    if quote and quote not in target.content.text:
        raise bad_request("QUOTE_TEXT_INVALID")
    if thread_id is None and target.thread_id is not None:
        thread_id = chat.thread_for_send(target.thread_id)
    return replace(begun, thread_id=thread_id, reply_to=target.id, quote=quote)


def _post(
    world: World,
    params: Parameters,
    begun: Message,
    content: Formatted,
    attachment: Attachment | None,
    *,
    album: str = "",
) -> JsonObject:
    keyboard = inline_keyboard(params.object("reply_markup"))
    chat = world.chats[begun.chat_id]
    message = replace(
        begun,
        id=next(chat.ids),
        content=content,
        keyboard=keyboard,
        attachment=attachment,
        album=album,
    )
    world.still(chat, begun.thread_id)
    return message_json(world, chat.keep(message))


METHODS = (_send_message, _send_media_group, _send_chat_action, _send_message_draft)
