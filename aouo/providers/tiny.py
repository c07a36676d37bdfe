"""How a model of 135 million parameters is asked: short prompts, choices it cannot get wrong.

It follows no instructions to speak of, but it continues patterns. So nothing here explains; a
few worked examples are shown and the next one is left open. The examples are the tools' own:
`"examples"` in a tool's parameter schema, each either `{"user": words, "arguments": {…}}` or
just an arguments object. Without examples, the schema's enums and names stand in.

What to do is chosen by the chance the model gives to each option's first token, corrected
for what it says to no message at all (Zhao et al. 2021, "Calibrate before use") and joined with
how alike the words are to each option's examples. Values that examples copy out of their message
are chosen under a grammar that only has pieces of the message.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, cast

from aouo.transcript import (
    AssistantSaid,
    Message,
    ModelRequest,
    ToolReturned,
    ToolSpec,
    UserSaid,
)

TALK = "talk"
MAX_PROMPT_CHARS = 2400
MAX_MESSAGE_CHARS = 600
MAX_OPTIONS = 12
MAX_EXAMPLES = 18
MAX_STARTS = 24
NO_MESSAGE = ("N/A", "...", "[message]")

# Weights found on 76 messages over three sets of tools (66 right by the model alone, 69 joined).
CALIBRATION = 0.8
LIKENESS = 8.0
UNSEEN_LOGPROB = -14.0
MAX_SCHEMA_TOKENS = 160

_TALKED = (
    "Hello",
    "Why is the sky blue?",
    "Thank you",
    "Tell me a story",
    "Who are you?",
    "How do I bake bread?",
)
_CHAT = (
    ("How do I boil an egg?", "Put it in boiling water for eight minutes."),
    ("What is the capital of Italy?", "The capital of Italy is Rome."),
    ("Hello", "Hello! What can I do for you?"),
    ("Thank you", "You are welcome!"),
    ("I feel bad", "I am sorry to hear that. Do you want to talk about it?"),
    ("Good evening", "Good evening! What can I do for you?"),
    ("What are you?", "I am a small language model on this computer, here to help you."),
)
DONE, FOUND, FAILED = "It is done", "Here is what I found", "That did not work"
_TOLD = (
    ("paint the door green", "ok", DONE),
    ("which colours are there?", "green; dark blue", FOUND),
    ("please order more paint", "order 12 made", DONE),
    ("show me the doors", "nothing", FOUND),
)
MAX_RESULT_CHARS = 1500


@dataclass(frozen=True, slots=True)
class Example:
    """A message and the arguments it leads to; `real` when the words are a person's."""

    message: str
    arguments: dict[str, Any]
    real: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One thing the model may do: a tool with one value of its first enum argument."""

    label: str
    tool: ToolSpec
    examples: tuple[Example, ...]
    given: bool
    """The examples are the tool's own, not made up from its schema."""
    fixed: frozenset[tuple[str, ...]] = frozenset()
    """The arguments that are the same wherever the tool's examples have them."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An argument that is a piece of the message; `tail` when it always runs to the end."""

    path: tuple[str, ...]
    tail: bool


def options(tools: Sequence[ToolSpec]) -> tuple[Option, ...]:
    """What there is to choose from; tools with examples of their own push out those without."""
    found = [option for tool in tools for option in _tool_options(tool)]
    if any(option.given for option in found):
        found = [option for option in found if option.given]
    names = Counter(option.label for option in found)
    return tuple(
        replace(o, label=f"{_plain_name(o.tool.name)} {o.label}") if names[o.label] > 1 else o
        for o in found[:MAX_OPTIONS]
    )


def cleaned(message: str) -> str:
    """`message` without signs that cannot be shown, which a grammar cannot hold either."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in message).strip()


def choice_prompt(choices: Sequence[Option], message: str) -> str:
    """The pattern whose next word is the label of an option or `TALK`."""
    labels = [TALK, *(option.label for option in choices)]
    head = f"The assistant can {', '.join(labels[:-1])} or {labels[-1]}.\n\n"
    asked = f'The person says "{_one_line(message, 300)}". The assistant should'
    room = MAX_PROMPT_CHARS - len(head) - 350  # not len(asked): the examples stay the same
    shown: list[str] = []
    for said, label in _mixed(choices):
        line = f'The person says "{_one_line(said, 100)}". The assistant should {label}.\n'
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    return head + "".join(shown) + asked


def label_logprobs(choices: Sequence[Option], top: Mapping[str, float]) -> dict[str, float]:
    """For each label, the log probability of the best token that begins it."""
    return {
        label: max(
            (logprob for token, logprob in top.items() if _begins(token, label)),
            default=UNSEEN_LOGPROB,
        )
        for label in (TALK, *(option.label for option in choices))
    }


def choose(
    choices: Sequence[Option],
    message: str,
    said: Mapping[str, float],
    said_to_nothing: Mapping[str, float],
) -> Option | None:
    """The option for `message`, None for an answer in words."""
    like = likeness(
        [(TALK, t) for t in _TALKED] + [(o.label, e.message) for o in choices for e in o.examples],
        message,
    )

    given = any(option.given for option in choices)

    def score(label: str) -> float:
        if label == TALK and not given:  # labels made up from a schema promise little
            return said[label] - CALIBRATION * said_to_nothing[label] + LIKENESS / 2
        return said[label] - CALIBRATION * said_to_nothing[label] + LIKENESS * like.get(label, 0.0)

    best = max(said, key=score)
    return next((option for option in choices if option.label == best), None)


def likeness(examples: Sequence[tuple[str, str]], message: str) -> dict[str, float]:
    """For each label 0 to 1: how alike its most alike example is, rare words counting more."""
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


def nearest(option: Option, message: str) -> Example:
    """The example whose arguments serve as the pattern for `message`."""
    like = likeness([(str(at), e.message) for at, e in enumerate(option.examples)], message)
    return max(enumerate(option.examples), key=lambda pair: like[str(pair[0])])[1]


def copies(option: Option, example: Example) -> tuple[Copy, ...]:
    """The arguments of `example` that come out of its message, in order."""
    return tuple(
        Copy(path, tail=not example.real or _ends_with(example.message, value))
        for path, value in _free_texts(option.tool, option.fixed, example.arguments)
        if (value in example.message if example.real else " " in value)
    )


def _free_texts(
    tool: ToolSpec, fixed: frozenset[tuple[str, ...]], arguments: Mapping[str, Any]
) -> list[tuple[tuple[str, ...], str]]:
    """The texts in `arguments` that no enum and no habit of the examples explains."""
    return [
        (path, value)
        for path, value in _leaves(dict(arguments))
        if isinstance(value, str)
        and len(value) > 1
        and path not in fixed
        and "enum" not in _properties(tool.parameters).get(path[0], {})
    ]


def _ends_with(text: str, end: str) -> bool:
    return text.rstrip(" .!?").endswith(end.rstrip(" .!?"))


def copy_prompt(option: Option, copy: Copy, message: str) -> str:
    """The pattern whose next line is the piece of `message` that `copy` wants."""
    key = copy.path[-1]
    shown = [(e.message, value_at(e.arguments, copy.path)) for e in option.examples if e.real]
    lines = [
        f"Message: {_one_line(said, 120)}\n{key}: {value}\n"
        for said, value in shown
        if isinstance(value, str) and value in said
    ][:6]
    return "\n".join([*lines, f"Message: {_one_line(message, MAX_MESSAGE_CHARS)}\n{key}:"])


def copy_grammar(option: Option, copy: Copy, message: str) -> str:
    """GBNF for the pieces of `message`: its tails by their first words, or any run of words."""
    if copy.tail:
        heads = dict.fromkeys(head for head, _ in _tails(option, copy, message))
        return 'root ::= " " (' + " | ".join(_literal(head) for head in heads) + ') "\\n"'
    words = [re.fullmatch(r"(.*?)([.,;:!?]*)", word) for word in message.split()[:MAX_STARTS]]
    parts = [(match[1], match[2]) for match in words if match]
    rules = [f'root ::= " " ({" | ".join(f"w{at}" for at in range(len(parts)))}) "\\n"']
    for at, (word, mark) in enumerate(parts):
        more = f" ({_literal(mark + ' ')} w{at + 1})?" if at + 1 < len(parts) else ""
        rules.append(f"w{at} ::= {_literal(word or mark)}{more}")
    return "\n".join(rules)


def only_copy(option: Option, copy: Copy, message: str) -> str:
    """The piece of `message` when there is but one to choose, else ""."""
    tails = _tails(option, copy, message) if copy.tail else []
    return tails[0][1] if len(tails) == 1 else ""


def copied(option: Option, copy: Copy, message: str, answer: str) -> str:
    """The piece of `message` that `answer`, held to `copy_grammar`, stands for."""
    head = answer.strip()
    if not copy.tail:
        return head
    tails = _tails(option, copy, message)
    return next((tail for start, tail in tails if start == head), message.strip())


def schema_prompt(option: Option, message: str) -> str:
    """For a tool without examples: its description, then arguments under its own schema."""
    names = ", ".join(_properties(option.tool.parameters))
    return (
        f"{_first_clause(option.tool.description)}\nArguments: {names}\n"
        f"Message: {_one_line(message, MAX_MESSAGE_CHARS)}\nArguments as JSON: "
    )


def schema_for(option: Option) -> dict[str, Any]:
    """The tool's own parameter schema with the chosen enum value fixed, cut down to what is
    required and one text, so that the answer is whole within `MAX_SCHEMA_TOKENS`."""
    schema = option.tool.parameters
    fixed = {key: {"const": value} for key, value in option.examples[0].arguments.items()}
    needed = [key for key in schema.get("required", ()) if key not in fixed]
    texts = [
        key
        for key, value in _properties(schema).items()
        if key not in fixed and value.get("type") == "string" and "enum" not in value
    ]
    wanted = {key: _short(_properties(schema).get(key, {})) for key in [*needed, *texts[:1]]}
    return {
        **{key: value for key, value in schema.items() if key in ("$defs", "definitions")},
        "type": "object",
        "properties": {**fixed, **wanted},
        "required": [*fixed, *wanted],
        "additionalProperties": False,
    }


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    limit = {"maxLength": 80} if schema.get("type") == "string" and "enum" not in schema else {}
    return {**schema, **limit}


def chat_messages(request: ModelRequest) -> list[dict[str, str]]:
    """The chat for an answer in words: a few exchanges that set its tone, then the last
    messages that fit in `MAX_PROMPT_CHARS`.

    `request.context` is left out: with it, answers were longer and worse, and the time and
    date in it were retold wrong.
    """
    system = _one_line(request.system, 500) or "You are a kind assistant. Be brief."
    messages = [{"role": "system", "content": system}, *_shown(_CHAT)]
    room = MAX_PROMPT_CHARS - sum(len(m["content"]) + 20 for m in messages)
    return messages + _recent(request.messages, room)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What tool calls came to: the person's words, the result in words, whether it failed."""

    asked: str
    result: str
    failed: bool


def outcome(messages: Sequence[Message]) -> Outcome | None:
    """What the newest messages say about tool calls, None when the last one is no result."""
    asked = next((m.text for m in reversed(messages) if isinstance(m, UserSaid)), "")
    results: list[ToolReturned] = []
    for message in reversed(messages):
        if not isinstance(message, ToolReturned):
            break
        results.insert(0, message)
    if not results:
        return None
    found = "\n".join(words_of(result.text) for result in results)
    return Outcome(asked, found[:MAX_RESULT_CHARS], any(result.failed for result in results))


def telling_prompt(told: Outcome) -> str:
    """The pattern whose next line is how an answer about `told` begins."""
    shown = [_told(asked, result) + f" {opening}\n" for asked, result, opening in _TOLD]
    return "\n".join([*shown, _told(_one_line(told.asked, 200), _one_line(told.result, 200))])


def telling_grammar() -> str:
    return f'root ::= " " ({_literal(DONE)} | {_literal(FOUND)}) "\\n"'


def telling(told: Outcome, opening: str) -> str:
    """The answer: the opening the model chose, and the result as it is. A model of this size
    garbles what it retells."""
    opening = FAILED if told.failed else opening.strip() or DONE
    if told.result == "ok":
        return f"{opening}."
    items = told.result.splitlines()
    return f"{opening}: {items[0]}" if len(items) == 1 else "\n- ".join([f"{opening}:", *items])


def _told(asked: str, result: str) -> str:
    return f"Asked: {asked}\nResult: {result}\nAnswer:"


def words_of(result: str) -> str:
    """The words in a tool's JSON result, a line each, without its keys, numbers and times."""
    try:
        value: object = json.loads(result)
    except ValueError:
        return result.strip() or "ok"
    leaves = [leaf for _, leaf in _leaves(value)]
    times = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
    words = [
        leaf for leaf in leaves if isinstance(leaf, str) and leaf and not times.fullmatch(leaf)
    ]
    if words:
        return "\n".join(words)
    if True in leaves:
        return "ok"
    return ", ".join(str(leaf) for leaf in leaves if type(leaf) in (int, float)) or "nothing"


def _recent(messages: Sequence[Message], room: int) -> list[dict[str, str]]:
    kept: list[dict[str, str]] = []
    for message in reversed(messages):
        match message:
            case UserSaid(text):
                entry = {"role": "user", "content": text}
            case AssistantSaid(text) if text:
                entry = {"role": "assistant", "content": text}
            case _:
                continue
        if not kept:
            entry["content"] = entry["content"][: max(room, 200)]
        room -= len(entry["content"]) + 20
        if kept and room < 0:
            break
        kept.insert(0, entry)
    return kept


def _shown(pairs: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
    for said, answer in pairs:
        yield {"role": "user", "content": said}
        yield {"role": "assistant", "content": answer}


def _tool_options(tool: ToolSpec) -> list[Option]:
    given = [_example(tool, item) for item in tool.parameters.get("examples") or ()]
    examples = [example for example in given if example] or _made_up(tool)
    fixed = _fixed(examples)
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(_label(tool, example.arguments), []).append(example)
    return [Option(label, tool, tuple(found), any(given), fixed) for label, found in groups.items()]


def _fixed(examples: Sequence[Example]) -> frozenset[tuple[str, ...]]:
    seen: dict[tuple[str, ...], list[object]] = {}
    for example in examples:
        for path, value in _leaves(example.arguments):
            seen.setdefault(path, []).append(value)
    return frozenset(
        path for path, values in seen.items() if len(values) > 1 == len(set(map(repr, values)))
    )


def _example(tool: ToolSpec, item: object) -> Example | None:
    if not isinstance(item, dict):
        return None
    entry = cast("dict[str, Any]", item)
    user, arguments = entry.get("user"), entry.get("arguments")
    if isinstance(user, str) and isinstance(arguments, dict):
        return Example(user, cast("dict[str, Any]", arguments), real=True)
    label = _label(tool, entry)
    free = [text for _, text in _free_texts(tool, frozenset(), entry) if " " in text]
    rest = [v for _, v in _leaves(entry) if isinstance(v, str) and v not in free]
    said = " ".join(dict.fromkeys([label, *rest])) + (f": {free[0]}" if free else "")
    return Example(said, entry, real=False)


def _made_up(tool: ToolSpec) -> list[Example]:
    name = _plain_name(tool.name)
    for key, value in _properties(tool.parameters).items():
        if values := cast("dict[str, Any]", value).get("enum"):
            return [Example(f"{v} {name}", {key: v}, real=False) for v in values]
    return [Example(f"{name} {_first_clause(tool.description)}"[:80], {}, real=False)]


def _label(tool: ToolSpec, arguments: Mapping[str, Any]) -> str:
    for key, value in _properties(tool.parameters).items():
        if key in arguments and ("enum" in value or "const" in value):
            return str(arguments[key]).replace("_", " ")
    return _plain_name(tool.name)


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _plain_name(name: str) -> str:
    return name.rpartition("__")[2].replace("_", " ")


def _first_clause(text: str) -> str:
    return re.split(r"[.;:\n]", text.strip(), maxsplit=1)[0]


def _mixed(choices: Sequence[Option]) -> list[tuple[str, str]]:
    """Examples of every option in turn, so that no label is the last one five times."""
    talk = [(said, TALK) for said in _TALKED]
    columns = [talk, *([(e.message, o.label) for e in o.examples] for o in choices)]
    rows = [pair for row in zip_longest(*columns) for pair in row if pair]
    return rows[: max(MAX_EXAMPLES, len(columns))]


def _begins(token: str, label: str) -> bool:
    word = token.strip()
    return bool(word) and token.startswith(" ") and label.startswith(word)


def _features(text: str) -> frozenset[str]:
    """Words and pairs of neighbouring words."""
    words = _words(text)
    pairs = zip(["^", *words], [*words, "$"], strict=True)
    return frozenset(words) | frozenset(f"{a} {b}" for a, b in pairs)


def _words(text: str) -> list[str]:
    """Words and telling signs in lower case, the plural's s cut off."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in re.findall(r"[^\W_]+|[:=?!]", text.lower()[:MAX_MESSAGE_CHARS])
    ]


def _tails(option: Option, copy: Copy, message: str) -> list[tuple[str, str]]:
    """Where a copied tail may begin: its first three words, and all of it.

    Words that lead up to the value in the examples lead up to it here: the tail begins right
    behind them. Without any it may begin anywhere.
    """
    text = message.strip()
    words = list(re.finditer(r"\S+", text))
    lead = _lead_length([match[0] for match in words], _lead_words(option, copy))
    begins = words[lead : lead + 1] if lead else words[:MAX_STARTS]
    return [(" ".join(text[m.start() :].split()[:3]), text[m.start() :]) for m in begins]


def _lead_words(option: Option, copy: Copy) -> frozenset[str]:
    """The words before the value in the examples, the option's own, and the colon."""
    words = {":", *_words(option.label), *_words(option.tool.name)}
    for example in option.examples:
        value = value_at(example.arguments, copy.path)
        if isinstance(value, str) and value in example.message:
            words.update(_words(example.message.partition(value)[0]))
    return frozenset(words)


def _lead_length(words: Sequence[str], known: frozenset[str]) -> int:
    """How many words at the beginning lead up to something: known ones, one unknown between
    two of them forgiven; a colon ends it. 0 when nothing would be left."""
    length = gap = 0
    for at, word in enumerate(words[:8]):
        if word.endswith(":"):
            length = at + 1
            break
        gap = 0 if known.issuperset(_words(word)) else gap + 1
        if gap == 0:
            length = at + 1
        if gap > 1 and not any(w.endswith(":") for w in words[at : at + 2]):
            break
    return length if length < len(words) else 0


def _literal(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    )
    return f'"{escaped}"'


def _one_line(text: str, limit: int) -> str:
    return " ".join(text.split())[:limit]


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[object]", value)):
            yield from _leaves(inner, (*path, str(at)))
    else:
        yield path, value


def value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> object:
    """What `arguments` has at `path`, None when it has no such place."""
    return dict(_leaves(dict(arguments))).get(path)


def with_value(value: object, path: tuple[str, ...], new: object) -> Any:
    """`value` with `new` at `path`; nothing is changed in place."""
    if not path:
        return new
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {k: with_value(v, path[1:], new) if k == path[0] else v for k, v in entries.items()}
    items = cast("list[object]", value)
    return [with_value(v, path[1:], new) if str(at) == path[0] else v for at, v in enumerate(items)]
