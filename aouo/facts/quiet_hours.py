"""Reads lengths of time, and decides when a message that nobody asked for may come: pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_SPAN = re.compile(r"([1-9][0-9]{0,6})([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def span_s(text: str) -> int:
    """Return the seconds of a length of time.

    Raises:
        ValueError: it is none; the message says what to write.
    """
    found = _SPAN.fullmatch(text)
    if not found:
        raise ValueError("write it like 90s, 30m, 24h or 2d")
    return int(found[1]) * _UNIT_S[found[2]]


_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `begins` until before `ends`, by the wall clock, perhaps over midnight.

    Equal times are no hours at all. Where the clock goes back, an hour comes twice and is quiet
    both times; where it goes forward, what is left out is not quiet.
    """

    begins: time = time()
    ends: time = time()

    @classmethod
    def parse(cls, text: str) -> QuietHours:
        """Read `22:00-08:00`, "" = never.

        Raises:
            ValueError: it is neither.
        """
        if not text:
            return cls()
        found = _HOURS.fullmatch(text)
        if not found:
            raise ValueError('write it like "22:00-08:00", or "" for never')
        hours = cls(time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4])))
        if hours.begins == hours.ends:
            raise ValueError('it begins and ends at the same time: write "" for never')
        return hours

    def is_quiet(self, moment: datetime, zone: tzinfo) -> bool:
        """Whether `moment` (aware) is in them, in `zone`."""
        at = moment.astimezone(zone).time()
        if self.begins <= self.ends:
            return self.begins <= at < self.ends
        return at >= self.begins or at < self.ends

    def end(self, moment: datetime, zone: tzinfo) -> datetime:
        """Return the first moment from `moment` on that is not quiet, at most a minute late."""
        if not self.is_quiet(moment, zone):
            return moment
        # Minute by minute: the clock may jump out of them anywhere, and into them again.
        moment = moment.replace(second=0, microsecond=0) + _MINUTE
        while self.is_quiet(moment, zone):
            moment += _MINUTE
        return moment


@dataclass(frozen=True, slots=True)
class AttentionRules:
    """How many messages that nobody asked for a person gets a day (0 = no limit), and when.

    What is too much, or comes in the quiet hours, waits for the digest, at `digest_at`.
    """

    daily_max: int = 0
    quiet: QuietHours = QuietHours()
    digest_at: time = time(8)

    def digest_due(
        self, moment: datetime, zone: tzinfo, *, sent: int, always: bool = False
    ) -> datetime | None:
        """Return when a message of `moment` comes with a digest, None = it may come now.

        `sent` such messages came on that local day; `always`: it is for a digest in any case.
        """
        today = moment.astimezone(zone).date()
        if self.daily_max and sent >= self.daily_max:
            due = self._digest(today + timedelta(days=1), zone)
        elif always:
            due = self._digest(today, zone)
            if due <= moment:
                due = self._digest(today + timedelta(days=1), zone)
        else:
            due = moment
        end = self.quiet.end(due, zone)
        return end if end > moment else None

    def _digest(self, day: date, zone: tzinfo) -> datetime:
        return datetime.combine(day, self.digest_at, zone).astimezone(UTC)


def parse_time(text: str) -> time:
    """Read a time of day such as `08:00`.

    Raises:
        ValueError: it is none.
    """
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError('write it like "08:00"')
    return time(int(found[1]), int(found[2]))
