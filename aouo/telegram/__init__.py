"""Telegram: what comes in is read, what goes out is sent, and nothing is decided."""
