"""What was said in sessions before, kept between their turns: a turn reads only what is new."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from aouo.store import summaries, turns
from aouo.store.database import Tx
from aouo.store.summaries import Past, Stretch
from aouo.store.turns import Entry
from aouo.transcript import Message, UserSaid
from aouo.turn.history import sanitised

SESSIONS_MAX = 64
CHARS_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A person's words and everything up to their next ones: rows as they are stored, and how
    many messages a model reads of them."""

    first_id: int
    rows: int
    ids_total: int
    read: int
    chars: int


@dataclass(slots=True)
class _Kept:
    """The newest whole exchanges of a stretch, with at most `limit` rows.

    `before_id`: all visible rows behind that one are here.
    """

    stretch: Stretch
    limit: int
    before_id: int
    newest_id: int
    exchanges: deque[_Exchange] = field(default_factory=deque[_Exchange])
    messages: list[Message] = field(default_factory=list[Message])
    rows: int = 0
    ids_total: int = 0
    chars: int = 0

    def append(self, entries: Sequence[Entry]) -> None:
        """Take in newer rows; the oldest exchanges make room for them."""
        for group in _exchanges(entries):
            read = sanitised([entry.message for entry in group])
            ids = [entry.id for entry in group]
            chars = sum([len(entry.text) for entry in read])
            exchange = _Exchange(ids[0], len(ids), sum(ids), len(read), chars)
            self.exchanges.append(exchange)
            self.messages += read
            self._count(exchange, 1)
            self.newest_id = ids[-1]
        self.narrow(self.limit)

    def narrow(self, limit: int) -> None:
        """Let go of the oldest exchanges until there are no more rows than that."""
        self.limit = limit
        while self.rows > limit:
            oldest = self.exchanges.popleft()
            del self.messages[: oldest.read]
            self._count(oldest, -1)
            self.before_id = self.exchanges[0].first_id - 1 if self.exchanges else self.newest_id

    def _count(self, exchange: _Exchange, sign: int) -> None:
        self.rows += sign * exchange.rows
        self.ids_total += sign * exchange.ids_total
        self.chars += sign * exchange.chars


class Pasts:
    """The settled pasts of the sessions that were at work lately, sanitised; the messages are the
    same objects turn after turn.

    What is kept is used only if exactly its rows are still visible, which one look into an index
    tells: turns are taken back (`/retry`), stood for by summaries, brought back, pruned.
    """

    def __init__(self, *, sessions_max: int = SESSIONS_MAX, chars_max: int = CHARS_MAX) -> None:
        self._sessions_max = sessions_max
        self._chars_max = chars_max
        self._chars = 0
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def read(self, tx: Tx, session_id: str, limit: int) -> Past:
        """The newest entries that no summary stands for, in whole exchanges, `limit` at most."""
        found = summaries.reach(tx, session_id)
        messages: list[Message] = []
        for stretch in reversed(found.stretches):
            kept = self._of(tx, (session_id, stretch.session_id), stretch, limit)
            messages[:0] = kept.messages
            limit -= kept.rows
            if limit == 0 or kept.before_id > stretch.after:
                break
        return Past(found, tuple(messages))

    def _of(self, tx: Tx, key: tuple[str, str], stretch: Stretch, limit: int) -> _Kept:
        kept = self._take(key)
        if kept is None or not _goes_on(tx, kept, stretch, limit):
            kept = _loaded(tx, stretch, limit)
        self._put(key, kept)
        return kept

    def _take(self, key: tuple[str, str]) -> _Kept | None:
        kept = self._kept.pop(key, None)
        self._chars -= kept.chars if kept else 0
        return kept

    def _put(self, key: tuple[str, str], kept: _Kept) -> None:
        self._kept[key] = kept
        self._chars += kept.chars
        while len(self._kept) > self._sessions_max or self._chars > self._chars_max:
            self._take(next(iter(self._kept)))


def _goes_on(tx: Tx, kept: _Kept, stretch: Stretch, limit: int) -> bool:
    """Bring what is kept up to date; False = it has to be read anew."""
    if kept.stretch != stretch or kept.limit < limit:
        return False
    kept.narrow(limit)
    still = turns.tally(tx, stretch.session_id, after=kept.before_id, until=kept.newest_id)
    if still != (kept.rows, kept.ids_total):
        return False
    newer = turns.entries(tx, stretch.session_id, limit, after=kept.newest_id, until=stretch.until)
    if len(newer) == limit or (newer and not isinstance(newer[0].message, UserSaid)):
        return False
    kept.append(newer)
    return True


def _loaded(tx: Tx, stretch: Stretch, limit: int) -> _Kept:
    entries = turns.entries(tx, stretch.session_id, limit, after=stretch.after, until=stretch.until)
    cut = len(entries) == limit and entries
    kept = _Kept(stretch, limit, entries[0].id - 1 if cut else stretch.after, stretch.after)
    kept.append(entries)
    return kept


def _exchanges(entries: Sequence[Entry]) -> list[list[Entry]]:
    """What stands before the first words of a person is one too; a model reads none of it."""
    groups: list[list[Entry]] = []
    for entry in entries:
        if not groups or isinstance(entry.message, UserSaid):
            groups.append([])
        groups[-1].append(entry)
    return groups
