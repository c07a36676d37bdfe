"""Killed anywhere in a change of a pack: the old one or the new one, and its rows are its own.

Source: issue 5, "failed upgrade rolls back", "Hot: no restart". The places are those of the change
itself; commits and requests of a turn are killed in `kills/test_kill_table`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aouo.config.file import load_settings
from aouo.emulator import ADA, BEN
from aouo.installer.installed import scan_at_rest
from aouo.installer.verbs import at_rest
from aouo.packs.data.storage import PackStore
from aouo.packs.load import load_pack
from aouo.packs.shipping.archive import content_hash, pack_archive
from aouo.plumbing.client import NoAnswer, NotRunning, ask
from aouo.plumbing.home import Home
from tests.path.killing import Run, killed_at
from tests.path.lives import WAIT_S, Place, place
from tests.path.packs.test_installing import SCHEMA, shopping
from tests.sampling import left, places

AMONG = "pack"
"""The places of a change all say it."""
OWNERS = (f"tg_{ADA}", f"tg_{BEN}")
PERSON = "schema: {owned_tables: [items]}", "schema: {owned_tables: [items], scope: person}"
DONE = "“shopping” is version 2.0.0 now."
ALREADY = "“shopping” 2.0.0 is installed already; there is nothing to do."
HI = "Hello from notes."
BADGE = "\n\n— notes"


def version(folder: Path, number: str) -> Path:
    """1.0.0, or 2.0.0 whose table has another column, by a migration."""
    new = number == "2.0.0"
    made = shopping(folder, number, "[msg, persist, web]" if new else "[msg, persist]")
    manifest = made / "pack.yml"
    manifest.write_text(manifest.read_text().replace(*PERSON))
    if new:
        (made / "schema.sql").write_text(SCHEMA.replace("name", "title"))
        (made / "migrations").mkdir()
        rename = "ALTER TABLE items RENAME COLUMN name TO title;\n"
        (made / "migrations" / "0001_title.sql").write_text(rename)
    return made


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both versions, and the file of the new one."""
    folder = tmp_path_factory.mktemp("shelf")
    version(folder / "one", "1.0.0")
    pack_archive(version(folder / "two", "2.0.0"), folder / "two.aouo")
    return folder


@asynccontextmanager
async def furnished(folder: Path, shelf: Path, port: int) -> AsyncGenerator[Place]:
    """Notes is linked, shopping 1.0.0 installed, and it keeps a row for each of two people."""
    async with place(folder, ("notes",), lambda body: HI, runner_port=port, parts=("ben",)) as here:
        config = json.loads(here.home.config.read_text())
        config["telegram"]["allowed_user_ids"] = [ADA, BEN]
        here.home.config.write_text(json.dumps(config))
        settings = load_settings(here.home.path, {}).settings
        async with at_rest(here.home, settings) as verbs:
            offer = await verbs["pack_offer"](source=str(shelf / "one"))
            await verbs["pack_accept"](id=offer["id"])
        pack = load_pack(shelf / "one").pack
        assert pack is not None
        for owner in OWNERS:
            file = here.home.pack_database("shopping", owner)
            with closing(PackStore(file, pack.manifest, pack.schema_sql)) as store:
                row = {"name": f"milk of {owner}"}
                store.run("save", row, call_id="1", session_key="", now="")
        yield here


def problems_of(here: Place, wanted: str) -> list[str]:
    """What is not as it should be, with `wanted` of shopping installed, "" = none."""
    home = here.home
    found: list[str] = []
    there = sorted(child.name for child in home.packs.iterdir())
    if there != (["notes", "shopping"] if wanted else ["notes"]):
        found.append(f"the folder of packs holds {there}")
    settings = load_settings(home.path, {}).settings
    library = scan_at_rest(home, settings.packs, settings.tools.enabled)
    pack = library.get("shopping")
    if (pack.manifest.version if pack else "") != wanted or library.broken:
        found.append(f"installed are {library.names}, broken {library.broken}")
    if wanted and not found:
        digests = here.rows("SELECT version, digest FROM installs")
        true = {"version": wanted, "digest": content_hash(home.packs / "shopping")}
        if digests != [true]:
            found.append(f"pinned is {digests}")
    if left := here.rows("SELECT * FROM pack_changes WHERE state IN ('offered', 'begun')"):
        found.append(f"open changes: {left}")
    return found


def rows_of(here: Place, owner: str) -> list[dict[str, Any]]:
    return here.rows("SELECT * FROM items", here.home.pack_database("shopping", owner))


def misplaced(here: Place, column: str) -> list[str]:
    """Rows that are not there, or not as the version with this column keeps them."""
    return [
        f"{owner} has {rows}"
        for owner in OWNERS
        if (rows := rows_of(here, owner)) != [{"id": 1, column: f"milk of {owner}"}]
    ]


# In the chat


@dataclass(frozen=True)
class Upgrading:
    """Ada sends the new version and says yes; Ben talks to another pack before and after."""

    here: Place
    archive: bytes

    async def person(self) -> None:
        people, here = self.here.emulator.client, self.here
        await people.say(BEN, BEN, "/use notes")
        await people.say(BEN, BEN, "before")
        await here.until(lambda: self.is_answered(1))  # or its delivery may be cut off
        await people.send_file(
            ADA, ADA, "document", self.archive, name="shopping.aouo", caption="/install"
        )
        card = await here.until_said("Upgrade Shopping")
        await here.tap(card, next(one.data for one in card.buttons if one.text == "Upgrade"))
        await here.until(self.is_told)
        await people.say(BEN, BEN, "after")
        await here.until(lambda: self.is_answered(2))

    async def is_told(self) -> bool:
        return any(one.text in (DONE, ALREADY) for one in await self.here.said())

    async def is_answered(self, times: int) -> bool:
        said = await self.here.emulator.client.messages(BEN)
        return sum(one.text == HI + BADGE for one in said) == times

    async def live(self) -> None:
        """One life, up to its end or to where all is done."""
        here = self.here

        async def over() -> bool:
            unsent = here.rows("SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending')")
            done = not unsent and await self.is_told() and await self.is_answered(2)
            return here.is_dead or done

        await here.until(over)
        here.life.stop()
        async with asyncio.timeout(WAIT_S):
            await here.life.gone.wait()


async def _upgraded_in_the_chat(folder: Path, shelf: Path, kill_at: int, port: int) -> Run:
    async with furnished(folder, shelf, port) as here:
        scenario = Upgrading(here, (shelf / "two.aouo").read_bytes())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(scenario.person())
                for number in (kill_at, 0):
                    async with here.alive(kill_at=number, among=AMONG):
                        await scenario.live()
                    if here.life.ended:
                        break
            problems = [*problems_of(here, "2.0.0"), *misplaced(here, "title")]
            told = [one.text for one in await here.said()]
            if sum(text in (DONE, ALREADY) for text in told) != 1:
                problems.append(f"Ada was told {told}")
        except* (TimeoutError, AssertionError) as errors:
            told = [one.text for one in await here.said()]
            problems = [f"{errors.exceptions!r}", f"{told}", here.stderr[-3000:]]
        return Run((kill_at,), tuple(here.kills), tuple(problems))


@left()
async def test_killed_anywhere_in_an_upgrade_by_a_card_it_is_the_new_pack_and_has_its_rows(
    tmp_path: Path, shelf: Path, runner_port: int
) -> None:
    reached: list[str] = []

    async def killed(number: int) -> Run:
        folder = tmp_path / str(number)
        run = await _upgraded_in_the_chat(folder, shelf, number, runner_port)
        reached.extend(run.kills)
        return run

    await killed_at(range(1, 18), killed)

    assert {
        "after a pack is offered",
        "after a change of packs has begun",
        "after a pack's schema commit",
        "after a pack's databases are migrated",
        "after an old pack goes aside",
        "before a new pack takes its place",
        "after a pack is recorded",
    } <= set(reached)


# Through the control socket


async def asked(home: Home, verb: str, **arguments: object) -> dict[str, Any]:
    """What the running bot says, once it answers; it may be killed meanwhile."""
    return await asyncio.to_thread(ask, home, verb, timeout_s=WAIT_S, begins_s=None, **arguments)


async def upgrade(here: Place, shelf: Path) -> None:
    offer = await asked(here.home, "pack_offer", source=str(shelf / "two"), upgrade="shopping")
    if offer["same"]:
        await asked(here.home, "pack_decline", id=offer["id"])
    else:
        await asked(here.home, "pack_accept", id=offer["id"])


async def uninstall(here: Place, shelf: Path) -> None:
    del shelf
    await asked(here.home, "pack_remove", pack="shopping", purge=False)


async def purge(here: Place, shelf: Path) -> None:
    del shelf
    await asked(here.home, "pack_remove", pack="shopping", purge=True)


@dataclass(frozen=True)
class Verb:
    """What a terminal asks for; `version` and `column` are those of the end, "" = gone."""

    ask: Callable[[Place, Path], Awaitable[None]]
    version: str
    column: str
    places: int
    """How many a change goes through."""


VERBS = {
    "upgrade": Verb(upgrade, "2.0.0", "title", 17),
    "uninstall": Verb(uninstall, "", "name", 5),
    "purge": Verb(purge, "", "", 6),
}


async def listens(here: Place) -> None:
    async def look() -> bool:
        try:
            await asked(here.home, "status")
        except (NotRunning, NoAnswer):
            return False
        return True

    await here.until(look)


async def _by_verb(folder: Path, shelf: Path, kill_at: int, port: int, verb: Verb) -> Run:
    async with furnished(folder, shelf, port) as here:
        problems: list[str] = []
        async with here.alive(kill_at=kill_at, among=AMONG) as life:
            await listens(here)
            with suppress(NoAnswer):
                await verb.ask(here, shelf)
            life.stop()
            await life.gone.wait()
        begun = here.rows("SELECT 1 FROM pack_changes WHERE pack = 'shopping' AND state = 'begun'")
        async with here.alive() as life:
            await listens(here)
            if begun or life is here.lives[0]:
                problems += problems_of(here, verb.version)
            elif verb is VERBS["upgrade"]:
                await verb.ask(here, shelf)  # whoever was not asked asks again
            life.stop()
            await life.gone.wait()
        problems += problems_of(here, verb.version)
        if verb.column:
            problems += misplaced(here, verb.column)
        elif left := [*here.home.store.rglob("shopping/*"), *here.home.store.glob("shopping*")]:
            problems.append(f"of what it kept there is {left}")
        if problems:
            problems.append(here.stderr[-3000:])
        return Run((kill_at,), tuple(here.kills), tuple(problems))


@pytest.mark.parametrize("name", VERBS)
async def test_killed_anywhere_in_what_a_terminal_asked_for_the_next_start_ends_it(
    name: str, tmp_path: Path, shelf: Path, runner_port: int
) -> None:
    verb = VERBS[name]
    reached: list[str] = []

    async def killed(number: int) -> Run:
        run = await _by_verb(tmp_path / str(number), shelf, number, runner_port, verb)
        reached.extend(run.kills)
        return run

    numbers = places(range(1, verb.places + 2), 2)
    await killed_at(numbers, killed)

    assert len(reached) == sum(number <= verb.places for number in numbers)


@pytest.mark.parametrize("among", ["a pack took its place", "a pack is recorded"])
async def test_killed_while_a_terminal_installs_the_owner_still_gets_its_schedules_as_shown(
    among: str, tmp_path: Path, runner_port: int
) -> None:
    made = shopping(tmp_path / "one")
    text = (made / "pack.yml").read_text().replace("persist]}", "persist], cron: true}")
    daily = "cron_defaults: [{id: daily, schedule: '0 8 * * *', skill: list}]\n"
    (made / "pack.yml").write_text(text + daily)
    async with place(tmp_path / "at", (), lambda body: HI, runner_port=runner_port) as here:
        async with here.alive(kill_at=1, among=among) as life:
            await listens(here)
            offer = await asked(here.home, "pack_offer", source=str(made))
            with pytest.raises(NoAnswer):
                await asked(here.home, "pack_accept", id=offer["id"])
            await life.gone.wait()
        async with here.alive() as life:
            await listens(here)
            life.stop()
            await life.gone.wait()

        rows = here.rows("SELECT pack, key, chat_id, enabled FROM schedules")

    assert rows == [{"pack": "shopping", "key": "daily", "chat_id": str(ADA), "enabled": 1}]


async def test_an_upgrade_that_was_killed_and_cannot_be_ended_leaves_the_old_pack_and_its_rows(
    tmp_path: Path, shelf: Path, runner_port: int
) -> None:
    """Its files are gone when the next process looks; the databases were the new version's."""
    async with furnished(tmp_path, shelf, runner_port) as here:
        async with here.alive(kill_at=1, among="databases are migrated") as life:
            await listens(here)
            with pytest.raises(NoAnswer):
                await upgrade(here, shelf)
            await life.gone.wait()
        migrated = [rows_of(here, owner) for owner in OWNERS]
        (waiting,) = here.home.packs.glob(".waiting-*")
        shutil.rmtree(waiting / "app")
        async with here.alive() as life:
            await listens(here)
            life.stop()
            await life.gone.wait()

        assert all("title" in rows[0] for rows in migrated)
        assert [*problems_of(here, "1.0.0"), *misplaced(here, "name")] == []
        assert here.rows("SELECT state FROM pack_changes WHERE kind = 'upgrade'") == [
            {"state": "failed"}
        ]
