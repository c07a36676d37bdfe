"""aouo: Telegram as a place where people install apps."""

__version__ = "0.1.0"
