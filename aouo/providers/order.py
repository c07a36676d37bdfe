"""Messages in an order that every service takes: the person's words carry what the runtime adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.transcript import Message, ModelRequest, SystemSaid, UserSaid


def in_order(request: ModelRequest) -> list[Message]:
    """The messages of a request, without any that is the system's: those that need no change are
    the same objects.

    A summary stands before the first words of the person, the changing context, in brackets,
    before the newest.
    """
    messages = [message for message in request.messages if type(message) is not SystemSaid]
    places = range(len(messages) - 1, -1, -1)
    newest = next((at for at in places if type(messages[at]) is UserSaid), len(messages))
    _tell(messages, newest, f"[{request.context}]" if request.context else "")
    first = next((at for at, said in enumerate(messages) if type(said) is UserSaid), 0)
    told = [message.text for message in request.messages if type(message) is SystemSaid]
    _tell(messages, first, "\n\n".join(filter(None, told)))
    return messages


def _tell(messages: list[Message], at: int, told: str) -> None:
    words: Sequence[Message] = messages[at : at + 1]
    match words:
        case _ if not told:
            return
        case [UserSaid(text)]:
            messages[at] = replace(words[0], text=f"{told}\n\n{text}" if text else told)
        case _:
            messages.insert(at, UserSaid(told))
