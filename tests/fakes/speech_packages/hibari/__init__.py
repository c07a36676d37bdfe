"""Says a text in one tone a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy


class Hibari:
    sample_rate = 24_000

    def __init__(self, *, voice: str, model: str) -> None:
        assert voice
        assert model

    def stream(self, text: str) -> Iterator[Any]:
        for at, _ in enumerate(text.split(), 1):
            yield numpy.sin(numpy.arange(2_400, dtype="float32") * at / 50)
