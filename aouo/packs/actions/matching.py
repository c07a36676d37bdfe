"""Reads a text as one reading of a pattern: what stands in its slots, and what that means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise

from aouo.facts import languages, numbers, times
from aouo.facts.letters import folded
from aouo.packs.actions import money, slots, spending, spoken
from aouo.packs.actions.patterns import Piece, Reading, is_open, readings
from aouo.packs.actions.slots import Here, Misread, Value
from aouo.packs.actions.tokens import ASKING, Token, folded_words, tokens

TEXT_MAX, LONG_MAX, _ENDS_MAX = 200, 4_000, 12
DAYS = frozenset({"past-date", "past-days"})
"""Kinds of what is over, which may be said anywhere in a message."""
TIMES = DAYS | {"datetime", "when", "new-time", "date", "days", "recurrence"}
_CALLED_MAX = 3
"""So many words that tell things apart may be what a thing is called, where no word says so."""
AT_HOUR, _HOURS = "@", 24
"""Ends a thing that one goes to at an hour: a number that may be one is no price of it."""
_MARKS = frozenset(":;,.=!?)")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to say an action; `given` are arguments that it fixes, `kinds` those of its slots,
    `whole` is the argument that the whole message is, and of the words in `only`, folded, one is in
    the free slots."""

    pack: str
    action: str
    pattern: str
    language: str
    given: Mapping[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    whole: str = ""
    only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase that a message is: the words in its slots, and what they mean."""

    phrase: Phrase
    texts: Mapping[str, str]
    values: Mapping[str, Value]
    rank: tuple[int, ...]
    """Greater is more specific; one that begins below 0 leaves more of a time in its words."""
    misread: Misread | None = None
    """Why it is none after all: a day that is over, or is not there."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One reading of a pattern, with all phrases that have it; `asks`: it is a question."""

    reading: Reading
    kinds: Mapping[str, str]
    asks: bool
    phrases: tuple[Phrase, ...]
    takes_day: bool
    """Whether it may be said with a day that it has no slot for."""
    only: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        return self.reading.needs

    @property
    def is_bare(self) -> bool:
        """Whether it is two things that are called something, and a word between them."""
        first, *others = (is_open(self.kinds, slot) for slot in self.reading.slots)
        opens = isinstance(self.reading.pieces[0], str) and first
        return opens and any(others) and any(word[0].isalpha() for word in self.words)


def variants(phrases: Sequence[Phrase]) -> Iterator[Variant]:
    """Yield each sound reading of phrases whose patterns and kinds are the same."""
    first = phrases[0]
    asks = first.pattern.rstrip().endswith(ASKING)
    for reading in readings(first.pattern):
        kinds = {slot: first.kinds.get(slot, "text") for slot in reading.slots}
        if reading.needs or "money" in first.kinds.values():
            takes_day = any(lacking_day(phrase, kinds) for phrase in phrases)
            yield Variant(reading, kinds, asks, tuple(phrases), takes_day, first.only)


@dataclass(slots=True, eq=False)
class Message:
    """A text that phrases are held against; each value in it is read once, for all of them.

    `loosely`: an amount that no word announces needs no currency.
    """

    text: str
    words: Sequence[Token]
    here: Here
    loosely: bool = False
    _values: dict[tuple[str, str], Value | Misread] = field(
        init=False, default_factory=dict[tuple[str, str], Value | Misread]
    )

    @property
    def is_amount(self) -> bool:
        """Whether it may be an amount and what it was for: it names one amount."""
        named = self.loosely or spending.amounts_in(self.text, self.here.language) == 1
        return bool(self.words) and len(self.text) <= TEXT_MAX and named

    @property
    def is_lasting(self) -> bool:
        """Whether it names no time and no amount."""
        language = self.here.language
        return not (times.find(self.text, language) or spending.names_amount(self.text, language))

    def between(self, begin: int, end: int) -> str:
        """Return the text of these words."""
        return self.text[self.words[begin].start : self.words[end - 1].end].strip(" ,;")

    def value(self, kind: str, text: str) -> Value | Misread:
        """Read a part of the text as a value of a kind."""
        if (kind, text) not in self._values:
            try:
                value = slots.read(kind, text, self.here)
            except Misread as error:
                value = error
            self._values[kind, text] = value
        return self._values[kind, text]


def read(variant: Variant, message: Message) -> Iterator[Match]:
    """Yield a text as each phrase of a variant: of several ways, that with the least free words."""
    best: Match | None = None
    refused: Match | None = None
    first, last = variant.phrases[0], variant.reading.pieces[-1]
    whole = isinstance(last, str) and last in variant.reading.long
    asks = message.text.rstrip().endswith(ASKING) and not variant.asks
    if asks and isinstance(last, str) and not whole and is_open(variant.kinds, last):
        return
    first_piece = variant.reading.pieces[0]
    opens = isinstance(first_piece, str) and is_open(variant.kinds, first_piece)
    takes_money = "money" in variant.kinds.values()
    if (opens or takes_money) and not variant.asks and _is_question(variant, message.text):
        return
    for spans in _placed(variant, 0, message.words, 0):
        texts = {name: message.between(*span) for name, span in spans.items()}
        if whole and isinstance(last, str):
            texts[last] = message.text[message.words[spans[last][0]].start :].strip()
        if not _takes_all(variant, texts, spans, message):
            continue
        certain = 1 if _is_whole(variant, texts, spans, message) else -1
        if takes_money and not _leaves_amount_whole(variant, texts, message.here):
            continue
        values = {
            name: message.value(variant.kinds.get(name, "text"), text)
            for name, text in texts.items()
        }
        misread = next((value for value in values.values() if isinstance(value, Misread)), None)
        if misread:
            told = misread.why in slots.DOUBTS | money.DOUBTS and any(
                word[0].isalnum() for word in variant.words
            )
            if told and refused is None and certain > 0:
                refused = Match(first, texts, {}, (0, 0, len(variant.reading.words), 0, 0), misread)
            continue
        opened = [name for name in texts if is_open(variant.kinds, name)]
        free = sum(len(texts[name]) for name in opened)
        timed = sum(variant.kinds.get(name) in TIMES for name in texts)
        rank = (certain, 0, len(variant.reading.words), timed - len(opened), -free)
        if best is None or best.rank < rank:
            sound = {n: v for n, v in values.items() if not isinstance(v, Misread)}
            best = Match(first, texts, sound, rank)
    match = max(filter(None, (best, refused)), key=lambda one: one.rank, default=None)
    if match is None:
        return
    certain, _, *rank = match.rank
    for phrase in variant.phrases:
        if _ends_in_day(phrase, match, message.here):
            continue
        torn = certain > 0 and _holds_time(phrase, match, message.here)
        own = speaks(phrase, message.here)
        if phrase.only and not own:
            continue
        rank_of = -1 if torn else certain, own, *rank
        if phrase.whole and not ("day" in match.texts or message.is_lasting):
            continue
        words = {phrase.whole: message.text.strip()} if phrase.whole else None
        yield replace(
            match,
            phrase=phrase,
            rank=rank_of,
            texts=words or match.texts,
            values=words or match.values,
        )


def _holds_time(phrase: Phrase, match: Match, here: Here) -> bool:
    """Whether the words hold the time that the action takes, and the pattern has no slot for."""
    filled = {*match.texts, *phrase.given}
    timed = (name for name, kind in phrase.kinds.items() if kind in ("datetime", "when"))
    return not filled.issuperset(timed) and any(
        times.find(said, here.language)
        for name, said in match.texts.items()
        if is_open(phrase.kinds, name)
    )


def _ends_in_day(phrase: Phrase, match: Match, here: Here) -> bool:
    """Whether free words begin or end with the day that the action takes: `dated` reads it."""
    return bool(lacking_day(phrase, match.texts)) and any(
        time.start == 0 or time.end == len(words)
        for name, words in match.texts.items()
        if is_open(phrase.kinds, name)
        for time in times.find(words, here.language)
    )


def lacking_day(phrase: Phrase, texts: Collection[str]) -> str:
    """Return the argument for a day that is not said, "" = there is none, or it is said."""
    names = (name for name, kind in phrase.kinds.items() if kind in DAYS)
    return next((name for name in names if name not in {*texts, *phrase.given}), "")


def _takes_all(
    variant: Variant,
    texts: Mapping[str, str],
    spans: Mapping[str, tuple[int, int]],
    message: Message,
) -> bool:
    first = {name: message.words[begin].folded for name, (begin, _) in spans.items()}
    if any(word in _MARKS and variant.kinds.get(name) == "row" for name, word in first.items()):
        return False  # "forget it, it was a joke": what comes after a mark is no row's name
    return all(_takes(variant, name, texts, message) for name in texts) and not _repeats(
        variant, spans, message
    )


def speaks(phrase: Phrase, here: Here) -> bool:
    """Whether a phrase is in the language that is spoken."""
    return phrase.language.partition("-")[0] == here.language.casefold().partition("-")[0]


def _is_whole(
    variant: Variant,
    texts: Mapping[str, str],
    spans: Mapping[str, tuple[int, int]],
    message: Message,
) -> bool:
    """Whether the slots for times hold all that says when, and the one for money all that says how
    much: no part of a time, no other time and no other amount is among the free words."""
    timed = [name for name in texts if variant.kinds.get(name) in TIMES]
    opened = [name for name in texts if is_open(variant.kinds, name)]
    if not timed or not opened:
        return True
    words, language = message.words, message.here.language
    free = [(words[spans[name][0]].start, words[spans[name][1] - 1].end) for name in opened]
    others = times.find(message.text, language)
    if any(time.start < end and start < time.end for time in others for start, end in free):
        return False
    if any(_begins_time(words[spans[name][0] : spans[name][1]], language) for name in opened):
        return False
    beside = list(_beside_words(variant))
    touching = {name for name, _ in beside}
    if not all(times.is_sure(texts[name], language, weak=name not in touching) for name in timed):
        return False
    return not any(
        times.is_timelike(texts[other], tongue, begins=not ends, ends=ends)
        for _, (other, ends) in beside
        for tongue in {language, *(time.language for time in others)}
    )


def _begins_time(words: Sequence[Token], language: str) -> bool:
    """Whether a number of another time comes after an "and": "and in 20"."""
    return any(
        hour.folded.isdecimal()
        and numbers.joins(join.folded, language)
        and times.is_timelike(word.folded, language)
        for join, word, hour in zip(words, words[1:], words[2:], strict=False)
    )


def _beside_words(variant: Variant) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield each slot for a time that nothing parts from one for any words, with that one, and
    whether it comes first."""
    kinds = variant.kinds
    for one, two in pairwise(variant.reading.pieces):
        if isinstance(one, str) and isinstance(two, str):
            if kinds.get(two) in TIMES and is_open(kinds, one):
                yield two, (one, True)
            if kinds.get(one) in TIMES and is_open(kinds, two):
                yield one, (two, False)


def _repeats(variant: Variant, spans: Mapping[str, tuple[int, int]], message: Message) -> bool:
    """Whether a slot holds what parts the pattern once more, so that several are said at once: a
    sign ("a = b, c = d"), or a word after "and" and a number ("3 for tea and 4 for cake")."""
    signs = {word for word in variant.words if not word[0].isalnum()}
    language = message.here.language
    parting = {
        two[0]
        for one, two in pairwise(variant.reading.pieces)
        if isinstance(one, str) and isinstance(two, tuple)
    }
    for name, (first, last) in spans.items():
        words = [token.folded for token in message.words[first:last]]
        if name not in variant.reading.long and not signs.isdisjoint(words):
            return True
        for at, (word, after) in enumerate(pairwise(words)):
            if word.isdecimal() and after in parting:
                before = words[max(0, at - 2) : at]
                return any(one == "," or numbers.joins(one, language) for one in before)
    return False


def is_withheld(match: Match, text: str) -> bool:
    """Whether a text books nothing of the amount in it: it is planned, denied, or no spending."""
    own = {token.folded for token in tokens(match.phrase.pattern)}
    takes_money = any(match.phrase.kinds.get(name) == "money" for name in match.texts)
    return takes_money and spending.is_unspent(text, own)


def _is_question(variant: Variant, text: str) -> bool:
    """Whether a text is a question, and the pattern does not begin as one."""
    first = variant.reading.pieces[0]
    if isinstance(first, tuple) and first[0] in spoken.glue().asking:
        return False
    return text.rstrip().endswith(ASKING) or spoken.asks(text)


def _leaves_amount_whole(variant: Variant, texts: Mapping[str, str], here: Here) -> bool:
    """Whether the words beside an amount hold no second one, nor a part of the first; where no
    word of the pattern announces it, they are what a thing is called."""
    kinds, language = variant.kinds, here.language
    bare = spoken.glue().unpriced.issuperset(variant.words)
    for words in (texts[name] for name in texts if is_open(kinds, name)):
        if spending.holds_amount(words, language) or (bare and spending.is_statement(words)):
            return False
    return not any(
        isinstance(one, str)
        and isinstance(two, str)
        and "money" in (kinds.get(one), kinds.get(two))
        and spending.is_torn(texts[one], texts[two], language)
        for one, two in pairwise(variant.reading.pieces)
    )


def _takes(variant: Variant, name: str, texts: Mapping[str, str], message: Message) -> bool:
    """Whether a slot takes so many words, which neither begin with a mark nor announce others. An
    amount that no word announces has a currency, or cents."""
    value = texts[name]
    if value[:1] in _MARKS or value[-1:] == ":":
        return False
    if variant.kinds.get(name) == "row" and (
        folded(value) in spoken.glue().pointing
        or _begins_with_date(value, message.here.language)
        or spoken.unreasoned(value) != value
        or value.isdecimal()
        or folded(value.split()[0]) in map(folded, languages.words("phrases", "several"))
        or folded(f" {spoken.plain(value)}").split(" ")[-1] in spoken.glue().common
    ):
        return False  # it names none, or all, or goes on, or a day: a key is no name either
    if variant.kinds.get(name) == "money" and spoken.glue().unpriced.issuperset(variant.words):
        return len(value) <= TEXT_MAX and bool(
            message.loosely or variant.only or money.is_marked(value, message.here.language)
        )
    if not is_open(variant.kinds, name):
        return len(value) <= TEXT_MAX
    if name == variant.reading.pieces[0] and spoken.glue().common.issuperset(folded_words(value)):
        return False  # "please keep it" keeps no "please"
    if variant.only and not _names_one(variant.only, value, texts.values()):
        return False
    if variant.is_bare and not _is_called(value):
        return False
    if name in variant.reading.long:
        return len(value) <= LONG_MAX
    return len(value) <= TEXT_MAX and "\n" not in value


def _begins_with_date(words: str, language: str) -> bool:
    """Whether words begin with a day of a month, or a feast: "the day before December 10"."""
    spans = times.find(words, language) if " " in words else ()
    return any(one.start == 0 and {"month", "easter"} & one.readings[0][0].keys() for one in spans)


def _names_one(things: Collection[str], words: str, beside: Collection[str]) -> bool:
    """Whether a few words without a figure name one of these things, or several of its kind; what
    ends in "to" is called nothing ("the rent goes to 900"), and what one goes to has no hour for
    its price ("dentist 9")."""
    split = [token.folded for token in tokens(words)]
    timed = any(text.isdecimal() and int(text) <= _HOURS for text in beside)
    ends = ("",) if timed else ("", AT_HOUR)
    ways = ({word, word.removesuffix("s")} for word in split)
    named = any(f"{way}{end}" in things for way in chain(*ways) for end in ends)
    named = named and split[-1] not in spoken.glue().common
    return named and len(split) <= _CALLED_MAX + 1 and not re.search(r"\d", words)


def _is_called(words: str) -> bool:
    """Whether words may be what a thing is called: few, and they begin with nobody ("she")."""
    glue = spoken.glue()
    split = [token.folded for token in tokens(words)]
    telling = [word for word in split if word not in glue.common]
    return split[0] not in glue.subjects and len(telling) <= _CALLED_MAX


def _placed(
    variant: Variant, at: int, words: Sequence[Token], begin: int
) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield where the slots may be: token numbers, the first and that after the last.

    Each slot ends at one of a few next places of the words after it, so the steps are bounded.
    """
    pieces = variant.reading.pieces
    if at == len(pieces):
        if begin == len(words):
            yield {}
        return
    piece = pieces[at]
    if isinstance(piece, tuple):
        if _stands(piece, words, begin):
            yield from _placed(variant, at + 1, words, begin + len(piece))
        return
    if begin == len(words) or not slots.may_begin(variant.kinds[piece], words[begin].folded):
        return
    if at + 1 == len(pieces):
        yield {piece: (begin, len(words))}
        return
    for end in _ends(pieces[at + 1], words, begin + 1):
        for rest in _placed(variant, at + 1, words, end):
            yield {piece: (begin, end), **rest}


def _stands(piece: Sequence[str], words: Sequence[Token], begin: int) -> bool:
    """Whether these words stand there."""
    there = words[begin : begin + len(piece)]
    return len(there) == len(piece) and all(
        token.folded == word for token, word in zip(there, piece, strict=True)
    )


def _ends(following: Piece, words: Sequence[Token], first: int) -> Iterator[int]:
    """Yield where a slot may end that the next piece follows; it ends at `first` or later."""
    last = len(words)
    if isinstance(following, str):  # one of them is typed: what it is, parts them
        yield from range(first, min(first + _ENDS_MAX, last))
        yield from range(max(first + _ENDS_MAX, last - _ENDS_MAX), last)
        return
    places = (end for end in range(first, last) if words[end].folded == following[0])
    yield from islice((end for end in places if _stands(following, words, end)), _ENDS_MAX)
