"""Types and casts for JSON values."""

from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]
JsonArray: TypeAlias = list[Any]


def as_object(value: object) -> JsonObject | None:
    """Return `value` if it is a JSON object, else None."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_array(value: object) -> JsonArray | None:
    """Return `value` if it is a JSON array, else None."""
    return cast(JsonArray, value) if isinstance(value, list) else None
