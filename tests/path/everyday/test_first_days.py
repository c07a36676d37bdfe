"""What people write in their first days to six packs, without any model, in each language.
Source: `known.yml` and `held.yml` beside this file, or the halves of a language's own: the second
was not looked at while tuning."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from aouo.words.catalogue import speaking, text
from tests.fakes.web_server import Answer, Names, WebServer, web_of
from tests.path.looking import settled
from tests.path.world import ADA, ROOT, Running, World

HERE = Path(__file__).parent
OWN_FILES = {"es": "spanish.yml", "fr": "french.yml", "ru": "russian.yml", "zh": "chinese.yml"}
"""Languages whose messages have a file of their own, with both halves."""
PACKS = ("remind", "expenses", "feeds", "vocab", "notes", "create")
TABLES = {
    "spendings": "expenses", "budgets": "expenses", "sources": "feeds", "words": "vocab",
    "entries": "notes", "materials": "create", "posts": "create",
}  # fmt: skip
FEED = b"""<rss version="2.0"><channel><title>Daily news</title>
<item><title>Bridge opens</title><link>https://feeds.example/1</link><guid>1</guid></item>
</channel></rss>"""
CALENDAR = (HERE.parents[2] / "packs" / "feeds" / "samples" / "week.ics").read_bytes()
ENOUGH, DONE = 0.85, 0.80
Rows: TypeAlias = Mapping[str, Mapping[str, str]]


def messages(half: str, language: str) -> list[tuple[str, str, str]]:
    file, key = (OWN_FILES[language], half) if language in OWN_FILES else (f"{half}.yml", language)
    listed: dict[str, list[list[str]]] = yaml.safe_load((HERE / file).read_text("utf-8"))
    return [(said, want, what) for said, want, what in listed[key]]


async def kept(bot: Running) -> Rows:
    """All that packs and schedules hold, as words by key."""
    found: dict[str, dict[str, str]] = {}
    for table, pack in TABLES.items():
        bot.app.shared.stores.open(pack, f"tg_{ADA}")
        with closing(sqlite3.connect(bot.app.shared.stores.file(pack, f"tg_{ADA}"))) as file:
            rows = file.execute(f"SELECT rowid, * FROM {table}").fetchall()
        found[table] = {str(row[0]): " ".join(map(str, row[1:])).casefold() for row in rows}
    made = await bot.rows("SELECT * FROM schedules WHERE origin <> 'default' AND paused <> 'over'")
    found["reminders"] = {row["id"]: f"{row['say']} {row['act']}".casefold() for row in made}
    return found


def changes(before: Rows, after: Rows) -> set[tuple[str, str, str]]:
    """(how, table, words) of each row that came, went or changed."""
    found: set[tuple[str, str, str]] = set()
    for table, rows in after.items():
        old = before[table]
        found |= {("+", table, said) for key, said in rows.items() if key not in old}
        found |= {("-", table, said) for key, said in old.items() if key not in rows}
        found |= {("~", table, said) for key, said in rows.items() if old.get(key, said) != said}
    return found


def wrong(want: str, what: str, done: set[tuple[str, str, str]], answer: str) -> str:
    """Why a message ended wrongly, "" = it did not."""
    what, declined = what.casefold(), answer.startswith(text("actions.no-model")[:25])
    if want in ("talk", "offer", "shows"):
        if done := {one for one in done if one[0] != "~"}:
            return f"EFFECT {done}"
        if want == "talk" and declined:
            return "was declined"
        if want == "shows" and (declined or what not in answer.casefold()):
            return "does not show it"
        return ""
    how, table = {"reminds": ("+", "reminders"), "unreminds": ("-", "reminders")}.get(
        want, (want[0], want[1:])
    )
    if want in ("~reminders", "reminds2"):  # one that moves is gone, and made anew
        right = sorted(one[:2] for one in done) == sorted(
            (one, "reminders") for one in ("+-" if want == "~reminders" else "++")
        )
        return "" if right and all(what in one[2] for one in done) else f"EFFECT {done}"
    done = {one for one in done if one[0] == how or one[0] != "~"}
    listed = ("+", "entries")  # each thing that is put on a list is one
    count = len({one[:2] if one[:2] == listed else one for one in done})
    if [one for one in done if one[:2] == (how, table) and what in one[2]] and count == 1:
        return ""
    return f"EFFECT {done}" if done else "did nothing"


@asynccontextmanager
async def six_packs(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Any]:
    world.install(*(pack for pack in PACKS if pack != "feeds"))
    world.config = {
        "provider": {"backend": "none"},
        "packs": {"default": "notes"},
        "telegram": {"message_batch_ms": 0},
    }
    async with WebServer() as site:
        site.pages["/news.xml"] = Answer(FEED, "application/rss+xml")
        site.pages["/team.ics"] = Answer(CALENDAR, "text/calendar")
        hosts = f'["*", "feeds.example:{site.port}", "cal.example:{site.port}"]'
        shutil.copytree(ROOT / "packs" / "feeds", world.home.packs / "feeds")
        manifest = world.home.packs / "feeds" / "pack.yml"
        manifest.write_text(manifest.read_text("utf-8").replace('["*"]', hosts), "utf-8")
        names = Names(feeds_example=("127.0.0.1",), cal_example=("127.0.0.1",))
        monkeypatch.setattr("aouo.app.tools.Web", lambda: web_of(names))

        def put(said: str) -> str:
            said = said.replace("https://feeds.example", f"http://feeds.example:{site.port}")
            return said.replace("https://cal.example", f"http://cal.example:{site.port}")

        async with world.running() as bot:
            yield bot, put, site


async def lived(
    world: World, monkeypatch: pytest.MonkeyPatch, half: str, language: str
) -> dict[str, tuple[str, str, str]]:
    """Say all; return message → (what was wanted, why it is wrong, the answer)."""
    found: dict[str, tuple[str, str, str]] = {}
    async with six_packs(world, monkeypatch) as (bot, put, _):
        await bot.ask(f"/language {language}")
        for said, want, what in messages(half, language):
            before = await kept(bot)
            told = await bot.ask(put(said))
            await settled(bot)
            done = changes(before, await kept(bot))
            with speaking(language):
                why = wrong(want, what, done, told.text)
            found[said] = (want, why, told.text)
            if told.text.endswith("?") and why:
                await bot.ask("/stop")
    return found


@pytest.mark.parametrize("language", ["en", "de", *OWN_FILES])
@pytest.mark.parametrize("half", ["known", "held", "later", "later_held"])
async def test_first_days_without_a_model(
    world: World, monkeypatch: pytest.MonkeyPatch, half: str, language: str
) -> None:
    if half.startswith("later") and language in OWN_FILES:
        pytest.skip("is in the file of the language")
    found = await lived(world, monkeypatch, half, language)
    bad = {
        said: f"{want}: {why} <- {told[:160]!r}" for said, (want, why, told) in found.items() if why
    }
    doable = [why for want, why, _ in found.values() if want not in ("talk", "offer")]
    right = 1 - len(bad) / len(found)
    done = sum(not why for why in doable) / len(doable)
    told = f"{half} {language}: {right:.1%} of {len(found)} right, {done:.1%} of {len(doable)} done"
    told = "\n".join((told, *(f"  {said!r}: {why}" for said, why in bad.items())))
    sys.stdout.write(told + "\n")

    assert right >= ENOUGH, told
    assert done >= DONE, told
    assert not [why for why in bad.values() if "EFFECT" in why]
