"""Does what a command wants done with its answer: registered kinds, each in the answer's commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from aouo.facts.address import ConversationAddress
from aouo.facts.commands import PostAction
from aouo.facts.errors import PostActionFailed
from aouo.facts.events import Person
from aouo.facts.ports import Rendered
from aouo.store.database import Tx


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer that a post-action belongs to; `text` is what the model said, "" = it said
    nothing. `pack`, `skill` and `session_id` are the turn's, "" = it has none."""

    address: ConversationAddress
    chat_kind: str
    person: Person
    session_id: str
    pack: str
    skill: str
    text: str
    now: str


Doing: TypeAlias = Callable[[Tx, Mapping[str, Any], Answered], Rendered | None]
"""Does one kind of post-action with its arguments; returns what the person is told of it."""


@dataclass(slots=True, eq=False)
class PostActions:
    """The registered kinds of post-actions, by name."""

    kinds: Mapping[str, Doing]

    def check(self, action: PostAction | None) -> None:
        """Check that somebody does this kind.

        Raises:
            PostActionFailed: nobody does.
        """
        if action and action.kind not in self.kinds:
            raise PostActionFailed(action.kind, f"there is none of {sorted(self.kinds)}")

    def do(self, tx: Tx, action: PostAction, answered: Answered) -> Rendered | None:
        """Do it in the transaction that commits the answer.

        Raises:
            PostActionFailed: it failed; nothing of the transaction may be kept.
        """
        self.check(action)
        try:
            told = cast("object", self.kinds[action.kind](tx, action.arguments, answered))
        except Exception as error:
            raise PostActionFailed(action.kind, repr(error)) from error
        if told is not None and not isinstance(told, Rendered):
            raise PostActionFailed(action.kind, f"{told!r} is no message")
        return told
