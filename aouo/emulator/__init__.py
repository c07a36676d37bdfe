"""A local Telegram: the Bot API over HTTP, a chat page, and a client for people's side."""

from aouo.emulator.client import ActRefused, EmulatorClient
from aouo.emulator.objects import Button, ChatMessage
from aouo.emulator.server import DEFAULT_TOKEN, Emulator
from aouo.emulator.world import ADA, BEN, FAMILY, HOUSEHOLD, NOTES, VOCAB

__all__ = [
    "ADA",
    "BEN",
    "DEFAULT_TOKEN",
    "FAMILY",
    "HOUSEHOLD",
    "NOTES",
    "VOCAB",
    "ActRefused",
    "Button",
    "ChatMessage",
    "Emulator",
    "EmulatorClient",
]
