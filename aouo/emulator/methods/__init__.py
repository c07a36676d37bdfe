"""The methods the emulator knows, by their lower-case names."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from aouo.emulator.files import Parameters
from aouo.emulator.methods import bot, editing, sending
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
        bot.get_chat,
        bot.get_chat_member,
        bot.get_chat_administrators,
        bot.get_chat_member_count,
        bot.leave_chat,
        sending.send_message,
        sending.send_media_group,
        sending.send_chat_action,
        sending.send_message_draft,
        editing.edit_message_text,
        editing.edit_message_caption,
        editing.edit_message_reply_markup,
        editing.delete_message,
        editing.delete_messages,
        editing.answer_callback_query,
        editing.set_message_reaction,
        bot.create_forum_topic,
        bot.edit_forum_topic,
        bot.close_forum_topic,
        bot.reopen_forum_topic,
        bot.delete_forum_topic,
    )
} | {f"send{kind}": partial(sending.send_file, kind=kind) for kind in sending.KINDS}
