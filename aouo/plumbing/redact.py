"""Takes secrets out of texts: the configured ones, what looks like one, and logins in addresses.

`Redactor` redacts whole texts, `Trickle` a text that still grows; both give the same result.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property
from typing import cast
from urllib.parse import quote, quote_plus, unquote

from aouo.plumbing import secret_shapes

_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/\s:]*:([^/\s]+)@)", re.IGNORECASE)
_SHORTEST_SECRET = 6
"""Redacting a shorter secret everywhere would also redact ordinary words."""


def secrets_in(address: str) -> tuple[str, ...]:
    """Return the secrets of an address: its password, percent-encoded and decoded.

    With a password shorter than `_SHORTEST_SECRET` also `user:password@` as a whole.
    """
    found = _LOGIN.match(address)
    if not found:
        return ()
    login, password = found[1], found[2]
    whole = (login,) if len(unquote(password)) < _SHORTEST_SECRET else ()
    return password, unquote(password), *whole


_SHORTEST_RESPELLED = 4
REDACTED = "[redacted]"
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class Redactor:
    """Replaces secrets by `[redacted]` in text and in nested values.

    `secrets` are replaced wherever they occur, also as JSON or a URL writes them. One shorter
    than 6 characters is found only by its shape: replacing it would also redact ordinary words.
    """

    def __init__(self, secrets: Iterable[str] = (), *, shapes: bool = True) -> None:
        self._shapes = shapes
        self._secrets = frozenset(secrets)
        written = {
            form
            for secret in self._secrets
            if len(secret) >= _SHORTEST_SECRET
            for form in _forms(secret)
        }
        self._forms = _ordered(written)
        self._bare = _ordered(
            bare for form in written if len(bare := secret_shapes.bared(form)) >= len(form) / 2
        )
        self._shortest = min(map(len, self._bare), default=0)
        starts = {
            f"{re.escape(form[0])}(?:{re.escape(form[1])}|\\Z)" for form in {*written, *self._bare}
        }
        self._begins = re.compile("|".join(sorted(starts)) or r"(?!)", re.DOTALL)

    def __or__(self, other: Redactor) -> Redactor:
        """Return one that replaces the secrets of both."""
        if other._secrets <= self._secrets:
            return self
        return Redactor(self._secrets | other._secrets)

    @cached_property
    def only_known(self) -> Redactor:
        """One that leaves alone what only looks like a secret."""
        return type(self)(self._secrets, shapes=False)

    def suspects(self, text: str) -> bool:
        """Whether `text` may hold a secret; quick, and false is certain."""
        for form in self._forms:
            if form in text:
                return True
        if secret_shapes.hinted(text):
            return True
        bare = secret_shapes.bared(text)
        return len(bare) < len(text) and (
            secret_shapes.hinted(bare) or any(form in bare for form in self._bare)
        )

    def text(self, text: str) -> str:
        """Return `text` without secrets; the same object when nothing is suspected."""
        if not self.suspects(text):
            return text
        text = self.known(text)
        return replaced(text, secret_shapes.shape_spans(text)) if self._shapes else text

    def known(self, text: str) -> str:
        """Return `text` without the configured secrets; what only looks like one stays."""
        return replaced(text, self.known_spans(text))

    def settled(self, text: str) -> int:
        """Return the length of the prefix of a growing text that can be shown.

        No secret can start in it and continue beyond the end.
        """
        return min(self.known_settled(text), secret_shapes.shapes_settled(text, 0))

    def known_settled(self, text: str) -> int:
        """Return the length of the prefix that can be shown.

        No configured secret can start in it and continue beyond the end of `text`.
        """
        sure, bare = self._settled(self._forms, text), secret_shapes.bared(text)
        if len(bare) == len(text):
            return sure
        bare_sure = self._settled(self._bare, bare)
        if bare_sure == len(bare):
            return sure
        ((begins, _),) = secret_shapes.in_hiding(text, [(bare_sure, bare_sure + 1)])
        return min(sure, begins)

    def _settled(self, forms: Sequence[str], text: str) -> int:
        sure = size = len(text)
        if not self._begins.search(text):
            return size
        for form in forms:
            at = text.find(form[0], max(0, size - len(form) + 1), sure)
            while at >= 0:
                if form.startswith(text[at:]):
                    sure = at
                    break
                at = text.find(form[0], at + 1, sure)
        return sure

    def known_spans(self, text: str) -> list[secret_shapes.Span]:
        """Return the spans of configured secrets; overlapping ones are joined."""
        if len(text) < self._shortest:
            return []
        found, bare = _found(self._forms, text), secret_shapes.bared(text)
        if len(bare) < len(text):
            found += secret_shapes.in_hiding(text, _found(self._bare, bare))
        return secret_shapes.joined(found) if len(found) > 1 else found

    def json(self, text: str) -> str:
        """Return the JSON of a model without secrets; valid JSON stays valid, however a secret is
        escaped. Invalid or too deep JSON is redacted as text, with its escapes undone."""
        try:
            value: object = json.loads(text, parse_int=self._number, parse_float=self._number)
            clean = self.value(value)
            if clean == value and self.text(text) == text:
                return text
            return json.dumps(clean, ensure_ascii=False)
        except (ValueError, RecursionError):
            plain = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)
            looked = self.text(plain)
            return self.text(text) if looked == plain else looked

    def _number(self, digits: str) -> object:
        if self.text(digits) != digits:
            return digits  # as a string, which is redacted
        if digits.lstrip("-").isdigit():
            return int(digits)
        return float(digits) if math.isfinite(float(digits)) else digits

    def value(self, value: object) -> object:
        """Return `value` with every text in it redacted, keys of mappings included.

        Mappings become dicts, exceptions text, frozen sets sets. Other types stay as they are.
        """
        return _redacted(value, cache(self.text))  # names of facts come again and again

    def known_in(self, value: object) -> object:
        """Return `value`, a frozen dataclass or a tuple of them, without the configured secrets."""
        match value:
            case str():
                return self.known(value)
            case tuple():
                return tuple([self.known_in(item) for item in cast("tuple[object, ...]", value)])
            case _ if is_dataclass(value) and not isinstance(value, type):
                names = [field.name for field in fields(value)]
                return replace(
                    value, **{name: self.known_in(getattr(value, name)) for name in names}
                )
            case _:
                return value


def _redacted(value: object, clean: Callable[[str], str]) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            items = cast("dict[object, object]", value).items()
            return {_redacted(key, clean): _redacted(item, clean) for key, item in items}
        case list():
            return [_redacted(item, clean) for item in cast("list[object]", value)]
        case tuple():
            return tuple([_redacted(item, clean) for item in cast("tuple[object, ...]", value)])
        case int() | float() | None:
            return value
        case set() | frozenset():
            return {_redacted(item, clean) for item in cast("set[object]", value)}
        case bytes():
            return clean(value.decode("utf-8", "backslashreplace")).encode()
        case Mapping():
            return _redacted(dict(cast("Mapping[object, object]", value)), clean)
        case BaseException():
            return clean(f"{type(value).__name__}: {value}")
        case _:
            return value


class Trickle:
    """Redacts a growing text: returns what is settled, holds back what may be part of a secret.

    The results of `add` and `end` together equal `Redactor.text` of the whole, however it was cut.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._known = ""
        self._known_again: int = 0
        self._shaped = ""
        self._shaped_again: int = 0
        self._out: int = 0
        self._looked: int = 0

    def add(self, more: str) -> str:
        """Add a piece; return what can be shown now."""
        return self._shapes(self._without_known(more))

    def end(self) -> str:
        """Return the rest, when nothing follows."""
        return self._shapes(self._without_known("", ended=True), ended=True)

    def _without_known(self, more: str, *, ended: bool = False) -> str:
        """The first pass, for configured secrets; `_known` is the text it holds back."""
        self._known = text = self._known + more
        if len(text) < self._known_again and not ended:
            return ""
        sure = len(text) if ended else self._redactor.known_settled(text)
        spans = self._redactor.known_spans(text)
        for start, stop in spans:
            if start < sure < stop:
                sure = start
        self._known = text[sure:]
        self._known_again = _next_look(len(text) - sure)
        return replaced(text[:sure], [span for span in spans if span[1] <= sure])

    def _shapes(self, more: str, *, ended: bool = False) -> str:
        """The second pass, for shapes; `_shaped` also keeps as much of the text that is out as a
        match may begin in."""
        self._shaped = text = self._shaped + more
        if len(text) < self._shaped_again and not ended:
            return ""
        sure = len(text) if ended else secret_shapes.shapes_settled(text, self._out)
        shown: list[str] = []
        for start, stop in secret_shapes.shape_spans(text, self._looked):
            if stop > sure:
                sure = min(sure, start)
                break
            shown += (text[self._out : start], REDACTED)
            self._out = self._looked = stop
        shown.append(text[self._out : sure])
        gone = max(0, sure - secret_shapes.remembered(text))
        self._shaped, self._out = text[gone:], sure - gone
        # What stood before the first character is gone: whether a word begins there is not known.
        self._looked = max(self._looked - gone, min(gone, 1))
        self._shaped_again = self._out + _next_look(len(text) - sure)
        return "".join(shown)


def _next_look(held: int) -> int:
    """Return the length of held text at which it is searched again.

    Long text is searched seldom, so that each character is looked at only a few times.
    """
    return held + held // 4 if held > secret_shapes.LOOKED_THROUGH else 0


def replaced(text: str, spans: Sequence[secret_shapes.Span], mask: str = REDACTED) -> str:
    """Return `text` with a mask for each span; spans are in order and do not overlap."""
    if not spans:
        return text
    pieces: list[str] = []
    at = 0
    for start, stop in spans:
        pieces += (text[at:start], mask)
        at = stop
    return "".join((*pieces, text[at:]))


def _forms(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, and as JSON and URLs write it."""
    percent = quote(secret, safe="")
    return (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        percent,
        re.sub("%..", lambda code: code[0].lower(), percent),
        quote_plus(secret),
    )


@cache
def respelled(secret: str) -> re.Pattern[str]:
    """Return what finds a secret of four letters or more in any case, also where a letter is
    written by its number, as URLs (once or twice), HTML and JSON do."""
    if len(secret) < _SHORTEST_RESPELLED:
        return re.compile(r"(?!)")
    return re.compile("".join(map(_letter, secret)))


_ESCAPES = {" ": [r"\+"], "&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"], '"': ["&quot;"]}
"""How forms and HTML write signs; a backslash before a sign is JSON's."""


def _letter(letter: str) -> str:
    cases = {letter, *(case for case in (letter.lower(), letter.upper()) if len(case) == 1)}
    forms = [re.escape(case) for case in sorted(cases)] + _ESCAPES.get(letter, [])
    for case in sorted(cases):
        octets = case.encode("utf-8", "replace")
        forms.append("".join(f"%(?:25){{0,3}}(?i:{octet:02x})" for octet in octets))
        units = re.findall("....", case.encode("utf-16-be", "surrogatepass").hex())
        forms.append("".join(rf"\\{{1,4}}u(?i:{unit})" for unit in units))
        forms.append(f"&#(?:0{{0,6}}{ord(case)}|[xX]0{{0,6}}(?i:{ord(case):x}));?")
    escaped = [] if letter.isalnum() or letter == "\\" else [rf"\\{{1,4}}{re.escape(letter)}"]
    return f"(?:{'|'.join(forms + escaped)})"


def _ordered(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*forms}, key=len, reverse=True))


def _found(forms: Sequence[str], text: str) -> list[secret_shapes.Span]:
    found: list[secret_shapes.Span] = []
    for form in forms:
        at = text.find(form)
        while at >= 0:
            found.append((at, at + len(form)))
            at = text.find(form, at + 1)
    return found
