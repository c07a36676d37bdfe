"""Takes the replies that a service shall give, and records what it was asked."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from aouo.emulator.models.asked import Asked
from aouo.emulator.models.judging import Refused
from aouo.emulator.models.profile import SOUNDS, Body, Profile
from aouo.emulator.models.replies import (
    Answer,
    CallPart,
    Fails,
    Meets,
    Raw,
    Reply,
    Says,
    Script,
)
from aouo.emulator.models.sound import File

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
