"""Where people talk: a conversation's address and the keys derived from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Platform: TypeAlias = Literal["tg", "web", "cli"]


@dataclass(frozen=True, slots=True)
class ConversationAddress:
    """One chat, or one topic of a chat that has topics.

    `thread_id` and `user_id` are "" where the address has none, as they are stored.
    """

    platform: Platform
    chat_id: str
    thread_id: str = ""
    user_id: str = ""

    @property
    def around(self) -> ConversationAddress:
        """The chat that holds this topic, itself where there is none: what a topic that is gone
        cannot take is said there."""
        return replace(self, thread_id="")

    @property
    def queue_key(self) -> str:
        """`<chat_id>[:<thread_id>]`: what runs one turn at a time."""
        return f"{self.chat_id}:{self.thread_id}" if self.thread_id else self.chat_id

    @property
    def lane(self) -> str:
        """The queue key, kept apart by platform so that ids of two platforms cannot meet."""
        return self.queue_key if self.platform == "tg" else f"{self.platform}:{self.queue_key}"

    def session_key(self, pack: str) -> str:
        """`<platform>:<chat>[:thread:<thread>][:user:<user>][:pack:<pack>]`; no pack = general."""
        key = f"{self.platform}:{self.chat_id}"
        if self.thread_id:
            key += f":thread:{self.thread_id}"
        if self.user_id:
            key += f":user:{self.user_id}"
        return f"{key}:pack:{pack}" if pack else key

    def __str__(self) -> str:
        return self.session_key("")
