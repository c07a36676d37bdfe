"""Says why a file that somebody sent could not be taken in, and what helps."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aouo.facts.attachments import VOICE_INSTALL, Lack
from aouo.words.catalogue import text

Trouble: TypeAlias = Literal[
    "busy", "used-up", "late", "key", "money", "setting", "large", "refused", "silent", "broken"
]
"""Why a service failed, as far as a person can act on it."""


def no_ears(what: str, lack: Lack) -> str:
    """Say that nothing hears the recording `what`."""
    return text(f"media.no-ears-{lack}", what=what, install=VOICE_INSTALL)


def not_heard(what: str, why: Trouble) -> str:
    """Say that speech recognition failed."""
    because = text(f"media.because-{why}", who=text("media.ears"))
    return text("media.not-heard", what=what, because=because)


def not_seen(why: Trouble) -> str:
    """Say that the model that describes pictures failed."""
    return text("media.not-seen", because=text(f"media.because-{why}", who=text("media.eyes")))
