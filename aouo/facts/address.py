"""Where people talk: a conversation's address, its lane, and the keys derived from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

Platform: TypeAlias = Literal["tg", "web", "cli"]
GENERAL = "~"
"""The chat on the local page that belongs to no pack; no pack can be called so."""
_ADDRESS = re.compile(r"(tg|web|cli):(.+?)(?::thread:(.+?))?(?::user:(.+))?")


class Lane(str):
    """The name of a lane, whose jobs run one at a time.

    A job that must not wait for them runs in a second lane, which bypasses the conversation's.
    """

    __slots__ = ()
    MARK = "!"
    """The first character of every lane that bypasses another one."""

    @property
    def bypass(self) -> Lane:
        """The lane for jobs that must not wait in this one."""
        return Lane(f"{self.MARK}{self}")

    @property
    def bypassed(self) -> Lane:
        """The lane that this one bypasses."""
        return Lane(self.removeprefix(self.MARK))

    @property
    def refusals(self) -> Lane:
        """The lane for refusals of strangers who write in this one's conversation."""
        return Lane(f"{self.MARK}refuse:{self}")

    @property
    def family(self) -> tuple[Lane, Lane, Lane]:
        """This lane and those that bypass it."""
        return self, self.bypass, self.refusals

    @property
    def bypasses(self) -> bool:
        """Whether this lane bypasses another one."""
        return self.startswith(self.MARK)


@dataclass(frozen=True, slots=True)
class ConversationAddress:
    """One chat, or one topic of a chat that has topics.

    `thread_id` and `user_id` are "" where the address has none, as they are stored.
    """

    platform: Platform
    chat_id: str
    thread_id: str = ""
    user_id: str = ""

    @classmethod
    def parse(cls, text: str) -> ConversationAddress:
        """The inverse of `str`.

        Raises:
            ValueError: it is no address.
        """
        found = _ADDRESS.fullmatch(text)
        if not found:
            raise ValueError(f"not a conversation's address: {text!r}")
        return cls(cast("Platform", found[1]), found[2], found[3] or "", found[4] or "")

    @property
    def pack(self) -> str:
        """The pack whose chat on the local page this is, "" = of none: any pack may answer here."""
        of_a_pack = self.platform == "web" and self.chat_id != GENERAL
        return self.chat_id if of_a_pack else ""

    @property
    def columns(self) -> tuple[Platform, str, str, str]:
        """The parts as tables hold them: `platform, chat_id, thread_id, user_id`."""
        return self.platform, self.chat_id, self.thread_id, self.user_id

    @property
    def topic_columns(self) -> tuple[Platform, str, str]:
        """The parts without a person: `platform, chat_id, thread_id`."""
        return self.platform, self.chat_id, self.thread_id

    @property
    def chat_columns(self) -> tuple[Platform, str]:
        """The parts of a whole chat: `platform, chat_id`."""
        return self.platform, self.chat_id

    @property
    def around(self) -> ConversationAddress:
        """The chat that holds this topic (itself without a topic); messages for a topic that is
        gone are sent there."""
        return replace(self, thread_id="")

    @property
    def queue_key(self) -> str:
        """`<chat_id>[:<thread_id>]`: one turn runs at a time for each key."""
        return f"{self.chat_id}:{self.thread_id}" if self.thread_id else self.chat_id

    @property
    def lane(self) -> Lane:
        """The queue key, kept apart by platform so that ids of two platforms cannot meet."""
        apart = self.platform != "tg"
        return Lane(f"{self.platform}:{self.queue_key}" if apart else self.queue_key)

    @property
    def folder(self) -> str:
        """The name of its folder among the media, such as `tg_-100123_7`."""
        parts = filter(None, (self.platform, self.chat_id, self.thread_id))
        return re.sub(r"[^A-Za-z0-9_-]", "_", "_".join(parts))

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
