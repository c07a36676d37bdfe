"""Why a document gives no text, in words that a model can act on."""

from __future__ import annotations


class Unreadable(Exception):
    """`str` is a sentence for the model; raised and caught inside `documents`."""
