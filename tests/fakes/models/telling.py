"""Takes the replies that a service shall give, or makes them; records what it was asked."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.fakes.models.asked import Asked, File
from tests.fakes.models.judging import Refused
from tests.fakes.models.profile import SOUNDS, Body, Profile


@dataclass(frozen=True, slots=True)
class CallPart:
    """One tool call of a reply; `arguments` as a str are sent unchanged, even if broken."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = ""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def value(self) -> Any:
        """The arguments as a value; {} if they are broken."""
        try:
            return json.loads(self.text)
        except ValueError:
            return {}


@dataclass(frozen=True, slots=True)
class Says:
    """A streamed answer: thoughts, text in pieces, calls, a finish reason and the usage.

    Without `thoughts` a thinking model sends some of its own. `cut_after` breaks the connection
    after so many chunks; `stall_after` waits there until the service's `release` is set.
    """

    text: str = ""
    calls: tuple[CallPart, ...] = ()
    chunks: int = 1
    usage: tuple[int, int, int] | None = None
    """Prompt, cached and completion tokens to report; None = as counted."""
    reason: str = ""
    thoughts: str = ""
    signature: str = ""
    """The signature that a client must send back, "" = the service's own if it thinks."""
    reasoning_tokens: int = 0
    cut_after: int | None = None
    stall_after: int | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """An answer with an HTTP status; a body that is no str is sent as JSON."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly these bytes, in these pieces."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    encoding: str = ""
    cut: bool = False
    """Break the connection at the end."""


@dataclass(frozen=True, slots=True)
class Meets:
    """One of the profile's troubles, by name."""

    trouble: str


Reply: TypeAlias = Says | Fails | Raw | Meets
Script: TypeAlias = Callable[[Asked], Reply | str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply ready to be sent: with ids of calls, thoughts, and counted tokens.

    `cached_tokens` are part of `prompt_tokens`, `thought_tokens` of `said_tokens`.
    """

    id: str
    model: str
    text: str
    calls: tuple[CallPart, ...]
    thoughts: str
    signature: str
    reason: str
    chunks: int
    prompt_tokens: int
    cached_tokens: int
    said_tokens: int
    thought_tokens: int


def split(text: str, pieces: int) -> list[str]:
    """Return `text` in at most so many pieces of similar length; [] for no text."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


_CALL = re.compile(r"^call\s+(\S+)\s*(\{.*\})?\s*\Z", re.MULTILINE | re.DOTALL)
_TROUBLE = re.compile(r"^trouble(?:\s+(\S+))?\s*\Z", re.MULTILINE)
_CONTEXT = re.compile(r"\A\[.*?\]\s*", re.DOTALL)
"""The runtime's context before a person's words, in brackets: time, chat and the like."""
_QUOTED_CHARS = 600


def note(profile: Profile) -> str:
    """Return the note for people at the start."""
    return (
        f"No model answers here: the rules are those of {profile.title}, what you write is said "
        "back. `call NAME {…}` calls a tool, `trouble NAME` makes the next request fail."
    )


def says_back(profile: Profile) -> Callable[[Asked], Reply]:
    """Return the script of a service that people write to."""
    trouble = ""  # that the next request meets

    def reply(asked: Asked) -> Reply:
        nonlocal trouble
        name, trouble = trouble, ""
        if name:
            return Meets(name)
        if asked.entries[-1].role == "tool":
            return Says(f"The tool answered: {_result(asked)}")
        words = _CONTEXT.sub("", asked.words)
        if found := _CALL.search(words):
            return _call(asked, found[1], found[2] or "{}")
        if not (found := _TROUBLE.search(words)):
            return Says(f"(No model is here.) You said: {words[-_QUOTED_CHARS:]}")
        if (name := found[1] or "") not in profile.troubles:
            known = ", ".join(sorted(profile.troubles))
            return Says(f"{profile.title} knows these troubles: {known}.")
        trouble = name
        return Says(f"The next request meets the trouble {name}.")

    return reply


def _call(asked: Asked, tool: str, arguments: str) -> Says:
    if tool not in asked.tools:
        shown = ", ".join(asked.tools) or "none"
        return Says(f"There is no tool {tool} here; there are: {shown}.")
    return Says(calls=(CallPart(tool, arguments),))


def _result(asked: Asked) -> str:
    last = asked.entries[-1]
    said = last.text or str(last.raw.get("output") or last.raw.get("parts") or "")
    return said[:_QUOTED_CHARS]


_FIGURES = ("requests", "refused", "answers", "prompt_tokens", "cached_tokens")


class Told:
    """Gives replies in order, one per accepted request; then it repeats the newest words.

    A `script` decides by the request instead.
    """

    def __init__(self, profile: Profile, script: Script | None, *, keep: bool) -> None:
        self.profile = profile
        self.requests: list[Body] = []
        """The bodies of requests to models, as received."""
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.spoken: list[Body] = []
        """The bodies of requests to speak, as received."""
        self.files: list[File] = []
        """The files to transcribe."""
        self.refusals: list[Refused] = []
        self.answers: list[Answer] = []
        self.release = asyncio.Event()
        """Set it to let stalled answers go on."""
        self.stalled = asyncio.Event()
        """Set when an answer has begun to stall."""
        self.closed_by_client = asyncio.Event()
        """Set when a client left before its answer was written completely."""
        self._keep = keep
        self._figures = Counter[str]()
        self._replies: deque[Reply] = deque()
        self._script = script

    @property
    def left(self) -> int:
        """The number of replies that no request has taken yet."""
        return len(self._replies)

    def figures(self) -> dict[str, int]:
        """Return the counts since the start: requests, refusals, answers, and their tokens."""
        return {name: self._figures[name] for name in _FIGURES}

    def say(self, text: str, *, chunks: int = 1, usage: tuple[int, int, int] | None = None) -> None:
        self.reply(Says(text, chunks=chunks, usage=usage))

    def think(self, thoughts: str, text: str, *, reasoning_tokens: int = 0) -> None:
        """Answer with thoughts, if the family sends them, and `text`."""
        self.reply(Says(text, thoughts=thoughts, reasoning_tokens=reasoning_tokens))

    def call(self, tool: str, args: Mapping[str, Any] | str | None = None, id: str = "") -> None:  # noqa: A002
        """Answer with one tool call."""
        self.calls(CallPart(tool, args if args is not None else {}, id))

    def calls(self, *parts: CallPart, text: str = "") -> None:
        """Answer with several tool calls in one response, perhaps with words before them."""
        self.reply(Says(text, parts))

    def trouble(self, name: str, times: int = 1) -> None:
        """Answer so many requests with one of the profile's troubles.

        Raises:
            KeyError: the profile has none of that name.
        """
        if name not in self.profile.troubles:
            raise KeyError(f"{name}; there are {', '.join(self.profile.troubles)}")
        self.reply(*[Meets(name)] * times)

    def fail(
        self, status: int, body: object = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.reply(Fails(status, body, headers or {}))

    def cut(self, after_chunks: int, text: str = "The connection breaks here") -> None:
        """Break the connection after so many of five chunks."""
        self.reply(Says(text, chunks=5, cut_after=after_chunks))

    def stall(self, after_chunks: int = 0, text: str = "Slowly but surely") -> None:
        """Stall after so many of five chunks until `release` is set."""
        self.reply(Says(text, chunks=5, stall_after=after_chunks))

    def raw(
        self, *pieces: bytes, content_type: str = "text/event-stream", cut: bool = False
    ) -> None:
        self.reply(Raw(pieces, content_type=content_type, cut=cut))

    def reply(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    def next_reply(self, asked: Asked) -> Reply:
        if asked.wire in SOUNDS:
            return self._replies.popleft() if self._replies else Says()
        if self._script is not None:
            reply = self._script(asked)
            return Says(reply) if isinstance(reply, str) else reply
        return self._replies.popleft() if self._replies else Says(asked.words)

    def note_request(self, body: Body, headers: Mapping[str, str], path: str) -> None:
        self._figures["requests"] += 1
        if self._keep:
            self.requests.append(body)
            self.headers.append(dict(headers))
            self.paths.append(path)

    def note_sound(self, what: Body | File, path: str) -> None:
        self._figures["requests"] += 1
        if not self._keep:
            return
        self.paths.append(path)
        if isinstance(what, File):
            self.files.append(what)
        else:
            self.spoken.append(what)

    def note_answer(self, answer: Answer) -> None:
        self._figures["answers"] += 1
        self._figures["prompt_tokens"] += answer.prompt_tokens
        self._figures["cached_tokens"] += answer.cached_tokens
        if self._keep:
            self.answers.append(answer)

    def note_refusal(self, wrong: Refused) -> None:
        self._figures["refused"] += 1
        if self._keep:
            self.refusals.append(wrong)
