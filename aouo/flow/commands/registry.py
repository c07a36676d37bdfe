"""Defines what a command is given and returns, and what is done with its answer.

A handler runs inside the transaction that settles its job and queues its reply, so a command
takes effect exactly once, and a turn never races it. A look-up, and a command that the owner
added, run before that transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from aouo.facts.address import ConversationAddress
from aouo.facts.commands import PostAction, Takes, TurnHints, Words
from aouo.facts.errors import PostActionFailed
from aouo.facts.events import Inbound, Person
from aouo.facts.ports import Rendered
from aouo.facts.work import Route
from aouo.packs.library import Library
from aouo.store.database import Tx
from aouo.store.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command from its lane; `now` is the time as it is stored, `job` the id of its job.

    `rest` is what follows it, `words` are the same, split; `session_id` "" = there is none yet.
    """

    inbound: Inbound
    rest: str
    now: str
    job: int = 0
    words: Words = field(default_factory=Words)
    session_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command answers, and what has to be done after the commit.

    With an `output` that is the answer. Without, a turn runs with the `hints`. The post-action is
    done in the transaction of whichever answers, and never if there is no answer.
    """

    output: Rendered | None = None
    hints: TurnHints = field(default_factory=TurnHints)
    post_action: PostAction | None = None
    replay: bool = False  # messages that waited for a pack can go on
    stopped: int = 0  # the job at work here that ends without an answer, 0 = none
    stopped_elsewhere: int = 0  # the same of another conversation
    beside: bool = False  # the output stands below what was tapped, and not in its place
    dropped: tuple[tuple[int, Inbound], ...] = ()  # jobs that are over, each with its id


Handler: TypeAlias = Callable[[Tx, CommandCall, Library], Result]
Look: TypeAlias = Callable[[Snapshot, CommandCall, Route | None], Awaitable[Result]]
"""Looks something up before the transaction that settles its job."""


@dataclass(frozen=True, slots=True)
class AddedCommand:
    """A command that the owner added; `line` describes it in the menu and in /help, "" = it is not
    listed. `run` is called before the transaction that settles the job, and again after a kill."""

    line: str
    run: Callable[[CommandCall], Awaitable[Result]]
    takes: Takes = Takes.WORDS


@dataclass(frozen=True, slots=True)
class Commands:
    """The handlers of `facts.commands` that need nothing of the flow, by the name of the command.

    `handlers` run in the transaction that settles their job and queues their reply. `lookups` only
    read, perhaps much, from a snapshot that nothing waits for; with words after it a handler of the
    same name comes first. `added` gives the owner's commands as they are now, by name, and
    `problems` what is wrong with the files of theirs.
    """

    handlers: Mapping[str, Handler]
    lookups: Mapping[str, Look]
    added: Callable[[], Mapping[str, AddedCommand]] = dict
    problems: Callable[[], tuple[str, ...]] = tuple


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
