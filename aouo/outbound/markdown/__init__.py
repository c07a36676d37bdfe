"""Markdown as models write it becomes text and entities that Telegram accepts."""
