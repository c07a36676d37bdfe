"""What is said in words: the chat the model continues, and tool results told as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from aouo.providers.tiny.cuts import MAX_PROMPT_CHARS, gbnf, one_line, own_words
from aouo.transcript import AssistantSaid, Message, ModelRequest, ToolReturned, UserSaid

MAX_RESULT_CHARS = 1500
DONE, FOUND, FAILED = "It is done", "Here is what I found", "That did not work"

_CHAT = (
    ("How do I boil an egg?", "Put it in boiling water for eight minutes."),
    ("What is the capital of Italy?", "The capital of Italy is Rome."),
    ("Hello", "Hello! What can I do for you?"),
    ("Thank you", "You are welcome!"),
    ("I feel bad", "I am sorry to hear that. Do you want to talk about it?"),
    ("Good evening", "Good evening! What can I do for you?"),
    ("What are you?", "I am a small language model on this computer, here to help you."),
)


_TOLD = (
    ("paint the door green", "ok", DONE),
    ("which colours are there?", "green; dark blue", FOUND),
    ("please order more paint", "order 12 made", DONE),
    ("show me the doors", "nothing", FOUND),
)


def chat_messages(request: ModelRequest) -> list[dict[str, str]]:
    """The chat for an answer in words: a few exchanges that set its tone, then the last
    messages that fit in `MAX_PROMPT_CHARS`.

    `request.context` is left out: with it, answers were longer and worse, and the time and
    date in it were retold wrong.
    """
    system = one_line(request.system, 500) or "You are a kind assistant. Be brief."
    messages = [{"role": "system", "content": system}, *_shown(_CHAT)]
    room = MAX_PROMPT_CHARS - sum(len(m["content"]) + 20 for m in messages)
    return messages + _recent(request.messages, room)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What tool calls came to: the person's words, the result in words, whether it failed, and
    whether it is a list of things, which is always something found."""

    asked: str
    result: str
    failed: bool
    listed: bool = False


def outcome(messages: Sequence[Message]) -> Outcome | None:
    """What the newest messages say about tool calls, None when the last one is no result."""
    said = next((m.text for m in reversed(messages) if isinstance(m, UserSaid)), "")
    results: list[ToolReturned] = []
    for message in reversed(messages):
        if not isinstance(message, ToolReturned):
            break
        results.insert(0, message)
    if not results:
        return None
    found = "\n".join(words_of(result.text) for result in results)
    return Outcome(
        own_words(said),
        found[:MAX_RESULT_CHARS],
        failed=any(result.failed for result in results),
        listed=any(_is_list(result.text) for result in results),
    )


def telling_prompt(told: Outcome) -> str:
    """The pattern whose next line is how an answer about `told` begins."""
    shown = [_told(asked, result) + f" {opening}\n" for asked, result, opening in _TOLD]
    return "\n".join([*shown, _told(one_line(told.asked, 200), one_line(told.result, 200))])


def telling_grammar() -> str:
    return f'root ::= " " ({gbnf(DONE)} | {gbnf(FOUND)}) "\\n"'


def telling(told: Outcome, opening: str) -> str:
    """The answer: the opening the model chose, and the result as it is. A model of this size
    garbles what it retells."""
    if told.failed or told.listed:
        opening = FAILED if told.failed else FOUND
    opening = opening.strip() or DONE
    if told.result == "ok":
        return f"{opening}."
    items = told.result.splitlines()
    return f"{opening}: {items[0]}" if len(items) == 1 else "\n- ".join([f"{opening}:", *items])


def words_of(result: str) -> str:
    """A tool's JSON result in words: a line for each thing in its list; else its counts; else ok.

    Ids and times are bookkeeping that nobody asked for.
    """
    try:
        value: object = json.loads(result)
    except (ValueError, RecursionError):
        return result.strip() or "ok"
    match value:
        case dict() if (rows := _rows(cast("dict[str, object]", value))) is not None:
            return "\n".join(filter(None, map(_row, rows))) or "nothing"
        case dict():
            counts = list(_counts(cast("dict[str, object]", value)))
            return "\n".join(counts) or "ok"
        case list():
            return "\n".join(filter(None, map(_row, cast("list[object]", value)))) or "nothing"
        case bool():
            return "ok"
        case _:
            return str(value)


def _is_list(result: str) -> bool:
    try:
        value: object = json.loads(result)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, dict):
        return _rows(cast("dict[str, object]", value)) is not None
    return isinstance(value, list)


def _rows(value: dict[str, object]) -> list[object] | None:
    return next((cast("list[object]", v) for v in value.values() if isinstance(v, list)), None)


def _row(row: object) -> str:
    if not isinstance(row, dict):
        return str(row)
    known = cast("dict[str, object]", row)
    return ", ".join(str(v) for k, v in known.items() if v not in ("", None) and not _is_kept(k))


def _counts(value: dict[str, object], name: str = "") -> Iterator[str]:
    """Numbers inside nested objects, with the name of what they count; flat ones are receipts."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _counts(cast("dict[str, object]", inner), key)
        elif type(inner) in (int, float) and (name or key in ("count", "total")):
            yield f"{name or key}: {inner}"


def _is_kept(key: str) -> bool:
    return key in ("id", "at") or key.endswith(("_id", "_at"))


def _told(asked: str, result: str) -> str:
    return f"Asked: {asked}\nResult: {result}\nAnswer:"


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
