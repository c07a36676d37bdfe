"""Estimates how many tokens a text is by its kinds of characters, corrected by real usage."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from aouo.facts import transcript
from aouo.providers.thoughts import sent_of

_RESERVE_TOKENS = 4096
_ENTRY_TOKENS = 4
"""About what providers put around one entry."""

# Tokens a character, by what the first byte of its UTF-8 form tells of it. Fitted to counts of
# the o200k and cl100k vocabularies over prose in 22 languages, code, JSON, tables and logs.
_LETTER = 0.235
_ASCII = {b"0": 0.61, b".": 0.75, b"n": 0.25}
_OTHER = {
    b"l": 1.2,  # letters with accents, IPA
    b"c": 0.42,  # Greek, Cyrillic
    b"s": 0.48,  # Armenian, Hebrew, Arabic
    b"i": 0.45,  # the Indic scripts, Thai, Georgian, Ethiopic, Vietnamese
    b"p": 1.68,  # dashes, quotes, arrows, mathematics, boxes
    b"k": 0.62,  # kana, CJK punctuation
    b"z": 1.0,  # Han
    b"h": 0.84,  # Hangul
    b"f": 1.0,  # forms of full and half width
    b"e": 2.0,  # emoji and whatever else needs four bytes
}
_MOST_ASCII, _MOST_OTHER = max(_ASCII.values()), max(_OTHER.values())


def _classes() -> bytes:
    kinds = bytearray(b"." * 256)
    for first, last, kind in (
        (0x30, 0x39, b"0"),
        (0x0A, 0x0D, b"n"),
        (0x41, 0x5A, b"a"),
        (0x61, 0x7A, b"a"),
        (0xC0, 0xCD, b"l"),
        (0xCE, 0xD3, b"c"),
        (0xD4, 0xDF, b"s"),
        (0xE0, 0xE1, b"i"),
        (0xE2, 0xE2, b"p"),
        (0xE3, 0xE3, b"k"),
        (0xE4, 0xE9, b"z"),
        (0xEA, 0xED, b"h"),
        (0xEE, 0xEF, b"f"),
        (0xF0, 0xFF, b"e"),
    ):
        kinds[first : last + 1] = kind * (last + 1 - first)
    return bytes(kinds)


_KINDS = _classes()
_UNCOUNTED = bytes(range(0x80, 0xC0)) + b" \t"  # the rest of a character; blanks join their word

_SPECS_KEPT = 1_000
_ALWAYS, _SOMETIMES = 8, 16
_TOO_FEW = 50
_FADING = 0.85  # so that a service that changes its count is followed within some calls
_PRIOR = 0.02
_LOWEST, _HIGHEST = 0.3, 4.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens before correction: of ASCII, of other characters, and `fixed` ones, never scaled."""

    ascii: float = 0.0
    other: float = 0.0
    fixed: float = 0.0

    def __add__(self, more: Estimate) -> Estimate:
        return Estimate(self.ascii + more.ascii, self.other + more.other, self.fixed + more.fixed)


def estimate(text: str) -> Estimate:
    """Estimate a text, at about 3 ns a byte."""
    kinds = text.encode("utf-8", "surrogatepass").translate(_KINDS, _UNCOUNTED)
    left, ascii_tokens, other_tokens = len(kinds), 0.0, 0.0
    for kind, weight in _ASCII.items():
        count = kinds.count(kind)
        left -= count
        ascii_tokens += weight * count
    if not text.isascii():
        for kind, weight in _OTHER.items():
            count = kinds.count(kind)
            left -= count
            other_tokens += weight * count
    return Estimate(ascii_tokens + _LETTER * left, other_tokens)


def estimate_entries(messages: Iterable[transcript.Message], to: tuple[str, str]) -> Estimate:
    """Estimate entries of a transcript as they are sent `to` a (provider, model), as one text."""
    texts, fixed = _sent(messages, to)
    found = estimate("".join(texts))
    return Estimate(found.ascii, found.other, fixed)


def _sent(messages: Iterable[transcript.Message], to: tuple[str, str]) -> tuple[list[str], int]:
    """The texts of entries, thoughts that go back included, and the tokens for all else."""
    texts: list[str] = []
    fixed = 0
    # Plain tests of types: this looks at hundreds of entries before each model call.
    for entry in messages:
        fixed += _ENTRY_TOKENS
        if type(entry) is transcript.AssistantSaid and (entry.calls or entry.native):
            texts += sent_of(entry, *to)
            fixed += _ENTRY_TOKENS * len(entry.calls)
            continue
        texts.append(entry.text)
        if type(entry) is transcript.UserSaid and entry.images:
            fixed += transcript.IMAGE_TOKENS * len(entry.images)
    return texts, fixed


@dataclass(frozen=True, slots=True)
class Scale:
    """What one token of an estimate is worth with one model, (provider, model)."""

    ascii: float = 1.0
    other: float = 1.0
    model: tuple[str, str] = field(default=("", ""), compare=False)

    def tokens(self, found: Estimate) -> int:
        """The corrected number, rounded up."""
        return int(found.ascii * self.ascii + found.other * self.other + found.fixed) + 1

    def text(self, text: str) -> int:
        return self.tokens(estimate(text))

    def entries(self, messages: Iterable[transcript.Message]) -> int:
        """The tokens of some entries together."""
        return self.tokens(estimate_entries(messages, self.model))

    def at_most(self, messages: Iterable[transcript.Message]) -> float:
        """Return an upper bound of `entries`, from the lengths of the texts alone."""
        texts, fixed = _sent(messages, self.model)
        whole = "".join(texts)
        chars = len(whole)
        others = 0
        if not whole.isascii():
            others = sum([len(text) for text in texts if not text.isascii()])
        a = _MOST_ASCII * self.ascii
        b = max(_MOST_OTHER * self.other, a)
        return 1 + fixed + a * (chars - others) + b * others


@dataclass(slots=True)
class _Learnt:
    """Sums of a least-squares fit of two factors to relative errors, and the answer so far."""

    seen: int = 0
    aa: float = 0.0
    ab: float = 0.0
    bb: float = 0.0
    at: float = 0.0
    bt: float = 0.0
    scale: Scale = Scale()


def reserve_tokens(window: int) -> int:
    """Return how many tokens of a window are kept free for an answer."""
    return min(_RESERVE_TOKENS, window // 4)


class Estimator:
    """Estimates that learn, for each model, from what its service counted.

    It learns two factors, for ASCII and for all else, since vocabularies differ mostly in how well
    they know other scripts. They are held in memory: three calls after a start they are back.
    """

    def __init__(self) -> None:
        self._learnt: dict[tuple[str, str], _Learnt] = {}
        self._tools: dict[int, tuple[transcript.ToolSpec, Estimate, int]] = {}

    def scale(self, provider: str, model: str) -> Scale:
        learnt = self._learnt.get((provider, model))
        return replace(learnt.scale if learnt else Scale(), model=(provider, model))

    def tools(self, specs: Iterable[transcript.ToolSpec]) -> Estimate:
        """Estimate what a model is told of its tools; each spec is estimated once."""
        total = Estimate()
        for spec in specs:
            total += self._spec(spec)[1]
        return total

    def tools_bytes(self, specs: Iterable[transcript.ToolSpec]) -> int:
        """Return how many bytes a model is told of its tools."""
        return sum([self._spec(spec)[2] for spec in specs])

    def _spec(self, spec: transcript.ToolSpec) -> tuple[transcript.ToolSpec, Estimate, int]:
        known = self._tools.get(id(spec))
        if known is None:
            if len(self._tools) >= _SPECS_KEPT:
                self._tools.clear()
            text = f"{spec.name}{spec.description}{json.dumps(spec.parameters)}"
            size = len(text.encode("utf-8", "surrogatepass"))
            # The spec itself is kept, so that its id cannot become another one's.
            known = self._tools[id(spec)] = (spec, estimate(text) + Estimate(fixed=8), size)
        return known

    def request(self, request: transcript.ModelRequest, to: tuple[str, str]) -> Estimate:
        """Estimate all that one request sends `to` a (provider, model)."""
        return (
            estimate(request.system + request.context)
            + estimate_entries(request.messages, to)
            + self.tools(request.tools)
        )

    def observe(
        self, provider: str, model: str, request: transcript.ModelRequest, used: transcript.Usage
    ) -> None:
        """Learn from one call: from each of a model's first calls, then from one in `_SOMETIMES`.

        Requests with images teach nothing, since services count those in ways of their own.
        """
        learnt = self._learnt.setdefault((provider, model), _Learnt())
        learnt.seen += 1
        if learnt.seen > _ALWAYS and learnt.seen % _SOMETIMES:
            return
        if used.input_tokens < _TOO_FEW or any(
            isinstance(entry, transcript.UserSaid) and entry.images for entry in request.messages
        ):
            return
        found = self.request(request, (provider, model))
        self._learn(learnt, found, used.input_tokens)

    def was_too_long(self, provider: str, model: str) -> None:
        """Raise a model's factors by a fifth, because its service refused what should have fit."""
        learnt = self._learnt.setdefault((provider, model), _Learnt())
        scale = learnt.scale
        learnt.scale = Scale(min(scale.ascii * 1.2, _HIGHEST), min(scale.other * 1.2, _HIGHEST))

    def _learn(self, learnt: _Learnt, found: Estimate, counted: int) -> None:
        target = max(counted - found.fixed, 1.0)
        a, b, t = found.ascii / counted, found.other / counted, target / counted
        learnt.aa = learnt.aa * _FADING + a * a
        learnt.ab = learnt.ab * _FADING + a * b
        learnt.bb = learnt.bb * _FADING + b * b
        learnt.at = learnt.at * _FADING + a * t
        learnt.bt = learnt.bt * _FADING + b * t
        # The prior is that both factors are one; it decides where a kind was never seen.
        aa, bb, ab = learnt.aa + _PRIOR, learnt.bb + _PRIOR, learnt.ab
        at, bt = learnt.at + _PRIOR, learnt.bt + _PRIOR
        det = aa * bb - ab * ab
        learnt.scale = Scale(_within((at * bb - bt * ab) / det), _within((bt * aa - at * ab) / det))


def _within(factor: float) -> float:
    return min(max(factor, _LOWEST), _HIGHEST)
