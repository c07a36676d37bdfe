"""JSON as the emulator handles it: plain values with a typed way in."""

from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]
JsonArray: TypeAlias = list[Any]


def as_object(value: object) -> JsonObject | None:
    """`value` if it is a JSON object."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_array(value: object) -> JsonArray | None:
    """`value` if it is a JSON array."""
    return cast(JsonArray, value) if isinstance(value, list) else None
