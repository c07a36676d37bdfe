"""Removes secrets from a model's answer where it enters, so that nothing after it holds one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

from aouo.facts.transcript import AssistantSaid, Finished, ModelEvent, StartedOver, TextDelta
from aouo.plumbing.redact import Redactor, Trickle

_OPAQUE = frozenset(
    {"thoughtSignature", "thought_signature", "signature", "data", "encrypted_content"}
)
"""Fields that a service wants back unchanged; the service makes them, not the model."""
_BY_MODEL = "args"
_SIGNED = "signature"
"""A part with this field is signed as a whole, so redacting it would break the signature."""


class Cleaning:
    """Redacts one answer: its events pass through `of` in order.

    Text is passed on as soon as it cannot be part of a secret. A tool call has redacted arguments.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._words = Trickle(redactor)

    def of(self, event: ModelEvent) -> tuple[ModelEvent, ...]:
        """Return the redacted events that can be passed on now."""
        match event:
            case TextDelta(text):
                sure = self._words.add(text)
                return (TextDelta(sure),) if sure else ()
            case Finished():
                rest = self._words.end()
                finished = replace(event, said=self._said(event.said))
                return (TextDelta(rest), finished) if rest else (finished,)
            case StartedOver():
                self._words = Trickle(self._redactor)
            case _:
                pass
        return (event,)

    def _said(self, said: AssistantSaid) -> AssistantSaid:
        calls = tuple(
            replace(
                call,
                name=self._redactor.text(call.name),
                arguments=self._redactor.json(call.arguments),
            )
            for call in said.calls
        )
        return AssistantSaid(self._redactor.text(said.text), calls, self._native(said.native))

    def _native(self, native: str) -> str:
        if not native:
            return native
        try:
            value: object = json.loads(native)
            clean = self._part(value)
            return native if clean == value else json.dumps(clean, ensure_ascii=False)
        except (ValueError, RecursionError):  # broken, or nested too deep
            return self._redactor.text(native)

    def _part(self, value: object) -> object:
        """Redact what the model wrote in a piece of the service's own form of an answer."""
        if isinstance(value, list):
            pieces = [(item, self._part(item)) for item in cast("list[object]", value)]
            return [clean for item, clean in pieces if clean == item or not _is_signed(item)]
        if not isinstance(value, dict):
            return self._redactor.value(value)
        return {
            key: item
            if key in _OPAQUE
            else self._redactor.value(item)
            if key == _BY_MODEL
            else self._part(item)
            for key, item in cast("dict[str, object]", value).items()
        }


def _is_signed(item: object) -> bool:
    return isinstance(item, dict) and bool(cast("dict[str, object]", item).get(_SIGNED))
