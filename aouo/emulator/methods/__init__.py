"""The methods the emulator knows, by their lower-case names."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from aouo.emulator.methods import bot, chats, editing, reactions, sending, topics
from aouo.emulator.parameters import Parameters
from aouo.emulator.world import World

Handler: TypeAlias = Callable[[World, Parameters, float], Any]

# getUpdates is not here: it waits, so it lives in `polling`.
METHODS: Mapping[str, Handler] = {
    handler.__name__.replace("_", ""): handler
    for handler in (
        bot.get_me,
        bot.log_out,
        bot.close,
        bot.set_webhook,
        bot.delete_webhook,
        bot.get_webhook_info,
        bot.set_my_commands,
        bot.get_my_commands,
        bot.delete_my_commands,
        bot.get_file,
        chats.get_chat,
        chats.get_chat_member,
        chats.get_chat_administrators,
        chats.get_chat_member_count,
        chats.leave_chat,
        sending.send_message,
        sending.send_media_group,
        sending.send_chat_action,
        sending.send_message_draft,
        editing.edit_message_text,
        editing.edit_message_caption,
        editing.edit_message_reply_markup,
        editing.delete_message,
        editing.delete_messages,
        reactions.answer_callback_query,
        reactions.set_message_reaction,
        topics.create_forum_topic,
        topics.edit_forum_topic,
        topics.close_forum_topic,
        topics.reopen_forum_topic,
        topics.delete_forum_topic,
    )
} | {f"send{kind}": partial(sending.send_file, kind=kind) for kind in sending.KINDS}
