"""One voice is here, another one would have to be downloaded."""

from __future__ import annotations


def voice_path(name: str, *, download_missing: bool) -> str:
    assert not download_missing
    match name:
        case "heart":
            return "heart.onnx"
        case "emma":
            raise FileNotFoundError(name)
        case _:
            raise ValueError(name)
