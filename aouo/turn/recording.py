"""Collects what a turn records of itself: the sections of its prompt, failed tries, live edits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aouo.facts.errors import ProviderError
from aouo.facts.recorded import FailedTry, Recorded, Section
from aouo.facts.transcript import AsksAgain, AssistantSaid, Message, ModelRequest
from aouo.turn.tokens import Estimator, Scale, estimate

TEXT_CHARS = 60_000
"""Of a prompt's text that is kept; the rest is cut."""
_SAMPLE_CHARS = 8_000
_DIGEST_CHARS = 24


@dataclass(slots=True)
class Recording:
    """One turn's, while it runs. `parts` are those of the prompt that the runtime wrote, (name,
    text); `texts` what of them seldom changes."""

    parts: Sequence[tuple[str, str]] = ()
    texts: Sequence[str] = ()
    sections: tuple[Section, ...] = ()
    tries: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    edits: int = 0
    stale_route: bool = False
    taken_up_at: str = ""

    def written(
        self, system: Sequence[tuple[str, str]], changing: Sequence[tuple[str, str]]
    ) -> None:
        """Take down the prompt that a turn begins with; the first part of what is `changing` is
        new with each turn."""
        self.parts = (*system, *changing)
        self.texts = [
            "\n\n".join(text for _, text in parts)[:TEXT_CHARS]
            for parts in (system, changing[1:])
            if parts
        ]

    def sent(self, request: ModelRequest, estimator: Estimator, provider: str, model: str) -> None:
        """Measure a request; a long history is estimated by a part of it."""
        scale = estimator.scale(provider, model)
        tools = Section(
            "Tools",
            estimator.tools_bytes(request.tools),
            scale.tokens(estimator.tools(request.tools)) if request.tools else 0,
        )
        past, said = request.messages[: request.past], request.messages[request.past :]
        sections = [_section(name, text, scale) for name, text in self.parts]
        sections += [tools, _messages("History", past, scale), _messages("Words", said, scale)]
        self.sections = tuple(section for section in sections if section.bytes)

    def asked_again(self, asks: AsksAgain) -> None:
        """Count a try that failed."""
        failed, asked = "/".join(asks.failed), "/".join(asks.asked)
        self.tries[failed, asked, type(asks.error).__name__] += 1

    def gave_up(self, error: ProviderError) -> None:
        """Count the try after which no other model was asked."""
        failed, kind = error.given_up
        if failed:
            self.tries[failed, "", kind] += 1

    def prompts(self) -> Mapping[str, str]:
        """Return the texts of the prompt by digest."""
        return {_digest(text): text for text in self.texts}

    def recorded(self, prompts: Sequence[str] = ()) -> Recorded:
        """Return it as it is stored, with the digests of the texts that are kept."""
        return Recorded(
            self.sections,
            tuple(prompts),
            tuple(FailedTry(*names, times) for names, times in self.tries.items()),
            self.edits,
            self.stale_route,
            self.taken_up_at,
        )


def _section(name: str, text: str, scale: Scale) -> Section:
    return Section(name, _bytes(text), scale.text(text))


def _messages(name: str, entries: Sequence[Message], scale: Scale) -> Section:
    texts = [entry.text for entry in entries]
    for entry in entries:
        if type(entry) is AssistantSaid:
            texts += [call.arguments for call in entry.calls]
    whole = "".join(texts)
    sample = whole[-_SAMPLE_CHARS:]
    share = len(whole) / len(sample) if sample else 0
    found = scale.tokens(estimate(sample)) * share
    return Section(name, _bytes(whole), round(found))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
