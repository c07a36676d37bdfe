"""Words the notices about topics: what `/setup_topics` did, why it failed, and what helps."""

from __future__ import annotations

from typing import Literal, assert_never

from aouo.facts.notices import NoTopicsHere, TopicsSetUp, TopicTrouble


def set_up(notice: TopicsSetUp) -> str:
    lines = [
        f"{head}: {', '.join(packs)}"
        for head, packs in (
            ("Created", notice.created),
            ("There already", notice.bound),
            ("Not created", tuple(pack for pack, _ in notice.failed)),
        )
        if packs
    ]
    reasons: dict[TopicTrouble, None] = {why: None for _, why in notice.failed}
    lines += map(_trouble, reasons)
    if notice.hidden:
        lines.append(
            "Privacy mode hides from me whatever does not mention me, answer me or begin with a "
            "command, in these topics too. Make me an administrator here, or switch it off: "
            "@BotFather, /setprivacy, then add me to the group again."
        )
    return "\n".join(lines)


def none_here(notice: NoTopicsHere) -> str:
    match notice.why:
        case "packs":
            return "No pack is installed, so there is nothing to give a topic to."
        case "group":
            return (
                "This group has no topics. Switch them on in the group's settings, make me an "
                "administrator with the right “Manage topics”, then send /setup_topics again."
            )
        case "private":
            return (
                "This chat has no topics. Send /setup_topics in a group with topics; or let the "
                "owner switch topics on for this bot with @BotFather."
            )
        case "elsewhere":
            return "Topics are a thing of Telegram: send /setup_topics in a group with topics."
        case _:
            assert_never(notice.why)


def shut(title: str, how: Literal["closed", "deleted"]) -> str:
    """Return why a message for a topic comes outside it.

    Telegram may also not find topics that exist: on 8 May 2026 all in private chats.
    Source: github.com/tdlib/telegram-bot-api/issues/847 and /693.
    """
    named = f" “{title}”" if title else ""
    if how == "deleted":
        return (
            f"Telegram does not find the topic{named}, so this comes here. If it is still there, "
            "write something in it, and I go on there."
        )
    return f"The topic{named} is closed, so this comes here. Once it is open again, I answer there."


def _trouble(why: TopicTrouble) -> str:
    match why:
        case "admin":
            return (
                "I am no administrator here: make me one with the right “Manage topics”, then "
                "send /setup_topics again."
            )
        case "right":
            return (
                "I lack the right “Manage topics”: give it to me in the group's settings, under "
                "administrators, then send /setup_topics again."
            )
        case "off":
            return "Topics are switched off here: switch them on, then send /setup_topics again."
        case "later":
            return "Telegram did not answer in time: send /setup_topics again in a minute."
        case "unknown":
            return (
                "The connection broke meanwhile: if the topic shows up I take it over, if not, "
                "send /setup_topics again."
            )
        case "refused":
            return "Telegram refused to create it; the log has details under topic_not_created."
        case _:
            assert_never(why)
