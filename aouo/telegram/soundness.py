"""Checks that the fields of a fact have their declared types.

python-telegram-bot passes on what stood in an update: a text may be a number, an id a list.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Migrated

_LARGEST = 2**63 - 1
"""The largest integer that a column holds."""
_ID = re.compile(r"-?[0-9]{1,19}")


def check(inbound: Inbound) -> None:
    """Check that the fact can be stored, read again and answered.

    Raises:
        ValueError: a field has a wrong type, or an id is no number; names the type and the field.
    """
    if fault := _fault(inbound, Inbound, "Inbound"):
        raise ValueError(fault)
    address, content = inbound.address, inbound.content
    if not (_is_chat(address) and _is_id(inbound.person.id)):
        raise ValueError("Inbound: an id that is no number")
    if isinstance(content, Migrated) and not _is_id(content.new_chat_id):
        raise ValueError("Migrated.new_chat_id")


def text_or_nothing(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_chat(address: ConversationAddress) -> bool:
    return _is_id(address.chat_id) and (not address.thread_id or _is_id(address.thread_id))


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and abs(int(text)) <= _LARGEST


def _fault(value: object, hint: Any, path: str) -> str:
    """Return the path of the first value that does not match `hint`, "" = all do."""
    origin = get_origin(hint)
    if origin is UnionType or origin is Union:
        kinds = get_args(hint)
        kind = type(value) if type(value) in kinds else next(iter(kinds))
        return _fault(value, kind, path)
    if origin is Literal:
        return "" if value in get_args(hint) else path
    if origin is tuple:
        if not isinstance(value, tuple):
            return path
        inner = get_args(hint)[0]
        items = cast("tuple[object, ...]", value)
        return next(filter(None, (_fault(item, inner, path) for item in items)), "")
    if is_dataclass(hint):
        return _fault_inside(value, cast("type[Any]", hint))
    if hint is int:
        fits = type(value) is int and abs(value) <= _LARGEST
        return "" if fits else path
    return "" if isinstance(value, hint) else path


def _fault_inside(value: object, kind: type[Any]) -> str:
    if type(value) is not kind:
        return kind.__name__
    faults = (
        _fault(getattr(value, name), hint, f"{kind.__name__}.{name}")
        for name, hint in _hints(kind).items()
    )
    return next(filter(None, faults), "")


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
