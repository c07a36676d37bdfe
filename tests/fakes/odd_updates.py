"""Updates as Telegram's published description allows them, and what a fault makes of them.

Everything comes from one `random.Random`, so that a seed names a play and a failure can be played
again. The description is the emulator's (`aouo/emulator/api.json`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from aouo.emulator.description import Described, Field, api_types

Json: TypeAlias = Any
Places: TypeAlias = list[tuple[Json, Any]]

_ARRAY = "Array of "
_DEEPEST = 5
"""A message replies to a message that replies to none: further down only what must be there."""
_OPTIONAL = 0.03
"""How often a field is there that may be missing, near the top."""
_COMMON = {"text": 0.6, "from": 0.9, "message": 0.9, "data": 0.9, "user": 0.9, "is_forum": 0.3}
"""The same for what most of a bot's reading is about."""
_KINDS = ("message",) * 5 + (
    "edited_message",
    "callback_query",
    "message_reaction",
    "my_chat_member",
)
"""What we ask for; most updates are of these, and most of them messages."""
_TEXTS = (
    "hello",
    "/start",
    "/stop",
    "/use notes",
    "/id@aouo_try_bot please",
    "/otr a secret",
    "@aouo_try_bot what now?",
    "😀 of two units",
    "a line\nand another",
    "x" * 4_096,
    "word " * 30,
    "",
)
_ODD: tuple[Json, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    10**18,
    253_402_300_800,  # the year 10000
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "12",
    "half \ud800 a sign",
    "\x00",
    "\u202e\u2066",
    "x" * 9_000,
    [],
    {},
    [None],
    {"": {}},
    {"\udfff": 1},
)


class OddUpdates:
    """Makes updates. `people`, `chats` and `messages` are ids that mean something to a bot."""

    def __init__(self, seed: int, people: Sequence[int], chats: Sequence[int]) -> None:
        self._random = random.Random(seed)
        self._people = people
        self._chats = chats
        self._types = api_types()
        self._next_id = 1_000

    def batches(self, updates: int, of: int = 100) -> Iterator[list[Json]]:
        """`updates` of them, as the answers to `getUpdates` bring them."""
        for begin in range(0, updates, of):
            yield [self.one() for _ in range(min(of, updates - begin))]

    def one(self) -> Json:
        """One update that has an id; the rest of it is as it should be, or is not."""
        chance = self._random
        kinds = [name for name in self._types["Update"].fields if name != "update_id"]
        kind = chance.choice(_KINDS if chance.random() < 0.8 else kinds)
        field = self._types["Update"].fields[kind]
        update: Json = {kind: self._value(field, 0)}
        for _ in range(chance.choice((0, 0, 0, 1, 1, 1, 2, 6))):
            if update:
                self._mutate(update)
        if chance.random() < 0.03:
            update[chance.choice((*kinds, "some_day", "\ud800"))] = chance.choice(_ODD)
        if not chance.random() < 0.02:  # now and then one comes again
            self._next_id += chance.choice((1, 1, 1, 2))
        return {"update_id": self._next_id, **update}

    def _value(self, field: Field, depth: int) -> Json:
        if field.constant is not None:
            return field.constant
        return self._of(self._random.choice(field.types), field.name, depth)

    def _of(self, name: str, called: str, depth: int) -> Json:
        chance = self._random
        if name.startswith(_ARRAY):
            some = range(chance.choice((0, 1, 1, 2, 3)))
            return [self._of(name.removeprefix(_ARRAY), called, depth + 1) for _ in some]
        match name:
            case "Integer":
                return self._number(called)
            case "Float":
                return chance.choice((0.0, -1.25, 48.2, 180.0))
            case "Boolean":
                return chance.random() < 0.8
            case "String" | "InputFile":
                return self._words(called)
            case _:
                return self._object(self._types[name], depth)

    def _object(self, kind: Described, depth: int) -> Json:
        if kind.types:
            flat = [name for name in kind.types if name == "String"]
            some = flat if flat and depth > _DEEPEST else kind.types
            return self._of(self._random.choice(some), "", depth + 1)
        made = {
            field.name: self._value(field, depth + 1)
            for field in kind.fields.values()
            if field.required or (depth < _DEEPEST and self._random.random() < _often(field))
        }
        if kind.name == "Chat":
            made |= {"id": self._random.choice(self._chats), "type": self._kind_of_chat()}
        return made

    def _kind_of_chat(self) -> str:
        return self._random.choice(("private", "private", "group", "supergroup", "channel"))

    def _number(self, called: str) -> int:
        chance = self._random
        match called:
            case "id" | "user_id":
                return chance.choice(self._people)
            case "message_id":
                return chance.randrange(1, 60)
            case "migrate_to_chat_id" | "migrate_from_chat_id":
                return chance.choice(self._chats)
            case "offset" | "length":
                return chance.randrange(0, 20)
            case "date" | "edit_date" | "forward_date":
                return 1_700_000_000 + chance.randrange(10_000)
            case _:
                return chance.choice((0, 1, 7, 640, 2**31 - 1))

    def _words(self, called: str) -> str:
        chance = self._random
        match called:
            case "text" | "caption":
                return chance.choice(_TEXTS)
            case "data":
                return chance.choice(("menu", "pack:notes", "choice_x:1", "approval_x:allow", "z"))
            case "media_group_id":
                return chance.choice(("one", "two"))
            case "type":
                return chance.choice(("mention", "bot_command", "text_link", "regular", "emoji"))
            case _:
                return chance.choice(("a", "name of it", f"{chance.randrange(10**6)}"))

    def _mutate(self, update: Json) -> None:
        """Break one place of it."""
        chance = self._random
        holder, key = chance.choice(_places(update))
        match chance.randrange(6):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key]] * chance.choice((1, 2))
            case 2:
                holder[key] = _deep(chance.choice((3, 60, 300)), in_lists=chance.random() < 0.5)
            case 3 if isinstance(holder, dict):
                cast("dict[str, Json]", holder)[chance.choice(("type", "id", "text", "\ud83d"))] = (
                    chance.choice(_ODD)
                )
            case _:
                holder[key] = chance.choice(_ODD)


def _often(field: Field) -> float:
    return _COMMON.get(field.name, _OPTIONAL)


def _places(value: Json, depth: int = 0) -> Places:
    """Each place below `value`, as what holds it and where there; not all the way down."""
    found: Places = []
    if depth > 2 * _DEEPEST:
        return found
    if isinstance(value, dict):
        held = cast("dict[str, Json]", value)
        pairs: list[tuple[Any, Json]] = list(held.items())
    elif isinstance(value, list):
        pairs = list(enumerate(cast("list[Json]", value)))
    else:
        return found
    for key, item in pairs:
        found.append((value, key))
        found += _places(item, depth + 1)
    return found


def _deep(levels: int, *, in_lists: bool) -> Json:
    made: Json = 1
    for _ in range(levels):
        made = [made] if in_lists else {"reply_to_message": made}
    return made
