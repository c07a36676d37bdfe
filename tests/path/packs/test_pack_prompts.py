"""What a pack's manifest makes of its prompt and of where it answers; issue 5 "Format"."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from aouo.app.status import _terminal_inbound
from tests.fakes.model_server import CallPart, text_of, words_of
from tests.path.world import ADA, World

SKILLS = {
    "add": "---\nname: add\ndescription: Adds a word\ntriggers: [new word, learn, keep, four]\n"
    "---\nBODY-ADD: keep it.\n",
    "ask": "---\nname: ask\ndescription: Asks\ncommand: true\n---\nBODY-ASK: ask it.\n",
}


def pack(world: World, manifest: str = "", files: Mapping[str, str] | None = None) -> None:
    """Install a pack `words` with two skills."""
    folder = world.home.packs / "words"
    texts = {
        "pack.yml": "name: words\nversion: 1.0.0\ndisplay_name: Words\n"
        "provided_skills: [add, ask]\n" + manifest,
        **{f"skills/{name}/SKILL.md": text for name, text in SKILLS.items()},
        **(files or {}),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


MEMORY = {"templates/USER.md.tmpl": "- Likes trees.\n", "templates/MEMORY.md.tmpl": "- Seen: 7.\n"}


async def systems(world: World, *says: str) -> list[str]:
    """The system prompts of one turn for each of the words."""
    async with world.running() as bot:
        for text in says:
            await bot.ask(text)
    return [str(body["messages"][0]["content"]) for body in world.model.requests]


def read(world: World) -> list[str]:
    """All that the model read of the runtime in each turn: the system prompt and the context."""
    ends = [(body["messages"][0], body["messages"][-1]) for body in world.model.requests]
    return [f"{text_of(system)}\n{text_of(newest)}" for system, newest in ends]


async def test_skills_are_a_list_with_a_few_words_of_when(world: World) -> None:
    pack(world)

    (system,) = await systems(world, "hello")

    assert '- add: Adds a word (when: "new word", "learn", "keep")\n- ask: Asks' in system
    assert "BODY" not in system


async def test_eager_skills_are_in_the_prompt_whole_and_the_active_one_once(world: World) -> None:
    pack(world, "context: {skill_loading: eager}\n")

    system, active = await systems(world, "hello", "/ask")

    assert "## add\nAdds a word\n\nBODY-ADD: keep it." in system
    assert "BODY-ASK: ask it." in system
    assert active.count("BODY-ASK") == 1
    assert "## ask" not in active


async def test_the_skill_at_hand_is_not_offered_for_reading_once_more(world: World) -> None:
    pack(world)

    _, active = await systems(world, "hello", "/ask")

    assert "BODY-ASK" in active
    assert [line for line in active.splitlines() if line.startswith("- a")] == [
        '- add: Adds a word (when: "new word", "learn", "keep")'
    ]


@pytest.mark.parametrize(
    ("policy", "user", "memory"),
    [("none", False, False), ("user", True, False), ("full", True, True), ("", True, True)],
)
async def test_the_memory_policy_says_which_files_are_in_the_prompt(
    world: World, policy: str, user: bool, memory: bool
) -> None:
    pack(world, f"context: {{memory_policy: '{policy}'}}\n", MEMORY)

    await systems(world, "hello")

    (told,) = read(world)
    assert ("Likes trees" in told, "Seen: 7" in told) == (user, memory)


@pytest.mark.parametrize(
    ("room", "there", "gone"),
    [
        (4000, ["BODY-ADD", "BODY-ASK", "NOTE", "PERSON"], []),
        (170, ["BODY-ADD", "NOTE", "PERSON"], ["ask"]),
        (140, ["NOTE", "PERSON"], ["ask", "add"]),
        (100, ["PERSON"], ["ask", "add", "MEMORY.md"]),
        (1, [], ["ask", "add", "MEMORY.md", "USER.md"]),
    ],
)
async def test_what_has_no_room_is_left_out_in_order_and_logged_once(
    world: World, room: int, there: list[str], gone: list[str]
) -> None:
    """Bodies from the last listed, then memory; rules and the list of skills always stay."""
    fill = " word" * 40
    files = {
        "rules-additions.md": "RULES stay.",
        "templates/USER.md.tmpl": f"PERSON{fill}\n",
        "templates/MEMORY.md.tmpl": f"NOTE{fill}\n",
        **{f"skills/{name}/SKILL.md": text + fill for name, text in SKILLS.items()},
    }
    pack(world, f"context: {{skill_loading: eager, max_tokens: {room}}}\n", files)

    with capture_logs() as logs:
        system, again = await systems(world, "hello", "more")

    told, _ = read(world)
    marks = [mark for mark in ("BODY-ADD", "BODY-ASK", "NOTE", "PERSON") if mark in told]
    cut = [line["left_out"] for line in logs if line["event"] == "prompt_cut"]
    assert marks == there
    assert "RULES stay." in system
    assert "- ask: Asks" in system or "## ask" in system
    assert cut == ([tuple(gone)] if gone else [])
    assert system == again


async def test_a_pack_for_telegram_is_refused_in_the_terminal_with_one_sentence(
    world: World,
) -> None:
    """No model is asked, and in Telegram it answers."""
    pack(world, "permissions: {platforms: [telegram]}\n")
    async with world.running() as bot:
        events, leave = bot.app.terminal.watch("local")
        await bot.app.inbox.submit(_terminal_inbound("local", "hello"))
        heard = await events.get()
        while not heard.get("text"):
            heard = await events.get()
        leave()
        asked = len(world.model.requests)
        answer = await bot.ask("hello")

    assert heard["text"] == (
        "“Words” answers in Telegram only (permissions.platforms in its pack.yml)."
    )
    assert (asked, answer.text) == (0, "hello")


async def test_a_skill_whose_tool_the_owner_switched_off_gives_way_to_its_fallback(
    world: World,
) -> None:
    rich = SKILLS["ask"].replace("command:", "requires: [fetch]\nfallback: add\ncommand:")
    pack(world, "permissions: {tools: [msg, web]}\n", {"skills/ask/SKILL.md": rich})

    (with_it,) = await systems(world, "/ask")
    world.config = {"tools": {"enabled": ["core"]}}
    world.model.requests.clear()
    (without,) = await systems(world, "/ask")

    assert ("BODY-ASK" in with_it, "BODY-ADD" in with_it) == (True, False)
    assert ("BODY-ASK" in without, "BODY-ADD" in without) == (False, True)


# Budgets of the pack's own


PRICES = {"scripted": {"input": 10.0, "cached": 1.0, "output": 100.0}}


async def test_a_packs_own_money_counts_beside_the_owners_and_the_stricter_wins(
    world: World,
) -> None:
    pack(world, "budget: {daily_usd: 0.1}\n")
    world.config = {"budgets": {"prices": PRICES}}
    async with world.running() as bot:
        own = await bot.ask("hello")
    world.config = {"budgets": {"prices": PRICES, "per_pack_daily_usd": {"words": 0.05}}}
    async with world.running() as bot:
        owners = await bot.ask("hello")

    assert own.text.startswith("Today's budget of “words” does not allow this: $0.00 of $0.10")
    assert own.text.endswith("or the owner raises budget.daily_usd in the pack.yml of “words”.")
    assert "$0.00 of $0.05" in owners.text
    assert owners.text.endswith("or the owner raises budgets.per_pack_daily_usd.words.")
    assert world.model.requests == []


async def test_a_packs_own_tokens_of_a_day_end_with_a_sentence_and_others_go_on(
    world: World,
) -> None:
    pack(world, "budget: {daily_tokens: 10}\n")
    world.install("notes")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/use words")
        await bot.people.next_message(ADA, contains="answers here now")
        first = await bot.ask("one")
        refused = await bot.ask("two")
    async with world.running() as bot:  # read from the table again
        still = await bot.ask("three")
        await bot.people.say(ADA, ADA, "/use notes")
        await bot.people.next_message(ADA, contains="“notes” answers here now")
        other = await bot.ask("four")

    assert first.text.startswith("one")
    assert refused.text.startswith("The daily limit of this pack is reached: ")
    assert (
        "of 10 tokens. It starts again at midnight, or the owner raises "
        "budget.daily_tokens in the pack.yml of “words”."
    ) in refused.text
    assert still.text == refused.text
    assert other.text.startswith("four")


async def test_a_packs_own_limit_counts_from_the_next_turn_on_once_it_is_read_anew(
    world: World,
) -> None:
    pack(world, "budget: {daily_tokens: 10}\n")
    manifest = world.home.packs / "words" / "pack.yml"
    async with world.running() as bot:
        await bot.ask("one")
        refused = await bot.ask("two")
        manifest.write_text(manifest.read_text().replace("daily_tokens: 10", "turn_tokens: 9999"))
        await bot.app.packs.refresh()
        after = await bot.ask("three")

    assert refused.text.startswith("The daily limit of this pack is reached: ")
    assert after.text.startswith("three")


async def test_a_packs_own_tokens_of_a_turn_end_it_between_two_calls(world: World) -> None:
    pack(world, "budget: {turn_tokens: 5}\n")
    world.model.calls(CallPart("skill_view", {"name": "add"}))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("The limit of one answer is reached: ")
    assert answer.text.endswith(
        "of 5 tokens. Ask for a smaller piece, or the owner raises "
        "budget.turn_tokens in the pack.yml of “words”."
    )
    assert len(world.model.requests) == 1


async def test_no_pack_reads_more_history_than_the_owner_lets_anybody(world: World) -> None:
    pack(world, "context: {history_window: 999999999}\n")
    world.config = {"advanced": {"max_history_messages": 4}}

    await systems(world, *(f"message {number}" for number in range(6)))

    texts = [words_of(message) for message in world.model.requests[-1]["messages"]]
    assert [text for text in texts if "message 2" in text] == []  # the newest four, and this one
    assert [text for text in texts if "message 3" in text] != []
