"""Renders Markdown as models write it to text and entities that Telegram accepts."""
