"""A pack's schedules: proposed where it is used, and kept in step with its versions.

Source: issue 5 "Schedules", reference §10.6 and §13 G 12: once they could never be switched on,
and a pack's changes never arrived.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock
from aouo.facts.work import Paused, Scheduled
from aouo.packs.format.manifest import CronDefault, Manifest, Permissions
from aouo.packs.format.manifest_text import parse
from aouo.packs.library import Library
from aouo.schedules import proposals
from aouo.schedules.proposals import Place
from aouo.schedules.service import ScheduleRefused, Schedules, Wish
from aouo.store import chats, schedules
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables
from aouo.words.schedules import zone_name

T = TypeVar("T")
BERLIN = ZoneInfo("Europe/Berlin")
PRIVATE = Place(ConversationAddress("tg", "1001"), "private", "1001")
GROUP = Place(ConversationAddress("tg", "-5"), "group", "1001", "America/New_York")
DAILY = CronDefault("daily-study", "0 8 * * *", "study")
WEEKLY = CronDefault("weekly", "0 10 * * 0", "vocab:report", enabled_by_default=False, prompt="Go")


class StoppedClock:
    """A moment that a test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 2, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def monotonic_s(self) -> float:
        return self.at.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def manifest(*defaults: CronDefault, cron: bool = True) -> Manifest:
    skills = ("study", "report")
    allowed = Permissions(cron=cron)
    return Manifest(
        "vocab", "1.0.0", "Vocab", "", provided_skills=skills, cron_defaults=defaults,
        permissions=allowed,
    )  # fmt: skip


def zone_of(name: str) -> tzinfo:
    return ZoneInfo(name) if name else BERLIN


@pytest.fixture
def clock() -> Clock:
    return StoppedClock()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    database = Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(make_tables)
    yield database
    await database.close()


class Service(Schedules):
    """The pack of the tests may have schedules unless they say so; 1001 is on the list."""

    def __init__(self) -> None:
        super().__init__(zone_of, lambda: Library({}, {}, {}), {"1001"}.__contains__, lambda: True)

    def may_run(self, row: Scheduled) -> Paused:
        return super().may_run(row) or ("permission" if row.paused == "permission" else "")

    def _check_pack(self, pack: str) -> None:
        del pack


class Port:
    """What others do with schedules, each in a transaction of its own."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database, self.clock, self.service = database, clock, Service()

    async def do(self, work: Callable[[Tx, datetime], T]) -> T:
        return await self.database.transact(lambda tx: work(tx, self.clock.now()))

    async def propose(self, manifest: Manifest, place: Place, *, consent: bool) -> list[Scheduled]:
        return await self.do(
            lambda tx, now: proposals.propose(tx, manifest, place, now, zone_of, consent=consent)
        )

    async def reconcile(
        self, manifest: Manifest, *, consent: bool, also: Sequence[Place] = ()
    ) -> None:
        await self.do(
            lambda tx, now: proposals.reconcile(
                tx, manifest, now, zone_of, consent=consent, also=also
            )
        )

    async def everything(self) -> list[Scheduled]:
        return await self.database.read(schedules.everything)

    async def of_pack(self, pack: str) -> list[Scheduled]:
        return await self.database.read(lambda tx: schedules.of_pack(tx, pack))

    async def create(self, wish: Wish) -> Scheduled:
        return await self.do(lambda tx, now: self.service.create(tx, wish, PRIVATE, now, pack=""))

    async def pause(self, row: Scheduled) -> Scheduled:
        return await self.do(lambda tx, now: self.service.switch(tx, row, now, on=False))

    async def resume(self, row: Scheduled) -> Scheduled:
        return await self.do(lambda tx, now: self.service.switch(tx, row, now, on=True))

    async def run_now(self, row: Scheduled) -> None:
        def run(tx: Tx, now: datetime) -> None:
            stored = schedules.get(tx, row.id)
            assert stored
            self.service.run(tx, stored, now)

        await self.do(run)


@pytest.fixture
def port(database: Database, clock: Clock) -> Port:
    return Port(database, clock)


def facts(rows: list[Scheduled]) -> list[tuple[str, str, str]]:
    return [(row.key, row.paused, row.next_due[:16]) for row in rows]


async def test_what_a_card_showed_begins_unless_the_pack_leaves_it_off(port: Port) -> None:
    rows = await port.propose(manifest(DAILY, WEEKLY), PRIVATE, consent=True)

    assert facts(rows) == [("daily-study", "", "2026-03-03T07:00"), ("weekly", "proposed", "")]
    assert [(row.skill, row.prompt) for row in rows] == [
        ("vocab:study", ""),
        ("vocab:report", "Go"),
    ]


async def test_without_consent_everything_is_there_and_off(
    port: Port, database: Database, clock: Clock
) -> None:
    rows = await port.propose(manifest(DAILY, WEEKLY), PRIVATE, consent=False)
    on = await port.resume(rows[1])

    assert [row.enabled for row in rows] == [False, False]
    assert facts([on]) == [("weekly", "", "2026-03-08T09:00")]


async def test_a_default_is_stored_once_a_place_and_stays_as_a_person_left_it(
    port: Port,
) -> None:
    first = await port.propose(manifest(DAILY), PRIVATE, consent=True)
    await port.pause(first[0])
    again = await port.propose(manifest(DAILY), PRIVATE, consent=True)
    elsewhere = await port.propose(manifest(DAILY), GROUP, consent=True)

    assert facts(again) == [("daily-study", "person", "")]
    assert facts(elsewhere) == [("daily-study", "", "2026-03-02T13:00")]
    assert len(await port.everything()) == 2


async def test_a_pack_without_the_permission_gets_none(port: Port) -> None:
    assert await port.propose(manifest(DAILY, cron=False), PRIVATE, consent=True) == []


async def test_a_text_that_is_no_schedule_is_left_out(port: Port) -> None:
    broken = replace(DAILY, schedule="five words that mean nothing")

    assert await port.propose(manifest(broken, WEEKLY), PRIVATE, consent=True) == [
        row for row in await port.everything() if row.key == "weekly"
    ]


async def test_a_newer_version_adds_changes_and_removes_everywhere(port: Port) -> None:
    await port.propose(manifest(DAILY, WEEKLY), PRIVATE, consent=True)
    await port.propose(manifest(DAILY, WEEKLY), GROUP, consent=True)
    later = replace(DAILY, schedule="0 9 * * *")
    fresh = CronDefault("evening", "0 21 * * *", "study")
    await port.reconcile(manifest(later, fresh), consent=False)
    rows = await port.of_pack("vocab")
    await port.reconcile(manifest(later, fresh), consent=True)

    assert sorted(facts(rows)) == [
        ("daily-study", "", "2026-03-02T14:00"),
        ("daily-study", "", "2026-03-03T08:00"),
        ("evening", "proposed", ""),
        ("evening", "proposed", ""),
    ]
    assert await port.of_pack("vocab") == rows


async def test_a_person_s_own_text_stays_when_the_pack_changes_its_own(
    port: Port, database: Database
) -> None:
    rows = await port.propose(manifest(DAILY), PRIVATE, consent=True)
    own = replace(rows[0], text="every 3d", own_text=True, next_due="")
    await database.transact(lambda tx: schedules.edit(tx, own, own.since))
    await port.reconcile(
        manifest(replace(DAILY, schedule="0 9 * * *", skill="report")), consent=True
    )
    row = (await port.of_pack("vocab"))[0]

    assert (row.text, row.skill) == ("every 3d", "vocab:report")  # its skill follows all the same


async def test_a_version_that_may_not_schedule_any_more_switches_everything_off(
    port: Port, database: Database
) -> None:
    rows = await port.propose(manifest(DAILY), PRIVATE, consent=True)
    own = replace(rows[0], id="own", key="", origin="person", text="every 2h")
    await database.transact(lambda tx: schedules.add(tx, own, rows[0].since))
    await port.reconcile(manifest(DAILY, cron=False), consent=True)

    assert facts(await port.everything()) == [("", "permission", "")]


async def test_the_first_schedules_of_a_pack_come_to_the_places_that_are_named(
    port: Port,
) -> None:
    await port.reconcile(manifest(DAILY), consent=True, also=[PRIVATE])

    assert facts(await port.of_pack("vocab")) == [("daily-study", "", "2026-03-03T07:00")]


async def test_what_was_missed_while_it_was_off_is_not_made_up_for(
    port: Port, database: Database, clock: StoppedClock
) -> None:
    every = CronDefault("often", "every 2h", "study")
    once = CronDefault("once", "2026-03-02T20:00", "study")
    soon = CronDefault("soon", "45m", "study")
    rows = await port.propose(manifest(every, once, soon), PRIVATE, consent=True)
    off = [await port.pause(row) for row in rows]
    clock.at += timedelta(hours=25)
    with pytest.raises(ScheduleRefused, match="is over: it is"):
        await port.resume(off[1])

    assert facts([await port.resume(off[0]), await port.resume(off[2])]) == [
        ("often", "", "2026-03-03T14:00"),
        ("soon", "", "2026-03-03T13:45"),
    ]


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (ZoneInfo("Europe/Berlin"), "Europe/Berlin"),
        (UTC, "UTC"),
        (timezone(timedelta(hours=-3, minutes=-30)), "UTC-03:30"),
    ],
)
async def test_a_zone_has_a_name_that_people_read(port: Port, zone: tzinfo, name: str) -> None:
    """This machine's has none of its own."""
    row = await port.create(Wish("every 2h", "Look"))

    assert zone_name(row, lambda _: zone) == name


async def test_what_comes_with_a_pack_is_not_removed(port: Port) -> None:
    """It would be proposed again with the next look at the list."""
    rows = await port.propose(manifest(DAILY), PRIVATE, consent=True)

    with pytest.raises(ScheduleRefused, match="can be switched off and not removed"):
        await port.do(lambda tx, now: port.service.remove(tx, rows[0]))


async def test_what_its_pack_may_not_have_is_not_run_now_either(
    port: Port, database: Database
) -> None:
    (row,) = await port.propose(manifest(DAILY), PRIVATE, consent=True)
    await database.transact(lambda tx: schedules.switch_off(tx, row.id, "permission", "2026"))

    with pytest.raises(ScheduleRefused, match="“daily study” cannot run: its pack may not use"):
        await port.run_now(row)


async def test_a_group_with_another_id_takes_its_schedules_along(
    port: Port, database: Database
) -> None:
    await port.propose(manifest(DAILY), GROUP, consent=True)
    await database.transact(lambda tx: chats.rename_chat(tx, "tg", "-5", "-1005"))

    assert [row.address.chat_id for row in await port.everything()] == ["-1005"]


@pytest.mark.parametrize(
    ("old", "new", "again", "stays"),
    [
        ("proposed", "proposed", False, "old"),
        ("on", "on", False, "old"),
        ("off", "proposed", False, "old"),
        ("proposed", "on", False, "new"),
        ("proposed", "off", False, "new"),
        ("on", "on", True, "new"),
        ("on", "proposed", True, "old"),
    ],
)
async def test_of_a_default_that_both_chats_have_the_one_stays_that_somebody_decided_on(
    port: Port, database: Database, old: str, new: str, again: bool, stays: str
) -> None:
    """Else that of the chat whose binding stays; nothing is left of the other one."""
    if again:  # the group has moved before, and what its old chat has is a straggler
        await database.transact(lambda tx: chats.rename_chat(tx, "tg", "-5", "-1005"))
    supergroup = replace(GROUP, address=ConversationAddress("tg", "-1005"))
    ids = dict[str, str]()
    for which, place, state in (("old", GROUP, old), ("new", supergroup, new)):
        (row,) = await port.propose(manifest(DAILY), place, consent=state != "proposed")
        if state == "off":
            await port.pause(row)
        await port.run_now(row)
        ids[which] = row.id
    await database.transact(lambda tx: chats.rename_chat(tx, "tg", "-5", "-1005"))
    (row,) = await port.everything()
    runs = await database.read(lambda tx: tx.all("SELECT schedule_id FROM schedule_runs"))

    assert (row.id, row.address.chat_id) == (ids[stays], "-1005")
    assert [run["schedule_id"] for run in runs] == [row.id]


@pytest.mark.parametrize(("strict", "severity"), [(True, "error"), (False, "warning")])
def test_a_manifest_whose_schedule_is_none_says_so_with_its_line(
    strict: bool, severity: str
) -> None:
    """A pack of the original loads all the same: there any five words were a schedule."""
    text = (
        "name: a\nversion: 1.0.0\ndisplay_name: A\nprovided_skills: [b]\n"
        "permissions: {cron: true}\ncron_defaults:\n  - id: x\n    skill: b\n"
        "    schedule: run this every single day\n"
    )
    parsed = parse(text, strict=strict)
    problem = parsed.problems[0]

    assert (problem.line, problem.field, problem.severity) == (
        9, "cron_defaults[0].schedule", severity,
    )  # fmt: skip
    assert "is not a schedule: write" in problem.message


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30), zone=st.text(max_size=12), prompt=st.text(max_size=12))
def test_any_wish_is_granted_or_refused_with_a_sentence(text: str, zone: str, prompt: str) -> None:
    """Checked as `create` does, without a database."""
    row = Scheduled(
        "x", "", "", "person", PRIVATE.address, "private", "1001", "", "", "", "",
        "2026-03-02T12:00:00.000+00:00", True, "", "",
    )  # fmt: skip
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    with suppress(ScheduleRefused):
        made = Service().wished(row, Wish(text, prompt, "", zone), now)
        assert made.next_due
        assert made.name
