"""The arguments of a chosen call: pieces of the message, or a short form of the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from aouo.providers.tiny.cuts import MAX_MESSAGE_CHARS, gbnf, one_line, value_at, word_list
from aouo.providers.tiny.options import Example, Option, first_clause, free_texts, properties_of

MAX_STARTS = 24
MAX_SCHEMA_TOKENS = 160


@dataclass(frozen=True, slots=True)
class Copy:
    """An argument that is a piece of the message; `tail` when it always runs to the end."""

    path: tuple[str, ...]
    tail: bool


def copies(option: Option, example: Example) -> tuple[Copy, ...]:
    """The arguments of `example` that come out of its message, in order."""
    return tuple(
        Copy(path, tail=not example.real or _ends_with(example.message, value))
        for path, value in free_texts(option.tool, option.fixed, example.arguments)
        if (value in example.message if example.real else " " in value)
    )


def copy_prompt(option: Option, copy: Copy, message: str) -> str:
    """The pattern whose next line is the piece of `message` that `copy` wants."""
    key = copy.path[-1]
    shown = [(e.message, value_at(e.arguments, copy.path)) for e in option.examples if e.real]
    lines = [
        f"Message: {one_line(said, 120)}\n{key}: {value}\n"
        for said, value in shown
        if isinstance(value, str) and value in said
    ][:6]
    return "\n".join([*lines, f"Message: {one_line(message, MAX_MESSAGE_CHARS)}\n{key}:"])


def copy_grammar(option: Option, copy: Copy, message: str) -> str:
    """GBNF for the pieces of `message`: its tails by their first words, or any run of words."""
    if copy.tail:
        heads = dict.fromkeys(head for head, _ in _tails(option, copy, message))
        return 'root ::= " " (' + " | ".join(gbnf(head) for head in heads) + ') "\\n"'
    words = [re.fullmatch(r"(.*?)([.,;:!?]*)", word) for word in message.split()[:MAX_STARTS]]
    parts = [(match[1], match[2]) for match in words if match]
    rules = [f'root ::= " " ({" | ".join(f"w{at}" for at in range(len(parts)))}) "\\n"']
    for at, (word, mark) in enumerate(parts):
        more = f" ({gbnf(mark + ' ')} w{at + 1})?" if at + 1 < len(parts) else ""
        rules.append(f"w{at} ::= {gbnf(word or mark)}{more}")
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
    names = ", ".join(properties_of(option.tool.parameters))
    return (
        f"{first_clause(option.tool.description)}\nArguments: {names}\n"
        f"Message: {one_line(message, MAX_MESSAGE_CHARS)}\nArguments as JSON: "
    )


def schema_for(option: Option) -> dict[str, Any]:
    """The tool's own parameter schema with the chosen enum value fixed, cut down to what is
    required and one text, so that the answer is whole within `MAX_SCHEMA_TOKENS`."""
    schema = option.tool.parameters
    fixed = {key: {"const": value} for key, value in option.examples[0].arguments.items()}
    listed = schema.get("required")
    required = cast("list[str]", listed) if isinstance(listed, list) else []
    needed = [key for key in required if key not in fixed]
    texts = [
        key
        for key, value in properties_of(schema).items()
        if key not in fixed and value.get("type") == "string" and "enum" not in value
    ]
    wanted = {key: _short(properties_of(schema).get(key, {})) for key in [*needed, *texts[:1]]}
    return {
        **{key: value for key, value in schema.items() if key in ("$defs", "definitions")},
        "type": "object",
        "properties": {**fixed, **wanted},
        "required": [*fixed, *wanted],
        "additionalProperties": False,
    }


def _ends_with(text: str, end: str) -> bool:
    return text.rstrip(" .!?").endswith(end.rstrip(" .!?"))


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    limit = {"maxLength": 80} if schema.get("type") == "string" and "enum" not in schema else {}
    return {**schema, **limit}


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
    words = {":", *word_list(option.label), *word_list(option.tool.name)}
    for example in option.examples:
        value = value_at(example.arguments, copy.path)
        if isinstance(value, str) and value in example.message:
            words.update(word_list(example.message.partition(value)[0]))
    return frozenset(words)


def _lead_length(words: Sequence[str], known: frozenset[str]) -> int:
    """How many words at the beginning lead up to something: known ones, one unknown between
    two of them forgiven; a colon ends it. 0 when nothing would be left."""
    length = gap = 0
    for at, word in enumerate(words[:8]):
        if word.endswith(":"):
            length = at + 1
            break
        gap = 0 if known.issuperset(word_list(word)) else gap + 1
        if gap == 0:
            length = at + 1
        if gap > 1 and not any(w.endswith(":") for w in words[at : at + 2]):
            break
    return length if length < len(words) else 0
