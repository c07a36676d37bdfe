"""What is said in words: the chat the model continues, and tool results told as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aouo.providers.tiny.cuts import MAX_PROMPT_CHARS, all_leaves, gbnf, one_line
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
    return "\n".join([*shown, _told(one_line(told.asked, 200), one_line(told.result, 200))])


def telling_grammar() -> str:
    return f'root ::= " " ({gbnf(DONE)} | {gbnf(FOUND)}) "\\n"'


def telling(told: Outcome, opening: str) -> str:
    """The answer: the opening the model chose, and the result as it is. A model of this size
    garbles what it retells."""
    opening = FAILED if told.failed else opening.strip() or DONE
    if told.result == "ok":
        return f"{opening}."
    items = told.result.splitlines()
    return f"{opening}: {items[0]}" if len(items) == 1 else "\n- ".join([f"{opening}:", *items])


def words_of(result: str) -> str:
    """The words in a tool's JSON result, a line each, without its keys, numbers and times."""
    try:
        value: object = json.loads(result)
    except ValueError:
        return result.strip() or "ok"
    leaves = [leaf for _, leaf in all_leaves(value)]
    times = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
    words = [
        leaf for leaf in leaves if isinstance(leaf, str) and leaf and not times.fullmatch(leaf)
    ]
    if words:
        return "\n".join(words)
    if True in leaves:
        return "ok"
    return ", ".join(str(leaf) for leaf in leaves if type(leaf) in (int, float)) or "nothing"


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
