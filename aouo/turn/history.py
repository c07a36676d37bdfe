"""Which entries of a session a model reads: pure cuts that never split a call from its results."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.transcript import (
    AssistantSaid,
    Message,
    SystemSaid,
    ToolReturned,
    UserSaid,
    message_tokens,
    most_tokens,
)


def sanitised(messages: Sequence[Message]) -> list[Message]:
    """Drop what no provider accepts: a beginning in mid-turn, calls or results without a partner.

    An assistant entry keeps its calls only if every one of them is answered right behind it.
    """
    kept: list[Message] = []
    index = 0
    while index < len(messages):
        entry = messages[index]
        index += 1
        match entry:
            case AssistantSaid(text, calls) if calls:
                results: list[ToolReturned] = []
                while index < len(messages) and isinstance(result := messages[index], ToolReturned):
                    results.append(result)
                    index += 1
                if {call.id for call in calls} == {result.call_id for result in results}:
                    kept += [entry, *results]
                elif text:
                    kept.append(AssistantSaid(text))
            case ToolReturned():
                continue
            case SystemSaid() | UserSaid() | AssistantSaid():
                kept.append(entry)
    while kept and not isinstance(kept[0], SystemSaid | UserSaid):
        kept.pop(0)
    return kept


def newest_that_fit(messages: Sequence[Message], max_tokens: int) -> list[Message]:
    """The newest turns whose estimate fits; a turn is kept whole or not at all."""
    if sum(map(most_tokens, messages)) <= max_tokens:
        return list(messages)
    starts = [i for i, entry in enumerate(messages) if isinstance(entry, UserSaid)]
    kept_from = len(messages)
    used = 0
    for start in reversed(starts):
        used += sum(message_tokens(entry) for entry in messages[start:kept_from])
        if used > max_tokens:
            break
        kept_from = start
    return list(messages[kept_from:])
