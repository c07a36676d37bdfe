"""`sessions`: the model looks up what was said long ago. Source: issue 3, Tools."""

from __future__ import annotations

import shutil

from tests.fakes.model_server import words_of
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, ROOT, Running, World


def install(world: World, name: str) -> None:
    """The notes pack under another name, with leave to search."""
    folder = world.home.packs / name
    shutil.copytree(ROOT / "packs" / "notes", folder)
    manifest = folder / "pack.yml"
    text = manifest.read_text().replace("name: notes", f"name: {name}")
    manifest.write_text(text.replace("tools: [msg,", "tools: [sessions, msg,"))


async def say(world: World, bot: Running, text: str, answer: str, user: int = ADA) -> None:
    world.model.say(answer)
    await world.people.say(user, user, text)

    async def answered() -> bool:
        return any(text.startswith(answer) for text in await answers(world, user))

    await eventually(answered)
    await settled(bot)


async def look_up(world: World, bot: Running, query: str) -> str:
    """What the model reads when it searches."""
    world.model.call("sessions", {"query": query})
    await say(world, bot, f"what did I say about {query}?", f"looked for {query}")
    return words_of(world.model.requests[-1]["messages"][-1])


async def test_the_model_finds_what_was_said_in_an_earlier_session(world: World) -> None:
    install(world, "diary")
    async with world.running() as bot:
        await say(world, bot, "我们六月去东京", "好的")
        await say(world, bot, "The fence shall be green", "Green it is")
        await world.people.say(ADA, ADA, "/new")
        await said(world, "Started a fresh session. What we said before is kept: /sessions")
        fence = await look_up(world, bot, "fence")
        tokyo = await look_up(world, bot, "东京")
        nothing = await look_up(world, bot, "submarine")

    day = fence[2:12]
    assert fence == f"- {day}, in “我们六月去东京”, the person: The fence shall be green"
    assert tokyo == f"- {day}, in “我们六月去东京”, the person: 我们六月去东京"
    assert nothing.startswith("Nothing was said here about 'submarine'.")


async def test_nothing_of_other_packs_or_people_is_found(world: World) -> None:
    install(world, "diary")
    install(world, "journal")
    async with world.running() as bot:
        for user, pack in ((ADA, "journal"), (BEN, "diary")):
            await world.people.say(user, user, f"/use {pack}")
            await said(world, f"“{pack}” answers here now.", user)
            await say(world, bot, f"my secret for {pack}", f"kept, {user}", user)
        await world.people.say(ADA, ADA, "/use diary")
        await said(world, "“diary” answers here now.")
        found = await look_up(world, bot, "secret")

    assert found.startswith("Nothing was said here")
