"""What a model wants to do, as a value that can be hashed, judged and written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from aouo.facts.events import Origin
from aouo.facts.transcript import ToolCall
from aouo.guard.paths import listed

_MAX_DEPTH = 64
_TOO_DEEP = f"The arguments are nested more than {_MAX_DEPTH} deep. Send something flatter."


@dataclass(frozen=True, slots=True)
class Touched:
    """A file or folder that a call names, links followed.

    `key` is the argument that it is handed over in, "" = the tool gets it as it was given; `at`
    is its place there if that argument is an album's list.
    """

    key: str
    path: Path
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """One proposed tool call. `digest` is the SHA-256 of its canonical type and payload.

    `owner` is whose data it works on; `media` is the folder with the files that were sent to its
    conversation, below the home's; `paths` are what its arguments lead to right now.
    """

    id: str
    tool: str
    payload: Mapping[str, Any]
    origin: Origin
    pack: str
    turn_id: str
    call_id: str
    at: str
    digest: str
    owner: str = ""
    session_id: str = ""
    off_record: bool = False
    media: str = ""
    paths: tuple[Touched, ...] = ()

    @property
    def binding(self) -> str:
        """SHA-256 of the call and of where its paths lead: what an approval is given for."""
        return digest(self.digest, {"paths": [str(touched.path) for touched in self.paths]})

    @property
    def bound(self) -> Mapping[str, Any]:
        """The payload with each path as it was judged, so that nothing is resolved again."""
        named: dict[str, Any] = {}
        for touched in self.paths:
            if touched.at is not None:
                items = named.setdefault(touched.key, list(listed(self.payload[touched.key])))
                items[touched.at] = str(touched.path)
            elif touched.key:
                named[touched.key] = str(touched.path)
        return {**self.payload, **named}


def digest(tool: str, payload: Mapping[str, Any]) -> str:
    """The same for the same tool and payload, however the model spelled them."""
    canonical = json.dumps(
        {"tool": tool, "payload": payload},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        default=str,
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def parse(call: ToolCall) -> tuple[str, dict[str, Any]]:
    """What is wrong with the arguments, "" = nothing, and they as an object that can be stored."""
    try:
        payload = json.loads(call.arguments or "{}")
    except RecursionError:
        return _TOO_DEEP, {}
    except ValueError as error:
        return f"The arguments are not complete JSON ({error}). Send the whole call again.", {}
    if not isinstance(payload, dict):
        return "The arguments have to be one JSON object.", {}
    payload = cast("dict[str, Any]", payload)
    if _is_deep(payload):
        return _TOO_DEEP, {}
    try:
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "The arguments hold half of a character; send it whole, as UTF-8.", {}
    except ValueError:
        return "The arguments hold NaN or infinity, which JSON has not: send a number or null.", {}
    return "", payload


def _is_deep(payload: dict[str, Any]) -> bool:
    level: list[Any] = [payload]
    for _ in range(_MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """Go on. `reason` says which rule let it pass."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Refused; the model reads `reason`, which says what it may do instead.

    `rule` is what the audit keeps where the reason quotes the arguments.
    """

    reason: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """Only the owner can say yes. `reason` is for the audit, `subject` what they are shown.

    `writes_bytes` is how much would be written there, -1 = nothing; `folder` is what an
    "always" would cover, None = it has to be asked every time.
    """

    reason: str
    subject: str
    writes_bytes: int = -1
    folder: Path | None = None


Verdict: TypeAlias = Allowed | Blocked | Ask
