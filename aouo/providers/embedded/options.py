"""Makes the options of a message from worked examples, and chooses one."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TypeAlias, cast

from aouo.facts.transcript import ToolSpec

_MAX_PROMPT_CHARS = 2400
_MAX_MESSAGE_CHARS = 600
_CALLBACK = "[callback] "
"""The prefix of a tapped button's data; source: `routing.decide`."""

_CONTEXT = re.compile(
    r"\[(?:"
    r'(?:about this part of an earlier message|in reply to [^\n]*?): ".*?"'
    r"|forwarded from [^\n]*"
    r"|[^\n\]]* reacted [^\n]*"
    r"|voice message[^\n\]]*; what was said:"
    r")\](?:\n|$)",
    re.DOTALL,
)
"""A note that the runtime puts before the person's words; its quote may have several lines."""
_EDITED = "[the person edited their message: "
"""The beginning of the note about an edit during a turn; source: `turn.heard`."""

_Place: TypeAlias = tuple[str, ...]
"""The path to a value in JSON: keys, and list positions as text, from the outside in."""


def cleaned(message: str) -> str:
    """Return `message` without unprintable characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in message).strip()


def own_words(message: str) -> str:
    """Return the person's own words in `message`, without the bracketed notes before them.

    "" when some of it was forwarded, since those are another person's words.
    """
    while context := _CONTEXT.match(message):
        if context[0].startswith("[forwarded"):
            return ""
        message = message[context.end() :]
    return message.removeprefix(_CALLBACK)


def is_edit(message: str) -> bool:
    """Whether the message is only a note that an earlier one was edited."""
    return message.startswith(_EDITED)


def one_line(text: str, limit: int) -> str:
    return " ".join(text.split())[:limit]


def word_list(text: str) -> list[str]:
    """Return the words in lower case, without the plural's s."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in re.findall(r"[^\W_]+", text.lower()[:_MAX_MESSAGE_CHARS])
    ]


def _all_leaves(value: object, path: _Place = ()) -> Iterator[tuple[_Place, object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from _all_leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[object]", value)):
            yield from _all_leaves(inner, (*path, str(at)))
    else:
        yield path, value


def with_values(arguments: Mapping[str, Any], values: Mapping[_Place, object]) -> dict[str, Any]:
    """Return a copy of `arguments` with these values in their places."""
    filled: Any = dict(arguments)
    for place, new in values.items():
        filled = _with_value(filled, place, new)
    return filled


def _with_value(value: object, place: _Place, new: object) -> Any:
    if not place:
        return new
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {
            k: _with_value(v, place[1:], new) if k == place[0] else v for k, v in entries.items()
        }
    items = cast("list[object]", value)
    return [
        _with_value(v, place[1:], new) if str(at) == place[0] else v for at, v in enumerate(items)
    ]


_PERSIST_VALUES = ("data", "where", "params")
_LOOKS = frozenset({"recent", "query", "summary"})
"""The actions of `persist` that change nothing."""


@dataclass(frozen=True, slots=True)
class Example:
    """A message and the arguments that it leads to.

    `slots` are the places of values that are words of the message, in its order; `answer` is a
    sentence with columns of a row in braces.
    """

    message: str
    arguments: dict[str, Any]
    slots: tuple[tuple[_Place, str], ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One possible call: a tool, with examples whose arguments differ only in the slots."""

    label: str
    tool: ToolSpec
    examples: tuple[Example, ...]

    @property
    def looks(self) -> bool:
        """Whether it only reads rows."""
        action = self.examples[0].arguments.get("action")
        return self.tool.name == "persist" and action in _LOOKS

    @property
    def answer(self) -> str:
        """The sentence for a row of its result, "" = the row itself."""
        return next((example.answer for example in self.examples if example.answer), "")


def options(tools: Sequence[ToolSpec]) -> tuple[Option, ...]:
    """Return the options in the order of the examples; tools without examples have none."""
    found = [option for tool in tools for option in _of_tool(tool)]
    names = Counter(option.label for option in found)
    return tuple(
        replace(option, label=f"{option.label} {at}") if names[option.label] > 1 else option
        for at, option in enumerate(found, 1)
    )


def option_of(choices: Sequence[Option], tool: str, arguments: Mapping[str, Any]) -> Option | None:
    """Return the option that a call belongs to, None = none."""
    for option in choices:
        if option.tool.name == tool and any(
            _key(arguments, example.slots) == _key(example.arguments, example.slots)
            for example in option.examples
        ):
            return option
    return None


def _of_tool(tool: ToolSpec) -> list[Option]:
    listed = tool.parameters.get("examples")
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    groups: dict[str, list[Example]] = {}
    for item in items:
        if example := _example(tool, item):
            groups.setdefault(_key(example.arguments, example.slots), []).append(example)
    return [Option(_label(tool, found[0]), tool, tuple(found)) for found in groups.values()]


def _example(tool: ToolSpec, item: object) -> Example | None:
    entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    message, arguments, answer = entry.get("user"), entry.get("arguments"), entry.get("answer", "")
    if not (isinstance(message, str) and message.strip() and isinstance(arguments, dict)):
        return None
    known = cast("dict[str, Any]", arguments)
    slots = _slots(tool, message, known)
    return Example(message, known, slots, answer if isinstance(answer, str) else "")


def _slots(
    tool: ToolSpec, message: str, arguments: Mapping[str, Any]
) -> tuple[tuple[_Place, str], ...]:
    """Return the texts in the arguments that stand in the message, in its order."""
    properties = tool.parameters.get("properties")
    known = cast("dict[str, object]", properties) if isinstance(properties, dict) else {}
    found = [
        (place, value)
        for place, value in _all_leaves(dict(arguments))
        if isinstance(value, str)
        and value.strip()
        and value in message
        and (tool.name != "persist" or place[0] in _PERSIST_VALUES)
        and "enum" not in _as_object(known.get(place[0]))
    ]
    return tuple(sorted(found, key=lambda slot: message.index(slot[1])))


def _key(arguments: Mapping[str, Any], slots: Sequence[tuple[_Place, str]]) -> str:
    """Return a key that is equal for calls that differ only in their slots."""
    try:
        emptied = with_values(arguments, {place: None for place, _ in slots})
        return json.dumps(emptied, sort_keys=True)
    except (TypeError, AttributeError, ValueError):
        return ""


def _label(tool: ToolSpec, example: Example) -> str:
    action = example.arguments.get("action")
    name = action if isinstance(action, str) else tool.name.rpartition("__")[2]
    return name.replace("_", " ")


def _as_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


_MAX_EXAMPLES = 18
NO_MESSAGE = ("N/A", "...", "[message]")
_CALIBRATION = 0.8
_LIKENESS = 8.0
_UNSEEN_LOGPROB = -14.0


def choice_prompt(choices: Sequence[Option], message: str) -> str:
    """Return a prompt whose next word is the label of an option."""
    labels = [option.label for option in choices]
    head = f"The assistant can {', '.join(labels)}.\n\n"
    asked = f'The person says "{one_line(message, 300)}". The assistant should'
    room = _MAX_PROMPT_CHARS - len(head) - 350  # not len(asked): the examples stay the same
    shown: list[str] = []
    for said, label in _mixed(choices):
        line = f'The person says "{one_line(said, 100)}". The assistant should {label}.\n'
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    return head + "".join(shown) + asked


def label_logprobs(choices: Sequence[Option], top: Mapping[str, float]) -> dict[str, float]:
    """Return for each label the log probability of the best token that begins it."""
    return {
        option.label: max(
            (logprob for token, logprob in top.items() if _begins(token, option.label)),
            default=_UNSEEN_LOGPROB,
        )
        for option in choices
    }


def choose(
    choices: Sequence[Option],
    message: str,
    said: Mapping[str, float],
    said_to_nothing: Mapping[str, float],
) -> Option:
    """Return the likeliest option for `message`, which all of them fit."""
    like = _likeness([(o.label, e.message) for o in choices for e in o.examples], message)

    def score(option: Option) -> float:
        own = said[option.label] - _CALIBRATION * said_to_nothing[option.label]
        return own + _LIKENESS * like.get(option.label, 0.0)

    return max(choices, key=score)


def _likeness(examples: Sequence[tuple[str, str]], message: str) -> dict[str, float]:
    """Return for each label the likeness, 0 to 1, of its nearest example; rare words weigh more."""
    known = [(label, _features(text)) for label, text in examples]
    seen = Counter(feature for _, features in known for feature in features)

    def weight(features: frozenset[str]) -> float:
        return sum(math.log(1 + len(known) / seen.get(feature, 0.5)) for feature in features)

    mine = _features(message)
    like: dict[str, float] = {}
    for label, features in known:
        norm = math.sqrt(weight(mine) * weight(features))
        value = weight(mine & features) / norm if norm else 0.0
        like[label] = max(like.get(label, 0.0), value)
    return like


def _mixed(choices: Sequence[Option]) -> list[tuple[str, str]]:
    """Return examples of the options in turn, so that no label is repeated at the end."""
    columns = [[(e.message, o.label) for e in o.examples] for o in choices]
    rows = [pair for row in zip_longest(*columns) for pair in row if pair]
    return rows[: max(_MAX_EXAMPLES, len(columns))]


def _begins(token: str, label: str) -> bool:
    word = token.strip()
    return bool(word) and token.startswith(" ") and label.startswith(word)


def _features(text: str) -> frozenset[str]:
    """Return the words, and the pairs of neighbouring words."""
    words = word_list(text)
    pairs = zip(["^", *words], [*words, "$"], strict=True)
    return frozenset(words) | frozenset(f"{a} {b}" for a, b in pairs)
