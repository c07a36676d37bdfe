"""Caches the history of sessions between their turns, so that a turn reads only what is new.

A session may be longer than what is sent. Its oldest messages are left out in blocks: the history
begins at the same place for many turns, so that a service that caches prefixes reads it once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aouo.agent.history import sanitised
from aouo.facts.records import NEWEST, HistoryEntry, Past, Stretch
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.plumbing.web.envelope import of_others
from aouo.store import sessions, turns
from aouo.store.database import Tx

_SESSIONS_MAX = 64
_CHARS_MAX = 4_000_000
_STAY_SHARE = 0.6
"""The share of the limit that is sent after a block was left out."""


def _left_out(rows: int, limit: int) -> int:
    """Return how many of a session's oldest rows are left out: as few blocks as possible, so that
    between `STAY_SHARE` of `limit` and all of it stay."""
    block = max(1, limit - int(limit * _STAY_SHARE))
    return -(-max(0, rows - limit) // block) * block


@dataclass(slots=True)
class _Kept:
    """The visible rows of a stretch, as far as `newest_id`, and what a model reads of them."""

    stretch: Stretch
    newest_id: int
    messages: list[Message] = field(default_factory=list[Message])
    rows: int = 0
    ids_total: int = 0
    chars: int = 0

    def append(self, entries: Sequence[HistoryEntry]) -> None:
        """Take in newer rows: each exchange by itself, so that one never changes another."""
        for group in _exchanges(entries):
            read = sanitised([entry.message for entry in group])
            self.messages += read
            self.chars += sum([len(entry.text) for entry in read])
            natives = [entry.native for entry in read if type(entry) is AssistantSaid]
            self.chars += sum(map(len, natives))
            self.rows += len(group)
            self.ids_total += sum([entry.id for entry in group])
            self.newest_id = group[-1].id


@dataclass(slots=True, eq=False, kw_only=True)
class Pasts:
    """A cache of the settled, sanitised pasts of recent sessions; the messages are the same
    objects turn after turn.

    A cached past is used only if exactly its rows are still visible, which one indexed query
    tells: turns are taken back (`/retry`), summarised, brought back, pruned. The rows alone
    decide what a turn reads, so it is the same after a restart.
    """

    sessions_max: int = _SESSIONS_MAX
    chars_max: int = _CHARS_MAX
    _chars: int = field(init=False, default=0)
    _kept: OrderedDict[tuple[str, ...], _Kept] = field(
        init=False, default_factory=OrderedDict[tuple[str, ...], _Kept]
    )

    def read(self, tx: Tx, session_id: str, limit: int, own: Sequence[str] = ()) -> Past:
        """Read up to `limit` of the newest entries that no summary stands for, sanitised; where
        several people talk, the words of people besides `own` between marks."""
        theirs = turns.of_others(tx, session_id, own) if own else {}
        found = sessions.reach_of_summary(tx, session_id)
        counts = [_rows_of(tx, stretch) for stretch in found.stretches]
        gone = left = _left_out(sum(counts), limit)
        messages: list[Message] = []
        sent: list[Stretch] = []
        for stretch, rows in zip(found.stretches, counts, strict=True):
            if left >= rows:
                left -= rows
                continue
            if left:
                within = {"after": stretch.after, "until": stretch.until}
                stretch = replace(stretch, after=turns.nth(tx, stretch.session_id, left, **within))
                left = 0
            sent.append(stretch)
            messages += self._of(
                tx, (session_id, stretch.session_id, *own), stretch, theirs
            ).messages
        return Past(found, tuple(messages), sum(counts) - gone, gone, tuple(sent))

    def _of(
        self, tx: Tx, key: tuple[str, ...], stretch: Stretch, theirs: Mapping[str, str]
    ) -> _Kept:
        kept = self._take(key)
        if kept is None or not _goes_on(tx, kept, stretch, theirs):
            kept = _Kept(stretch, stretch.after)
            kept.append(_rows_after(tx, stretch, stretch.after, theirs))
        self._put(key, kept)
        return kept

    def _take(self, key: tuple[str, ...]) -> _Kept | None:
        kept = self._kept.pop(key, None)
        self._chars -= kept.chars if kept else 0
        return kept

    def _put(self, key: tuple[str, ...], kept: _Kept) -> None:
        self._kept[key] = kept
        self._chars += kept.chars
        while len(self._kept) > self.sessions_max or self._chars > self.chars_max:
            self._take(next(iter(self._kept)))


def _goes_on(tx: Tx, kept: _Kept, stretch: Stretch, theirs: Mapping[str, str]) -> bool:
    """Append the new rows to a cached past; False = it is stale and has to be read anew."""
    if kept.stretch != stretch:
        return False
    still = turns.tally(tx, stretch.session_id, after=stretch.after, until=kept.newest_id)
    if still != (kept.rows, kept.ids_total):
        return False
    newer = _rows_after(tx, stretch, kept.newest_id, theirs)
    if newer and not isinstance(newer[0].message, UserSaid):
        return False
    kept.append(newer)
    return True


def _rows_of(tx: Tx, stretch: Stretch) -> int:
    return turns.tally(tx, stretch.session_id, after=stretch.after, until=stretch.until)[0]


def _rows_after(
    tx: Tx, stretch: Stretch, row_id: int, theirs: Mapping[str, str]
) -> list[HistoryEntry]:
    rows = turns.entries(tx, stretch.session_id, NEWEST, after=row_id, until=stretch.until)
    return [
        replace(row, message=UserSaid(of_others(row.message.text, (theirs[row.turn_id],))))
        if row.turn_id in theirs and isinstance(row.message, UserSaid)
        else row
        for row in rows
    ]


def _exchanges(entries: Sequence[HistoryEntry]) -> list[list[HistoryEntry]]:
    """Group entries by a person's words; a group before the first words is sanitised away."""
    groups: list[list[HistoryEntry]] = []
    for entry in entries:
        if not groups or isinstance(entry.message, UserSaid):
            groups.append([])
        groups[-1].append(entry)
    return groups
