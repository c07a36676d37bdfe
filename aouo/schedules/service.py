"""Makes, changes, runs and removes schedules for chat, tool, terminal and page; finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.schedule import NotASchedule, Once, ZoneOf, is_from_now, next_after, parse
from aouo.facts.work import Misfire, Paused, Scheduled, ScheduleOrigin, ScheduleRun
from aouo.packs.library import Library
from aouo.plumbing.zones import known_zone
from aouo.schedules.proposals import Place, blank
from aouo.store import jobs, routes, schedule_runs, schedules
from aouo.store.database import Tx
from aouo.words.catalogue import text
from aouo.words.schedules import moment_in_words, zone_name

_MADE_HERE = 200
"""How many schedules people and models may have made in one conversation."""
HISTORY = schedule_runs.HISTORY
PROMPT_CHARS, _NAME_CHARS, _TEXT_CHARS = 4_000, 60, 200
_TIMEOUT_S, _TOKENS, _RETRIES = 24 * 3600, 100_000_000, 10
"""The most that a schedule may ask for."""
_NAME_WORDS = 6
_TOPICS_SHOWN = 20


class ScheduleRefused(ValueError):
    """A schedule was not made or changed; the message is one sentence for whoever asked."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a schedule; None = what it is, or the default."""

    text: str | None = None
    prompt: str | None = None
    name: str | None = None
    zone: str | None = None
    misfire: Misfire | None = None
    timeout_s: int | None = None
    tokens_max: int | None = None
    retries: int | None = None
    say: str | None = None
    act: str | None = None
    source: str = ""
    """Whose words, besides the person's own, what is wished may repeat."""


@dataclass(slots=True, eq=False)
class Schedules:
    """Changes schedules in the caller's transaction: checked, then written.

    `listed` says who may talk to the bot, `enabled` whether schedules run at all. What returns a
    schedule raises `ScheduleRefused`, and then nothing was changed.
    """

    zone_of: ZoneOf
    library: Callable[[], Library]
    listed: Callable[[str], bool]
    enabled: Callable[[], bool]

    def create(
        self,
        tx: Tx,
        wish: Wish,
        place: Place,
        now: datetime,
        *,
        pack: str,
        origin: ScheduleOrigin = "person",
        schedule_id: str = "",
    ) -> Scheduled:
        """Make a schedule that is on; one that has `schedule_id` already is returned as it is."""
        self._check_pack(pack)
        self._check_act(pack, wish.act)
        if schedule_id and (there := schedules.get(tx, schedule_id)):
            return there
        if schedules.count_made(tx, place.address) >= _MADE_HERE:
            raise ScheduleRefused(text("schedule-refused.too-many", most=_MADE_HERE))
        row = blank(place, pack, origin, now)
        row = replace(row, id=schedule_id or row.id)
        prompt = wish.prompt if wish.say or wish.act else wish.prompt or ""
        wanted = replace(wish, text=wish.text or "", prompt=prompt, name=wish.name or "")
        row = self.wished(row, wanted, now)
        schedules.add(tx, row, iso(now))
        return row

    def change(self, tx: Tx, row: Scheduled, wish: Wish, now: datetime) -> Scheduled:
        """Change a schedule; one that was over begins anew with a new time, one that is off stays
        off."""
        if row.key and wish.prompt is not None:
            raise ScheduleRefused(text("schedule-refused.own-prompt"))
        if wish.text is not None and row.paused in ("over", "unreadable"):
            row = replace(row, enabled=True, paused="")
        changed = self.wished(row, wish, now)
        schedules.edit(tx, changed, iso(now))
        return changed

    def switch(self, tx: Tx, row: Scheduled, now: datetime, *, on: bool) -> Scheduled:
        """Switch a schedule on or off; it stays in the name it is in.

        Times that passed while it was off are not made up for; one such as `45m` begins anew.
        """
        if on:
            self._check_pack(row.pack)
            self._check_may(row)
            since = iso(now) if is_from_now(row.text) else row.since
            row = self._due(replace(row, enabled=True, paused="", since=since), now)
        else:
            row = replace(row, enabled=False, paused="person", next_due="")
        schedules.edit(tx, row, iso(now))
        return row

    def remove(self, tx: Tx, row: Scheduled) -> Scheduled:
        """Delete a schedule and its history; one that a pack proposes would come back."""
        if row.key:
            raise ScheduleRefused(text("schedule-refused.own", name=row.title))
        schedules.remove(tx, row.id)
        return row

    def put_back(self, tx: Tx, schedule_id: str, before: str, now: datetime) -> None:
        """Make a schedule what it was when `before` was written (`schedules.written`), "" = there
        was none."""
        there = schedules.get(tx, schedule_id)
        if before:
            row = self._due(schedules.read(before), now)
            if there:
                schedules.edit(tx, row, iso(now))
            else:
                schedules.add(tx, row, iso(now))
        elif there:
            self.remove(tx, there)

    def run(self, tx: Tx, row: Scheduled, now: datetime) -> Scheduled:
        """Have a schedule run at once, whether it is on or off; its due times stay what they are.

        It is a run that is tried `now`, so it begins when `Ticking` sees it. One of which a run
        waits or is at work, or was due at this very moment, is refused.
        """
        self._check_may(row)
        is_open = jobs.any_open(tx, row.lane) or schedule_runs.is_to_retry(tx, row.id)
        run = ScheduleRun(row.id, iso(now), "waiting")
        if is_open or not schedule_runs.add(tx, run, iso(now)):
            raise ScheduleRefused(text("schedule-refused.runs", name=row.title))
        schedule_runs.settle(tx, run, "waiting", iso(now), retry_at=iso(now))
        schedules.advance(tx, row.id, run.due_at, row.next_due)
        return row

    def may_run(self, row: Scheduled) -> Paused:
        """Decide whether a schedule may run, "" = it may: its pack has the permission, and whoever
        it is for may talk to the bot."""
        pack = self.library().get(row.pack)
        if pack and not pack.manifest.permissions.cron:
            return "permission"
        return "" if row.address.platform != "tg" or self.listed(row.person) else "unlisted"

    def pack_at(self, tx: Tx, address: ConversationAddress, named: str = "") -> str:
        """Return the pack `named`, or the one that answers in a conversation, "" = none is
        installed.

        Raises:
            ScheduleRefused: one has to be named; or we have seen no such topic.
        """
        _check_topic(tx, address)
        route, names = routes.find(tx, address), self.library().names
        if pack := named or address.pack or (route.active_pack if route else ""):
            return pack
        if len(names) > 1:
            raise ScheduleRefused(text("schedule-refused.pack-unchosen", packs=", ".join(names)))
        return "".join(names)

    def wished(self, row: Scheduled, wish: Wish, now: datetime) -> Scheduled:
        """Return a schedule as it is wished, with its next due time."""
        return self._due(_with(row, wish, now), now)

    def _check_act(self, pack: str, act: str | None) -> None:
        """Check that a pack has the action, None = none is wanted."""
        found = self.library().get(pack)
        there = tuple(found.declared.actions) if found else ()
        if act is not None and act not in there:
            known = ", ".join(there) or text("conversations.none")
            raise ScheduleRefused(text("schedule-refused.no-action", name=act, known=known))

    def _check_pack(self, pack: str) -> None:
        """Check that a pack may have schedules; "" = no pack, which may."""
        found = self.library().get(pack) if pack else None
        if pack and found is None:
            raise ScheduleRefused(text("schedule-refused.no-pack", pack=pack))
        if found and not found.manifest.permissions.cron:
            name = found.manifest.display_name
            raise ScheduleRefused(text("schedule-refused.permission", pack=name))

    def _check_may(self, row: Scheduled) -> None:
        if paused := self.may_run(row):
            why = why_not(row, paused)
            raise ScheduleRefused(text("schedule-refused.cannot-run", name=row.title, why=why))

    def _due(self, row: Scheduled, now: datetime) -> Scheduled:
        """Return a schedule with its next due time; its text may be none, or its time over."""
        zone = self.zone_of(row.zone)
        try:
            schedule = parse(row.text, datetime.fromisoformat(row.since), zone)
        except NotASchedule as error:
            raise ScheduleRefused(str(error)) from None
        due = next_after(schedule, now, zone)
        if due is None and (row.enabled or row.paused == "over"):
            here, name = moment_in_words(now, zone), zone_name(row, self.zone_of)
            if not isinstance(schedule, Once):
                raise ScheduleRefused(text("schedule-refused.never", now=here, zone=name))
            at = moment_in_words(schedule.at, zone)
            raise ScheduleRefused(text("schedule-refused.over", at=at, now=here, zone=name))
        return replace(row, next_due=iso(due) if due and row.enabled else "")


def matching(rows: Sequence[Scheduled], wanted: str) -> list[Scheduled]:
    """Return the schedules that a person may mean: the one with this id, else those of this name;
    of these, those that are over only if none else has it."""
    if by_id := [row for row in rows if row.id == wanted]:
        return by_id
    name = " ".join(wanted.split()).casefold()
    named = [row for row in rows if row.title.casefold() == name]
    return [row for row in named if row.paused != "over"] or named


def why_not(row: Scheduled, paused: Paused) -> str:
    """Return why a schedule cannot run that `Schedules.may_run` says no to."""
    which = paused if paused in ("permission", "unlisted") else "off"
    return text(f"schedules.not-{which}", person=row.person)


def _check_topic(tx: Tx, address: ConversationAddress) -> None:
    known = dict(routes.topics_of_chat(tx, address))
    if not address.thread_id or address.thread_id in known:
        return
    named = [f"{topic} “{title}”" if title else topic for topic, title in known.items()]
    shown, more = ", ".join(named[:_TOPICS_SHOWN]), max(0, len(named) - _TOPICS_SHOWN)
    which = "more" if more else "known" if known else "none"
    there = text(f"schedule-refused.topics-{which}", topics=shown, more=more)
    topic = repr(address.thread_id)
    raise ScheduleRefused(
        text("schedule-refused.topic", topic=topic, chat=address.chat_id, known=there)
    )


def _with(row: Scheduled, wish: Wish, now: datetime) -> Scheduled:
    """Return the schedule as it is wished, checked but for its time."""
    if wish.text is not None:
        words = " ".join(wish.text.split())
        if len(words) > _TEXT_CHARS:
            raise ScheduleRefused(text("schedule-refused.long-text", most=_TEXT_CHARS))
        row = replace(row, text=words, since=iso(now), own_text=bool(row.key))
    if wish.prompt is not None:
        prompt = wish.prompt.strip()
        if not prompt:
            raise ScheduleRefused(text("schedule-refused.no-prompt"))
        if len(prompt) > PROMPT_CHARS:
            raise ScheduleRefused(text("schedule-refused.long-prompt", most=PROMPT_CHARS))
        row = replace(row, prompt=prompt)
    if wish.say is not None:
        said = wish.say.strip()
        if len(said) > PROMPT_CHARS:
            raise ScheduleRefused(text("schedule-refused.long-prompt", most=PROMPT_CHARS))
        row = replace(row, say=said)
    if wish.act is not None:
        row = replace(row, act=wish.act)
    if not wish.prompt is wish.say is wish.act is None:
        row = replace(row, source=wish.source)
    if wish.name is not None:
        name = " ".join(wish.name.split()) or _first_words(
            row.prompt or row.say or row.act.replace("_", " ")
        )
        if len(name) > _NAME_CHARS:
            raise ScheduleRefused(text("schedule-refused.long-name", most=_NAME_CHARS))
        row = replace(row, name=name)
    if wish.zone:
        try:
            row = replace(row, zone=known_zone(wish.zone))
        except ValueError as error:
            raise ScheduleRefused(str(error)) from None
    for field, most in (("timeout_s", _TIMEOUT_S), ("tokens_max", _TOKENS), ("retries", _RETRIES)):
        if not 0 <= (getattr(wish, field) or 0) <= most:
            raise ScheduleRefused(text(f"schedule-refused.limit-{field}", most=most))
    fields = ("misfire", "timeout_s", "tokens_max", "retries")
    given = {field: getattr(wish, field) for field in fields}
    return replace(row, **{field: value for field, value in given.items() if value is not None})


def _first_words(prompt: str) -> str:
    words = " ".join(prompt.split()[:_NAME_WORDS])
    cut = words if len(words) <= _NAME_CHARS else f"{words[: _NAME_CHARS - 1]}…"
    return cut.rstrip(".,;:")
