"""What Ada kept in a trial becomes the owner's on Telegram; the others are left out."""

from __future__ import annotations

from aouo.app.keeping import is_kept, keep, take_over
from tests.fakes.clock import FastClock
from tests.path.looking import settled
from tests.path.world import ADA, BEN, World


async def test_a_trial_is_taken_to_telegram(world: World) -> None:
    world.install("notes", "remind")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    async with world.running() as bot:
        await bot.ask("note: the plums are ripe")
        await bot.ask("remind me tomorrow at 8 to pick them")
        await bot.ask("note: a secret of Ben", user=BEN)
        await settled(bot)
    keep(world.home)
    assert is_kept(world.home)
    assert "bot_token" not in world.home.config.read_text()

    for _ in range(2):  # killed before the end, it goes on
        await take_over(world.home, str(BEN), FastClock())
        (world.home.path / "trial.json").write_text("{}")
    (world.home.path / "trial.json").unlink()

    world.config["telegram"] = {"allowed_user_ids": [BEN]}
    async with world.running() as bot:
        await bot.people.next_message(BEN, contains="What you kept while trying is yours")
        notes = await bot.ask("my notes", user=BEN)
        coming = await bot.ask("my reminders", user=BEN)

    assert "the plums are ripe" in notes.text
    assert "secret" not in notes.text
    assert "Pick them" in coming.text
    assert (world.home.data / "trial" / "store" / "notes" / f"tg_{BEN}.db").exists()
    assert ADA
