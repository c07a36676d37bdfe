"""Messages as people see them."""

from dataclasses import dataclass

from aouo.emulator.jsons import JsonObject


@dataclass(frozen=True, slots=True)
class Button:
    """An inline button; `data` is "" if it opens `url`."""

    text: str
    data: str
    url: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as people see it; `raw` is the Message object of the Bot API."""

    id: int
    chat_id: int
    thread_id: int | None
    sender_id: int
    from_bot: bool
    text: str
    buttons: tuple[Button, ...]
    edited: bool
    reply_to: int | None
    reactions: tuple[str, ...]
    raw: JsonObject

    @staticmethod
    def of(raw: JsonObject) -> "ChatMessage":
        rows: list[list[JsonObject]] = raw.get("reply_markup", {}).get("inline_keyboard", [])
        reactions: dict[str, list[str]] = raw.get("reactions", {})
        buttons = (
            Button(one["text"], one.get("callback_data", ""), one.get("url", ""))
            for row in rows
            for one in row
        )
        return ChatMessage(
            id=raw["message_id"],
            chat_id=raw["chat"]["id"],
            thread_id=raw.get("message_thread_id"),
            sender_id=raw["from"]["id"],
            from_bot=raw["from"]["is_bot"],
            text=raw.get("text", raw.get("caption", "")),
            buttons=tuple(buttons),
            edited="edit_date" in raw,
            reply_to=raw.get("reply_to_message", {}).get("message_id"),
            reactions=tuple(emoji for one in reactions.values() for emoji in one),
            raw=raw,
        )
