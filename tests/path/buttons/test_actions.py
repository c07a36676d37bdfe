"""A pack acts by a tap, a command and a form without a model, once, and it can be put back.
Source: issue 27."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aouo.emulator import ChatMessage
from tests.path.buttons.test_menus import tap, until_text
from tests.path.looking import in_steps, said, settled
from tests.path.world import BEN, Running, World

ACTIONS = """
actions:
  add:
    title: Add a habit
    arguments: {called: {kind: text, ask: "What is it called?"}}
    sql: INSERT INTO habits (name) VALUES (:called)
    find: SELECT count(*) AS count FROM habits
    answer:
      one: "Added “{called}”. {count} habit now."
      other: "Added “{called}”. {count} habits now."
    command: habit
  tick:
    title: Tick a habit off for today
    arguments: {habit: {kind: row, table: habits, label: name, ask: "Which habit?"}}
    sql: INSERT INTO ticks (habit, day) VALUES (:habit, :today) ON CONFLICT DO NOTHING
    answer: "✓ {habit}"
    nothing: "“{habit}” is ticked for today already."
    page: list
    command: tick
  drop:
    title: Forget a habit
    arguments: {habit: {kind: row, table: habits, label: name}}
    sql: DELETE FROM habits WHERE id = :habit
    answer: "“{habit}” is gone."
    confirm: "Forget it with all its ticks?"
    page: list
"""
SCHEMA = """
CREATE TABLE habits (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE ticks (
  habit INTEGER NOT NULL REFERENCES habits (id) ON DELETE CASCADE,
  day TEXT NOT NULL, PRIMARY KEY (habit, day));
"""
MENU: list[dict[str, Any]] = [
    {
        "id": "list",
        "title": "Habits",
        "sql": "SELECT h.id, h.name, (SELECT count(*) FROM ticks AS t WHERE t.habit = h.id) AS n "
        "FROM habits AS h ORDER BY h.id",
        "row": "{name}: {n}",
        "empty": "None yet.",
        "size": 5,
        "each": [
            {"text": "✓ {name}", "callback": "do:tick:{id}"},
            {"text": "✗ {name}", "callback": "do:drop:{id}"},
        ],
        "rows": [[{"text": "Add", "callback": "do:add"}]],
    }
]


def write(world: World, name: str = "habits") -> None:
    folder = world.home.packs / name
    folder.mkdir(parents=True)
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 0.1.0\ndisplay_name: Habits\ndescription: Ticks habits off\n"
        "schema: {file: schema.sql, scope: person, owned_tables: [habits, ticks]}\n"
        "permissions: {tools: [msg]}\n"
    )
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "actions.yml").write_text(ACTIONS)
    (folder / "menu.json").write_text(json.dumps(MENU))


@pytest.fixture(autouse=True)
def habits(world: World) -> None:
    write(world)


async def test_a_command_acts_once_says_so_and_is_put_back(world: World) -> None:
    async with world.running() as bot:
        added = await bot.ask("/habit Running")
        again = await bot.ask("/habit Reading")
        await tap(bot, again, "Undo")
        undone = await until_text(world, again, "Put back")
        page = await bot.ask("/menu")

    assert added.text == "Added “Running”. 1 habit now."
    assert again.text == "Added “Reading”. 2 habits now."
    assert undone.text == "Put back as it was."
    assert page.text == "Habits\n\nRunning: 0"
    assert world.model.requests == []


async def test_a_tap_acts_on_its_row_and_turns_its_page(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/habit Running")
        page = await bot.ask("/menu")
        await tap(bot, page, "✓ Running")
        ticked = await until_text(world, page, "✓ Running")
        twice = await bot.ask("/tick running")
        await settled(bot)
        rows = await bot.rows("SELECT text FROM messages WHERE visible = 1 ORDER BY id")

    assert ticked.text == "✓ Running\n\nHabits\n\nRunning: 1"
    assert [button.text for button in ticked.buttons] == ["✓ Running", "✗ Running", "Add", "Undo"]
    assert twice.text == "“Running” is ticked for today already.\n\nHabits\n\nRunning: 1"
    assert "[tap] ✓ Running" in [row["text"] for row in rows]
    assert world.model.requests == []


async def test_what_is_missing_is_asked_for(world: World) -> None:
    async with world.running() as bot:
        page = await bot.ask("/menu")
        await tap(bot, page, "Add")
        await said(world, "What is it called?")
        added = await bot.ask("Running")

    assert added.text == "Added “Running”. 1 habit now."
    assert world.model.requests == []


@pytest.mark.parametrize(("answer", "left"), [("Yes", "None yet."), ("No", "Running: 1")])
async def test_a_loss_is_confirmed_and_can_be_put_back(
    world: World, answer: str, left: str
) -> None:
    async with world.running() as bot:
        await bot.ask("/habit Running")
        await bot.ask("/tick Running")
        page = await bot.ask("/menu")
        await tap(bot, page, "✗ Running")
        sure = await said(world, "Forget it with all its ticks?")
        await tap(bot, sure, answer)
        await settled(bot)
        after = await bot.ask("/menu")
        await bot.ask("/undo")
        put_back = await bot.ask("/menu")

    assert after.text == f"Habits\n\n{left}"
    assert put_back.text == "Habits\n\nRunning: " + ("1" if answer == "Yes" else "0")
    assert world.model.requests == []


PHRASES = """
phrases:
  - action: add
    en: ["new habit: {called}", "start [a] habit {called}"]
    de: ["neue gewohnheit: {called}"]
  - {action: tick, en: ["did {habit}", "{habit} done"]}
"""


async def test_a_phrase_acts_and_a_question_or_another_text_goes_on(world: World) -> None:
    folder = world.home.packs / "habits"
    (folder / "actions.yml").write_text(ACTIONS + PHRASES)
    world.model.say("a model's words")
    async with world.running() as bot:
        added = await bot.ask("New habit: Running!")
        ticked = await bot.ask("did running")
        other = await bot.ask("what is a new habit: something?")

    assert added.text == "Added “Running”. 1 habit now."
    assert ticked.text == "✓ Running\n\nHabits\n\nRunning: 1"
    assert other.text == "a model's words"
    assert len(world.model.requests) == 1


async def test_a_phrase_can_be_handed_to_the_model_which_takes_its_effect_back(
    world: World,
) -> None:
    (world.home.packs / "habits" / "actions.yml").write_text(ACTIONS + PHRASES)
    world.model.say("I would rather talk about it.")
    async with world.running() as bot:
        await bot.ask("hello")
        added = await bot.ask("new habit: Running")
        world.model.say("I would rather talk about it.")
        await tap(bot, added, "Ask the model")
        await settled(bot)
        page = await bot.ask("/menu")

    assert page.text == "Habits\n\nNone yet."
    assert world.model.requests[-1]["messages"][-1]["content"].endswith("\nnew habit: Running")


async def test_a_reminder_comes_on_the_second_without_a_model_and_once_more(world: World) -> None:
    async with world.running() as bot:
        made = await bot.ask("remind me in 20 minutes to call the bank")
        came = await comes_after(world, made)
        await tap(bot, came, "10 minutes")
        later = await until_text(world, came, "Call the bank\n\n⏰")
        again = await comes_after(world, came)
        await tap(bot, again, "✓ Done")
        done = await until_text(world, again, "✓ Call the bank")
        await tap(bot, again, "1 hour")
        await settled(bot)
        runs = await bot.rows(
            "SELECT due_at, settled_at, state, why FROM schedule_runs ORDER BY due_at"
        )

    assert "Call the bank" in made.text
    assert [button.text for button in came.buttons] == [
        "✓ Done",
        "10 minutes",
        "1 hour",
        "Tomorrow",
    ]
    assert later.buttons == done.buttons == ()
    assert [(run["state"], run["why"]) for run in runs] == [("done", "snooze"), ("done", "done")]
    assert world.model.requests == []


LEFT = """
  left:
    title: Say which habits are left today
    find: >-
      SELECT name FROM habits WHERE id NOT IN (SELECT habit FROM ticks WHERE day = :today)
    row: "• {name}"
    answer: "Left today:"
"""


async def test_a_schedule_acts_and_is_silent_when_there_is_nothing_to_say(world: World) -> None:
    folder = world.home.packs / "habits"
    (folder / "actions.yml").write_text(ACTIONS + LEFT)
    manifest = (folder / "pack.yml").read_text()
    (folder / "pack.yml").write_text(manifest.replace("tools: [msg]", "tools: [msg], cron: true"))
    async with world.running() as bot:
        await bot.ask("/habit Running")
        await bot.ask("/cron add every 2h do: left")
        await bot.ask("/cron run left")
        await said(world, "Left today:\n• Running\n\n— ⏰ left")
        await bot.ask("/tick Running")
        await in_steps(world, 600.0, lambda: ran(bot, 2))
        runs = await bot.rows("SELECT state FROM schedule_runs ORDER BY due_at")

    assert [run["state"] for run in runs][:2] == ["done", "silent"]
    assert world.model.requests == []


async def ran(bot: Running, times: int) -> bool:
    rows = await bot.rows("SELECT 1 FROM schedule_runs WHERE settled_at <> ''")
    return len(rows) >= times


async def comes_after(world: World, before: ChatMessage) -> ChatMessage:
    """Let time go by until the reminder comes."""

    async def look() -> list[ChatMessage]:
        found = await world.people.messages(before.chat_id)
        return [m for m in found if m.id > before.id and m.text == "Call the bank"]

    return (await in_steps(world, 60.0, look))[0]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("remind me yesterday to x", "“yesterday” is over already."),
        ("remind me on 30 February to x", "There is no such day as “on 30 February”."),
    ],
)
async def test_a_time_that_never_comes_gets_a_sentence(
    world: World, asked: str, answer: str
) -> None:
    async with world.running() as bot:
        assert (await bot.ask(asked)).text == answer

    assert world.model.requests == []


async def test_phrases_can_be_switched_off_for_a_pack_and_for_all(world: World) -> None:
    world.install("notes")
    for muted, taken in (([], True), (["notes"], False), (["*"], False)):
        world.config = {"packs": {"without_phrases": muted}, "provider": {"backend": "none"}}
        async with world.running() as bot:
            await bot.ask("/use notes")
            told = await bot.ask("note: buy tea")
            await settled(bot)

        assert told.text.startswith("Saved: “buy tea”") == taken


async def test_times_are_those_of_the_person(world: World) -> None:
    async with world.running() as bot:
        plain = await bot.ask("/settings zone")
        wrong = await bot.ask("/settings zone Nowhere")
        put = await bot.ask("/settings zone tokyo")
        told = await bot.ask("remind me tomorrow at 8 to call Ben")
        others = await bot.ask("remind me tomorrow at 8 to call Ben", user=BEN)
    async with world.running() as bot:
        again = await bot.ask("/settings zone")

    assert "ZoneInfo" not in plain.text
    assert "no time zone" in wrong.text
    assert put.text == again.text
    assert "Asia/Tokyo" in put.text
    assert told.text.endswith("08:00 (Asia/Tokyo).")
    assert "Tokyo" not in others.text


async def test_a_phrase_that_only_looks_is_handed_to_the_model_too(world: World) -> None:
    world.install("notes")
    world.model.say("You wrote nothing about tea.")
    async with world.running() as bot:
        await bot.ask("/use notes")
        looked = await bot.ask("find notes about tea")
        await tap(bot, looked, "Ask the model")
        await said(world, "You wrote nothing about tea.\n\n— notes")
        await settled(bot)

    assert looked.text.startswith("Nothing I keep for you holds “tea”.")
    assert "find notes about tea" in str(world.model.requests[-1]["messages"][-1])
