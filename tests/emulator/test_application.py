"""An independent client: python-telegram-bot's own Application talks to the emulator."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, Update
from telegram.error import BadRequest, RetryAfter
from telegram.ext import (
    Application,
    CallbackQueryHandler,
    CommandHandler,
    ContextTypes,
    MessageHandler,
    filters,
)

from aouo.emulator import ADA, HOUSEHOLD, VOCAB
from tests.fakes.telegram import LocalTelegram

App: TypeAlias = Application[Any, Any, Any, Any, Any, Any]
Context: TypeAlias = ContextTypes.DEFAULT_TYPE


async def echo(update: Update, _: Context) -> None:
    """Say it back in bold, then edit it and offer a button."""
    message = update.effective_message
    assert message is not None
    assert message.text is not None
    bold = MessageEntity(MessageEntity.BOLD, 0, len(message.text))
    sent = await message.reply_text(message.text, entities=[bold])
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("More", callback_data="more")]])
    await sent.edit_text(f"you said {message.text}", reply_markup=keyboard)


async def answer(update: Update, _: Context) -> None:
    query = update.callback_query
    assert query is not None
    await query.answer(f"got {query.data}", show_alert=True)


async def post(update: Update, context: Context) -> None:
    """Make a topic and write there, and into one that exists."""
    topic = await context.bot.create_forum_topic(HOUSEHOLD, "made by the bot")
    for thread in (topic.message_thread_id, VOCAB):
        await context.bot.send_message(HOUSEHOLD, "posted", message_thread_id=thread)
    await context.bot.send_document(HOUSEHOLD, b"words", filename="a.txt", caption="file")


@pytest.fixture
async def app(emu: LocalTelegram) -> AsyncIterator[App]:
    application = (
        Application.builder()
        .token(emu.token)
        .base_url(f"{emu.base_url}/bot")
        .base_file_url(f"{emu.base_url}/file/bot")
        .build()
    )
    application.add_handler(CommandHandler("post", post))
    application.add_handler(CallbackQueryHandler(answer))
    application.add_handler(MessageHandler(filters.TEXT, echo))
    async with application:
        await application.start()
        assert application.updater is not None
        await application.updater.start_polling(timeout=5, allowed_updates=Update.ALL_TYPES)
        yield application
        await application.updater.stop()
        await application.stop()


@pytest.mark.usefixtures("app")
async def test_a_message_is_echoed_edited_and_its_button_answered(emu: LocalTelegram) -> None:
    said = await emu.client.say(ADA, ADA, "hello")

    echoed = await emu.client.next_message(ADA, after=said.id, contains="you said hello")
    alert = await emu.client.tap(ADA, ADA, echoed.id, echoed.buttons[0].data)

    assert echoed.edited
    assert alert == {"text": "got more", "show_alert": True}
    assert await emu.client.violations() == []


@pytest.mark.usefixtures("app")
async def test_a_command_posts_into_topics(emu: LocalTelegram) -> None:
    await emu.client.say(ADA, HOUSEHOLD, "/post", thread=VOCAB)

    file = await emu.client.next_message(HOUSEHOLD, contains="file")
    everywhere = [one for one in await emu.client.messages(HOUSEHOLD) if one.text == "posted"]

    assert file.thread_id is None
    assert [one.thread_id for one in everywhere][1] == VOCAB
    assert everywhere[0].raw["reply_to_message"]["forum_topic_created"]["name"] == "made by the bot"
    assert await emu.client.violations() == []


async def test_refusals_become_the_errors_of_the_library(
    emu: LocalTelegram, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    await emu.client.fault("status", method="sendMessage", status=429, retry_after=7)

    with pytest.raises(RetryAfter, match="7"):
        await app.bot.send_message(ADA, "a")
    with pytest.raises(BadRequest, match="Chat not found"):
        await app.bot.send_message(5, "a")
