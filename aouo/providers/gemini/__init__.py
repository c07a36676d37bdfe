"""Gemini's own format."""
