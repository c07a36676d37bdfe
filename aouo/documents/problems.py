"""The error for a document without readable text, worded for the model."""

from __future__ import annotations


class Unreadable(Exception):
    """The document cannot be read; `str` is a sentence for the model. Only `documents` uses it."""
