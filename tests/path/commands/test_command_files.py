"""Commands in the owner's `commands/*.md`. Source: seed 000, kernel A6 (workspace commands)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from structlog.testing import capture_logs

from aouo.app.status import state_of
from aouo.guard.sandbox.levels import Refused
from tests.fakes.model_server import Body, Reply, Says, unavailable, words_of
from tests.guard.sandbox.places import HERE, processes, until_gone
from tests.path.looking import asked, cut_off, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

SLEPT_S = 58.123
"""So long that no other process sleeps so."""
SCRIPT = """#!/bin/sh
echo "session $SESSION_ID"
for word in "$@"; do echo "[$word]"; done
echo "oh" >&2
cat "$WORKSPACE/seen.txt"
touch "$WORKSPACE/made" 2>/dev/null && echo "it can write"
cat "$WORKSPACE/../config.json" 2>/dev/null && echo "it can read"
touch "$TMPDIR/made" && echo done
"""


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    world.install("notes")


def write(world: World, name: str, head: str, body: str = "") -> None:
    folder = world.home.path / "commands"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\n{head}\n---\n{body}\n")


def script(world: World, name: str, text: str, *, mode: int = 0o755) -> Path:
    file = world.home.path / "commands" / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(text)
    file.chmod(mode)
    return file


async def menu(bot: Running) -> dict[str, str]:
    calls = await bot.people.calls("setMyCommands")
    found = [call["params"]["commands"] for call in calls if call["status"] == 200]
    return {one["command"]: one["description"] for one in found[-1]} if found else {}


async def test_a_preset_is_said_with_what_follows_the_command_under_a_heading(
    world: World,
) -> None:
    write(world, "Daily-Brief", "description: The day in three lines", "Sum my day up.")
    world.model.say("All quiet.")
    async with world.running() as bot:
        answer = await bot.ask('/daily_brief it\'s "short"')
        (row,) = await bot.rows("SELECT text FROM messages WHERE role = 'user'")

    assert answer.text == "All quiet."
    assert row["text"] == (
        'Sum my day up.\n\n# What was written after the command\n\nit\'s "short"'
    )


async def test_a_line_that_is_passed_through_is_said_as_it_was_typed(world: World) -> None:
    write(world, "raw", "type: pipeline\npassthrough: true")
    write(world, "pipe", "type: pipeline", "Do this.")
    async with world.running() as bot:
        await bot.ask("/raw  --a=b 'x")
        await bot.ask("/pipe")
        rows = await bot.rows("SELECT text FROM messages WHERE role = 'user' ORDER BY id")

    assert [row["text"] for row in rows] == ["/raw --a=b 'x", "Do this."]


async def test_a_file_counts_as_soon_as_it_is_saved_and_is_in_help_and_menu(
    world: World,
) -> None:
    async with world.running() as bot:
        unknown = await bot.ask("/brief")
        write(world, "brief", "description: The day", "Sum my day up.")
        world.model.say("All quiet.")
        answer = await bot.ask("/brief")
        told = await bot.ask("/help")

        async def listed() -> bool:
            return "brief" in await menu(bot)

        await eventually(listed)
        write(world, "brief", "description: The day", "Sum up my day, please: in rhyme.")
        await bot.ask("/brief")
        rows = await bot.rows("SELECT text FROM messages WHERE role = 'user' ORDER BY id")
        (world.home.path / "commands" / "brief.md").unlink()
        gone = await bot.ask("/brief")

    assert unknown.text == gone.text == "I do not know /brief. /help lists what I know."
    assert answer.text == "All quiet."
    assert "/brief" in told.text
    assert rows[-1]["text"] == "Sum up my day, please: in rhyme."


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


WRITES = """#!/bin/sh
touch "$WORKSPACE/made" 2>/dev/null && echo "touched"
(echo x > "$WORKSPACE/made") 2>/dev/null && echo "made"
(echo x >> "$0") 2>/dev/null && echo "added"
rm -f "$0" 2>/dev/null && echo "removed"
mv "$0" "$0.moved" 2>/dev/null && echo "moved"
ln -s / "$WORKSPACE/link" 2>/dev/null && echo "linked"
mkdir "$WORKSPACE/folder" 2>/dev/null && echo "a folder"
(true > "$0") 2>/dev/null && echo "emptied"
python3 -c 'import pathlib; pathlib.Path("made").touch()' 2>/dev/null && echo "touched by python"
cd "$TMPDIR" && python3 -c 'import pathlib; pathlib.Path("made").touch()' && touch made more &&
[ -f made ] && [ -f more ] && cp made copy && echo "temporary"
exit 0
"""


@pytest.mark.parametrize("base", ["", "/dev/shm", "/var/tmp"])
@pytest.mark.parametrize("level", HERE)
async def test_a_script_writes_nothing_in_its_folder_and_is_not_told_that_it_did(
    world: World, level: str, base: str
) -> None:
    """At each level of this machine, wherever the home lies. Source: issue 44, 18."""
    with TemporaryDirectory(dir=base or world.home.path) as name:
        folder = Path(name)
        folder.chmod(0o755)  # noqa: ASYNC240 - nobody else runs here
        (world.home.path / "commands").symlink_to(folder)
        write(world, "pen", "type: local\nhandler: pen.sh")
        file = script(world, "pen.sh", WRITES)
        async with world.running() as bot:
            bot.app.generations.now.sandbox._level = HERE[level]
            answer = await bot.ask("/pen")

        assert answer.text == "temporary"
        assert file.read_text() == WRITES
        assert names(folder) == {"pen.md", "pen.sh"}


async def test_a_script_runs_in_the_sandbox_and_what_it_says_is_the_answer(world: World) -> None:
    write(world, "disk", "type: local\nhandler: disk.sh\ndescription: Room left")
    script(world, "disk.sh", SCRIPT)
    script(world, "seen.txt", "seen")
    world.model.say("Hello.")
    async with world.running() as bot:
        await bot.ask("hi")
        (row,) = await bot.rows("SELECT session_id FROM conversation_routes")
        answer = await bot.ask("/disk 'a b' c --day=Monday --quiet d")
        bad = await bot.ask("/disk 'a b")

    assert (
        answer.text
        == f"session {row['session_id']}\n[a b]\n[c]\n[--day=Monday]\n[--quiet]\n[d]\noh\nseendone"
    )
    assert "a quote is open" in bad.text
    assert len(world.model.requests) == 1
    assert not (world.home.path / "commands" / "made").exists()


async def test_what_a_script_says_at_length_comes_as_a_file_and_its_status_is_told(
    world: World,
) -> None:
    write(world, "long", "type: local\nhandler: bin/long.sh")
    script(world, "bin/long.sh", "#!/bin/sh\nseq 1 5000\n")
    write(world, "fails", "type: local\nhandler: fails.sh")
    script(world, "fails.sh", "#!/bin/sh\necho no >&2\nexit 3\n")
    write(world, "silent", "type: local\nhandler: silent.sh")
    script(world, "silent.sh", "#!/bin/sh\nexit 0\n")
    async with world.running() as bot:
        long = await bot.ask("/long")
        fails = await bot.ask("/fails")
        silent = await bot.ask("/silent")

    assert long.raw["document"]["file_name"] == "long.txt"
    assert long.text.startswith("1\n2\n3\n")
    assert fails.text == "no\n\nIt ended with status 3."
    assert silent.text == "/silent is done; it said nothing."


async def test_where_nothing_confines_a_script_it_is_refused(world: World) -> None:
    write(world, "disk", "type: local\nhandler: disk.sh")
    script(world, "disk.sh", SCRIPT)
    async with world.running() as bot:
        bot.app.generations.now.sandbox._level = Refused("there is no bubblewrap", "")
        owner = await bot.ask("/disk")
        other = await bot.ask("/disk", user=BEN)

    assert "only in the sandbox" in owner.text
    assert "there is no bubblewrap" in owner.text
    assert other.text == "/disk cannot be used now; this bot's owner has to mend it."


async def test_problems_are_named_with_file_and_field_and_the_rest_works(world: World) -> None:
    write(world, "new", "description: mine", "Begin.")
    write(world, "alone", "session: apart", "Think about it alone.")
    write(world, "gone", "type: local\nhandler: gone.sh")
    write(world, "typo", "descripton: x\ntype: remote", "Text.")
    write(world, "brief", "", "Sum my day up.")
    world.model.say("All quiet.")
    with capture_logs() as logs:
        async with world.running() as bot:
            fresh = await bot.ask("/new")
            alone = await bot.ask("/alone")
            others = await bot.ask("/alone", user=BEN)
            gone = await bot.ask("/gone")
            brief = await bot.ask("/brief")
            told = await bot.ask("/help")
            state = await state_of(bot.app)

    assert fresh.text == "Started a fresh session."
    assert alone.text == (
        "/alone cannot be used: commands/alone.md:2: session: must be current or isolated, and is "
        "'apart'"
    )
    assert others.text == "/alone cannot be used now; this bot's owner has to mend it."
    assert "commands/gone.sh is not there" in gone.text
    assert brief.text == "All quiet."
    assert "/alone" not in told.text
    problems = [log["problem"] for log in logs if log["event"] == "command_file_broken"]
    assert problems == [
        "commands/alone.md:2: session: must be current or isolated, and is 'apart'",
        "commands/gone.md: handler: commands/gone.sh is not there.",
        "commands/new.md: command: /new is one of aouo's own; choose another name",
        "commands/typo.md:3: type: must be agent, pipeline or local, and is 'remote'",
        'commands/typo.md:2: descripton: unknown key; did you mean "description"?',
    ]
    assert state["broken_commands"] == problems


async def test_a_script_that_leads_out_of_the_folder_is_not_run(
    world: World, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text("#!/bin/sh\necho out\n")
    outside.chmod(0o755)
    write(world, "out", "type: local\nhandler: ../../outside.sh")
    write(world, "link", "type: local\nhandler: link.sh")
    (world.home.path / "commands" / "link.sh").symlink_to(outside)
    async with world.running() as bot:
        out = await bot.ask("/out")
        link = await bot.ask("/link")

    assert "must be a file below the folder commands/" in out.text
    assert "leads out of the folder" in link.text


async def test_a_script_that_hangs_is_stopped_by_its_person(world: World) -> None:
    write(world, "hangs", "type: local\nhandler: hangs.sh")
    script(world, "hangs.sh", f"#!/bin/sh\nsleep {SLEPT_S}\n")
    world.model.say("Hello.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/hangs")

        async def at_work() -> bool:
            return bool(processes(f"sleep\0{SLEPT_S}"))

        await eventually(at_work)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        answer = await bot.ask("hi")
        await settled(bot)

    assert answer.text == "Hello."
    await until_gone(f"sleep\0{SLEPT_S}")


async def test_one_in_a_session_of_its_own_holds_nobody_up_and_its_answer_can_be_answered(
    world: World,
) -> None:
    """Design §3.3: only the result enters the conversation, between its turns."""
    write(world, "brief", "session: isolated", "Sum my day up.")
    said_last: list[str] = []

    def answer(body: Body) -> Reply | str:
        asked = words_of(body["messages"][-1])
        said_last.append(asked)
        if asked.startswith("Sum my day up."):
            return "All quiet."
        return "Because nobody wrote." if asked == "why?" else "Hello."

    world.model.script = answer
    async with world.running() as bot:
        await bot.ask("hi")
        at_once = await bot.ask("/brief today")
        await said(world, "All quiet.\n\n— /brief")
        await settled(bot)
        later = await bot.ask("why?")
        sessions = await bot.rows("SELECT id FROM sessions")

    assert at_once.text.startswith("I am at work on /brief;")
    assert "today" in next(one for one in said_last if one.startswith("Sum"))
    assert later.text == "Because nobody wrote."
    assert "All quiet." in str(world.model.requests[-1]["messages"])
    assert len(sessions) == 2


async def test_one_in_a_session_of_its_own_is_none_off_the_record(world: World) -> None:
    write(world, "brief", "session: isolated", "Sum my day up.")
    async with world.running() as bot:
        await bot.ask("/otr")
        told = await bot.ask("/brief")

    assert told.text.startswith("Off the record I run nothing beside our conversation")
    assert world.model.requests == []


async def test_one_in_a_session_of_its_own_waits_for_a_pack_to_be_chosen(world: World) -> None:
    write(world, "brief", "session: isolated", "Sum my day up.")
    world.install("vocab")
    world.model.say("All quiet.")
    async with world.running() as bot:
        asked = await bot.ask("/brief")
        notes = next(button for button in asked.buttons if button.text == "📝 Notes")
        await bot.people.tap(ADA, ADA, asked.id, notes.data)
        await said(world, "All quiet.\n\n— notes · /brief")

    assert "It waits" in asked.text


async def test_one_in_a_session_of_its_own_survives_a_kill_and_tells_its_failure(
    world: World,
) -> None:
    write(world, "brief", "session: isolated", "Sum my day up.")
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.reply(Says("Slowly it comes", chunks=5, stall_after=1))
    async with world.running() as bot:
        await bot.ask("/brief")
        await asked(world, 1)
        await cut_off(bot)
    world.model.say("All quiet.")
    async with world.running() as bot:
        await said(world, "All quiet.\n\n— /brief")
        await settled(bot)
        world.model.script = unavailable
        await bot.ask("/brief")

        async def told() -> bool:
            found = await bot.people.messages(ADA)
            return any(one.text.startswith("This did not work: ") for one in found)

        await eventually(told)
        await settled(bot)
