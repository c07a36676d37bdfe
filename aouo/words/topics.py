"""Says what became of topics: what `/setup_topics` did, why it failed, and what helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from aouo.facts.ports import Rendered
from aouo.words.catalogue import message, say, text


def set_up(
    created: Sequence[str], bound: Sequence[str], failed: Mapping[str, str], *, hidden: bool
) -> Rendered:
    """Return the report of `/setup_topics`, pack by pack; `failed` has why, by pack.

    `hidden`: Telegram shows the bot only some of what is written in the topics.
    """
    lines = [
        text(name, packs=", ".join(packs))
        for name, packs in (
            ("topics.created", created),
            ("topics.bound", bound),
            ("topics.failed", failed),
        )
        if packs
    ]
    lines += [text(f"topics.trouble-{why}") for why in dict.fromkeys(failed.values())]
    return message("\n".join([*lines, *([text("topics.hidden")] if hidden else [])]))


def none_here(why: str) -> Rendered:
    """Return why `/setup_topics` cannot do anything in this chat."""
    return say(f"topics.none-{why}")


def shut(title: str, how: Literal["closed", "deleted"]) -> Rendered:
    """Return why a message for a topic comes outside it; `title` "" = unknown.

    Telegram may also not find topics that exist: on 8 May 2026 all in private chats.
    Source: github.com/tdlib/telegram-bot-api/issues/847 and /693.
    """
    return say(f"topics.shut-{how}", title=f" “{title}”" if title else "")
