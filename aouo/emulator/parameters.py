"""Reads the parameters of one call by name and type."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_array, as_object


@dataclass(frozen=True, slots=True)
class Parameters:
    """Values checked against the description; a getter returns an empty value for a missing one.

    `uploads` are the multipart parts that `attach://name` refers to.
    """

    values: Mapping[str, Any]
    uploads: Mapping[str, Upload]

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else str(value)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        return self.values.get(name) is True

    def object(self, name: str) -> JsonObject | None:
        return as_object(self.values.get(name))

    def objects(self, name: str) -> list[JsonObject]:
        return cast(list[JsonObject], as_array(self.values.get(name)) or [])

    def integers(self, name: str) -> list[int]:
        return cast(list[int], as_array(self.values.get(name)) or [])

    def has(self, name: str) -> bool:
        return name in self.values

    def file(self, name: str) -> Upload | str:
        """Return the uploaded part, or the file id or address given as text."""
        value = self.values.get(name, "")
        if isinstance(value, Upload):
            return value
        return self.reference(str(value))

    def reference(self, value: str) -> Upload | str:
        """Return the part that `attach://name` names, or the text itself."""
        return self.uploads.get(value.removeprefix("attach://"), value)
