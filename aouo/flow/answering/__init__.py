"""Turns jobs into turns: begins them, builds what they need, ends each in one transaction."""
