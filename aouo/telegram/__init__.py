"""Telegram: reads updates, sends messages, and decides nothing."""
