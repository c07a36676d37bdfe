"""Tools that a pack brings: answered in the chat, nobody else's, in a process of their own.

Source: issue 5 "Pack tools".
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.emulator.chats import MediaKind
from aouo.guard.sandbox.levels import Refused
from aouo.plumbing.home import Home
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _NOTE
from tests.guard.sandbox.places import HERE, processes, until_gone
from tests.path.lives import place
from tests.path.looking import eventually, said
from tests.path.world import ADA, BEN, Running, World

MANIFEST = """\
name: desk
version: 1.0.0
display_name: Desk
schema: {scope: person}
permissions:
  tools: [msg, pack]
  external_commands: [shout, upper]
runtime:
  external_tools:
    - name: shout
      command: tools/shout.sh
      description: Say it loudly.
    - name: upper
      command: python tools/_upper.py
      description: Make it upper case. Reads only.
      parameters: {properties: {text: {type: string}}, required: [text]}
"""
TOOLS = '''\
"""Sums."""

import os
from pathlib import Path


def total(numbers: list[float], unit: str = "EUR") -> dict[str, float]:
    """Add numbers up.

    Args:
        numbers: what to add
    """
    print("this is no answer")
    return {unit: sum(numbers)}


async def remember(line: str) -> str:
    """Keep a line."""
    with open("kept.txt", "a") as file:
        file.write(line + "\\n")
    return Path("kept.txt").read_text()


def look() -> str:
    """Look at what is kept. Reads only."""
    return Path("kept.txt").read_text() if Path("kept.txt").exists() else "nothing"


def meddle() -> str:
    """Claims to only look. Reads only."""
    Path("kept.txt").write_text("changed")
    return "changed"


def broken() -> str:
    """Fail."""
    raise ValueError("no such word")


def hang() -> str:
    """Never come back."""
    Path("pid.txt").write_text(str(os.getpid()))
    os.fork()
    os.setsid()
    while True:
        pass


def odd(kind: str) -> object:
    """Return what is no plain JSON."""
    import dataclasses, datetime, decimal, enum, uuid

    Point = dataclasses.make_dataclass("Point", ["x", "at"])
    day = datetime.date(2026, 1, 31)
    return {
        "set": {"b", "a"},
        "mixed": [{1, "a"}, frozenset([2, 1])],
        "times": {day: [datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC), datetime.time(9)]},
        "exact": [decimal.Decimal("2.50"), Path("a/b"), uuid.UUID(int=1), (1, 2)],
        "point": Point(1, day),
        "enum": enum.Enum("Color", {"RED": "red"}).RED,
        "bytes": {"deep": [b"x"]},
        "nan": [float("nan")],
        "infinity": float("-inf"),
        "decimal": decimal.Decimal("NaN"),
        "object": object(),
    }[kind]
'''


def replies(home: Home) -> Path:
    """A pack with tools of every kind."""
    folder = home.packs / "desk"
    (folder / "tools").mkdir(parents=True)
    (folder / "pack.yml").write_text(MANIFEST)
    (folder / "tools" / "sums.py").write_text(TOOLS)
    shout = folder / "tools" / "shout.sh"
    shout.write_text('#!/bin/sh\nread -r line\nprintf \'{"got": %s, "loud": true}\' "$line"\n')
    shout.chmod(0o755)
    (folder / "tools" / "_upper.py").write_text(
        "import json, sys\nprint(json.dumps(json.load(sys.stdin)['input']['text'].upper()))\n"
    )
    return folder


def results(world: World) -> list[str]:
    """What the model read as results, in its last request."""
    messages = world.model.requests[-1]["messages"]
    return [words_of(m) for m in messages if m["role"] == "tool"]


def shown(world: World, request: int = 0) -> dict[str, Any]:
    tools = world.model.requests[request].get("tools", [])
    return {item["function"]["name"]: item["function"] for item in tools}


async def test_a_value_of_a_wrong_type_inside_a_list_never_reaches_the_function(
    world: World,
) -> None:
    replies(world.home)
    world.model.calls(CallPart("desk__total", {"numbers": [1.5, "two"]}))
    world.model.say("Not that.")
    async with world.running() as bot:
        await bot.ask("Add up")

    assert results(world) == [
        "Wrong arguments for desk__total: arguments: numbers[1] has to be of type number."
    ]


async def test_a_packs_function_answers_in_the_chat(world: World) -> None:
    replies(world.home)
    world.model.call("desk__total", {"numbers": [1.5, 2]})
    world.model.say("3.5")
    async with world.running() as bot:
        answer = await bot.ask("1.5 + 2?")

    assert answer.text == "3.5"
    assert results(world) == ['{"EUR": 3.5}']
    assert shown(world)["desk__total"] == {
        "name": "desk__total",
        "description": "Add numbers up.",
        "parameters": {
            "type": "object",
            "properties": {
                "numbers": {
                    "type": "array",
                    "items": {"type": "number"},
                    "description": "what to add",
                },
                "unit": {"type": "string", "default": "EUR"},
            },
            "required": ["numbers"],
            "additionalProperties": False,
        },
    }


async def test_a_function_keeps_files_in_the_persons_own_folder(world: World) -> None:
    replies(world.home)
    world.model.call("desk__remember", {"line": "milk"})
    world.model.call("desk__look", {})
    world.model.say("kept")
    async with world.running() as bot:
        await bot.ask("milk")

    assert results(world) == ["milk\n", "milk\n"]
    (kept,) = world.home.data.rglob("kept.txt")
    assert kept.parent == world.home.pack_folder("desk", f"tg_{ADA}")


async def test_a_packs_commands_read_json_and_write_json(world: World) -> None:
    replies(world.home)
    world.model.call("desk__shout", {"input": {"text": "hey"}})
    world.model.call("desk__upper", {"text": "quiet"})
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("shout")

    shouted, upper = results(world)
    got = json.loads(shouted)
    assert (got["got"]["input"], got["got"]["context"]["pack"]) == ({"text": "hey"}, "desk")
    assert upper == "QUIET"


async def test_a_wrong_argument_and_a_failure_are_read_by_the_model(world: World) -> None:
    replies(world.home)
    world.model.call("desk__total", {"numbers": "1"})
    world.model.call("desk__broken", {})
    world.model.say("sorry")
    async with world.running() as bot:
        await bot.ask("go")

    wrong, broken = results(world)
    assert "numbers has to be of type array" in wrong
    assert broken == "desk__broken failed at tools/sums.py:37: ValueError: no such word"


async def test_a_tool_that_says_it_only_reads_is_held_to_it(world: World) -> None:
    replies(world.home)
    world.model.call("desk__remember", {"line": "milk"})
    world.model.call("desk__meddle", {})
    world.model.say("no")
    async with world.running() as bot:
        await bot.ask("go")

    assert "failed at tools/sums.py:31" in results(world)[1]
    assert world.home.pack_folder("desk", f"tg_{ADA}").joinpath("kept.txt").read_text() == "milk\n"


async def test_what_a_tool_complains_about_off_the_record_is_in_no_log(world: World) -> None:
    """Its words may be the person's. Source: issue 11, number 4."""
    folder = replies(world.home)
    (folder / "tools" / "echo.py").write_text(
        "import sys\n\n\ndef echo(text: str) -> str:\n"
        '    """Say it to everybody. Reads only."""\n'
        "    print(text)\n    print(text, file=sys.stderr)\n    return 'said'\n"
    )
    for words in ("words-for-the-log", "my-very-own-words"):
        world.model.call("desk__echo", {"text": words})
        world.model.say("done")
    with capture_logs() as logs:
        async with world.running() as bot:
            await bot.ask("say it")
            await bot.ask("/otr")
            await bot.ask("say it")

    assert results(world) == ["said", "said"]
    ran = [line["stderr"] for line in logs if line["event"] == "pack_tool_ran"]
    assert ran == ["words-for-the-log\nwords-for-the-log", ""]
    assert "my-very-own-words" not in str(logs)


@pytest.mark.skipif(not HERE, reason="nothing on this machine confines a process")
async def test_a_tool_that_fills_what_is_temporary_is_ended_or_refused_and_the_model_reads_why(
    world: World,
) -> None:
    folder = replies(world.home)
    (folder / "tools" / "flood.py").write_text(
        "import os, tempfile, time\n\n\ndef flood() -> str:\n"
        '    """Make folders."""\n'
        "    for n in range(100_000):\n"
        "        os.mkdir(f'{tempfile.gettempdir()}/{n}')\n"
        "    time.sleep(1000)\n"
    )
    world.model.call("desk__flood", {})
    world.model.say("Too much.")
    async with world.running() as bot:
        await bot.ask("go")

    (read,) = results(world)
    ended = "desk__flood was ended: it put more than 67,108,864 bytes or 10,000 files and folders"
    assert read.startswith(ended) or "No space left on device" in read


async def test_off_the_record_only_tools_that_read_are_there(world: World) -> None:
    replies(world.home)
    world.model.say("hello")
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.ask("hello")

    own = {name for name in shown(world) if name.startswith("desk__")}
    assert own == {"desk__look", "desk__meddle", "desk__upper"}


@pytest.mark.parametrize("permitted", ["msg, pack", "msg, pack, desk__total"])
async def test_another_pack_can_neither_see_nor_call_it(world: World, permitted: str) -> None:
    """Checked at the door: naming it in the manifest opens nothing."""
    replies(world.home)
    other = world.home.packs / "other"
    other.mkdir()
    (other / "pack.yml").write_text(
        f"name: other\nversion: 1.0.0\ndisplay_name: Other\npermissions: {{tools: [{permitted}]}}\n"
    )
    world.model.call("desk__total", {"numbers": [1]})
    world.model.say("no")
    async with world.running() as bot:
        await bot.ask("/use other")
        await bot.ask("try")

    assert "desk__total" not in shown(world)
    assert "There is no tool 'desk__total' here" in results(world)[0]


async def test_stop_ends_the_tool_and_everything_it_started(world: World) -> None:
    replies(world.home)
    world.model.call("desk__hang", {})
    world.model.say("never")
    async with world.running() as bot:
        said = await bot.people.say(ADA, ADA, "hang")
        await eventually(lambda: begun(world.home))
        assert processes(str(world.home.packs))
        await bot.people.say(ADA, ADA, "/stop")
        await bot.people.next_message(ADA, after=said.id)
        await until_gone(str(world.home.packs))


async def begun(home: Home) -> bool:
    return any(home.pack_data.rglob("pid.txt"))


async def test_a_kill_of_the_runtime_ends_the_tool_and_its_outcome_is_unknown(
    tmp_path: Path, runner_port: int
) -> None:
    """Nothing is run twice: the model reads that it has to look, and the person is told."""

    def model(body: Body) -> Reply | str:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"It said: {last['content'][:20]}"
        return Says(calls=(CallPart("desk__hang", {}),))

    async with place(tmp_path / "home", (), model, runner_port=runner_port) as here:
        replies(here.home)
        async with here.alive() as life:
            await here.emulator.client.say(ADA, ADA, "hang")
            await eventually(lambda: begun(here.home))
            assert processes(str(here.home.packs))
            life.stop(signal.SIGKILL)
            await life.gone.wait()
        await until_gone(str(here.home.packs))
        async with here.alive() as life:
            await here.until_said("It said: [outcome unknown")
            life.stop()
            await life.gone.wait()


async def test_files_that_both_lists_open_can_be_used_and_others_not(
    world: World, tmp_path: Path
) -> None:
    folder = replies(world.home)
    for name in ("both", "asked", "opened"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    manifest = (folder / "pack.yml").read_text()
    asked = json.dumps([str(tmp_path / "both"), str(tmp_path / "asked")])
    (folder / "pack.yml").write_text(
        manifest.replace("permissions:\n", f"permissions:\n  files: {asked}\n")
    )
    (folder / "tools" / "files.py").write_text(
        "def peek(name: str) -> str:\n"
        '    """Look into a file."""\n'
        f"    return open({str(tmp_path)!r} + '/' + name + '/a.txt').read()\n"
    )
    opened = [str(tmp_path / "both"), str(tmp_path / "opened")]
    world.config = {"security": {"allowed_paths": opened}}
    for name in ("both", "asked", "opened"):
        world.model.call("desk__peek", {"name": name})
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("look")

    both, *others = results(world)
    assert both == "both"
    assert all("failed at tools/files.py:3" in one for one in others)


async def test_an_owner_can_let_tools_run_unconfined(world: World) -> None:
    replies(world.home)
    world.config = {"security": {"sandbox": "off"}}
    world.model.call("desk__total", {"numbers": [1, 2]})
    world.model.call("desk__upper", {"text": "quiet"})
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("go")
        facts = await bot.runtime.status()

    assert results(world) == ['{"EUR": 3}', "QUIET"]
    assert facts["sandbox"] == "off: tools of packs run unconfined, as security.sandbox says"


async def test_status_says_what_is_enforced_here(world: World) -> None:
    replies(world.home)
    async with world.running() as bot:
        facts = await bot.runtime.status()

    assert facts["sandbox"].startswith(("bubblewrap", "Landlock", "tools of packs are refused"))


async def test_where_nothing_confines_a_tool_the_model_reads_why(world: World) -> None:
    replies(world.home)
    world.config = {"security": {"sandbox": "require"}}
    world.model.call("desk__total", {"numbers": [1]})
    world.model.say("it cannot")
    async with world.running() as bot:
        bot.app.generations.now.sandbox._level = Refused(
            "bubblewrap is not installed", "Install it."
        )
        answer = await bot.ask("1?")

    assert answer.text == "it cannot"
    assert (
        "desk__total cannot run on this machine: bubblewrap is not installed." in results(world)[0]
    )


READING = '''\
from pathlib import Path


def count(path: str) -> int:
    """Count the letters of a file."""
    return len(Path(path).read_text())


def change(path: str, all: list[str]) -> str:
    """Change a file."""
    Path(path).write_text("changed")
    return "changed"


def siblings(path: str) -> list[str]:
    """What lies beside a file. Reads only."""
    return [entry.read_text() for entry in Path(path).parent.iterdir()]
'''


WEIGHING = '''\
"""Weighs files."""

from pathlib import Path


def weigh(path: str) -> int:
    """Say how many bytes a file has. Reads only."""
    return len(Path(path).read_bytes())
'''


async def sent(world: World, bot: Running, text: str, user: int = ADA) -> str:
    """Send a file; what the model calls it."""
    world.model.say("Got it.")
    before = await bot.people.send_file(user, user, "document", text.encode(), name="a.txt")
    await bot.people.next_message(user, after=before.id, contains="Got it.")
    rows = await bot.rows("SELECT path FROM media ORDER BY job_id DESC LIMIT 1")
    return f"sent/{Path(rows[0]['path']).name}"


@pytest.mark.parametrize("level", HERE)
async def test_a_file_that_was_sent_here_is_open_to_a_packs_tool_for_reading(
    world: World, level: str
) -> None:
    folder = replies(world.home)
    (folder / "tools" / "reading.py").write_text(READING)
    async with world.running() as bot:
        bot.app.generations.now.sandbox._level = HERE[level]
        await sent(world, bot, "another file")
        name = await sent(world, bot, "eleven char")
        told = [words_of(m) for m in world.model.requests[-1]["messages"][1:]]
        world.model.call("desk__count", {"path": name})
        world.model.call("desk__change", {"path": name, "all": [name]})
        world.model.call("desk__siblings", {"path": name})
        world.model.call("desk__upper", {"text": name})
        world.model.say("done")
        await bot.ask("go")
        (file,) = world.home.media.rglob(name.removeprefix("sent/"))

    counted, changed, beside, upper = results(world)
    assert any(f"path: {name}]" in line for line in told)
    assert counted.startswith('<untrusted source="desk__count"')
    assert counted.splitlines()[1] == "11"
    assert "failed at tools/reading.py:11" in changed
    assert "another file" not in beside
    assert str(file.resolve()).upper() in upper.splitlines()
    assert file.read_text() == "eleven char"


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("voice", "[voice message, 1 s; path: {}; what was said:]\nbuy milk"),
        ("video_note", "[video message, 1 s; path: {}; the picture was not seen; what was said:]"),
        ("audio", "[audio song.mp3, 1 s; path: {}; what was heard in it:]"),
    ],
)
async def test_a_sound_that_was_heard_is_open_to_a_packs_tool_too(
    world: World, kind: MediaKind, line: str
) -> None:
    """Seed 000: a voice file has its path. The words are there as without such a tool."""
    folder = replies(world.home)
    (folder / "tools" / "reading.py").write_text(WEIGHING)
    async with ModelService(profile("groq"), api_key="key") as ears:
        ears.say("buy milk")
        world.config = {
            "stt": {"backend": "groq"},
            "groq": {"base_url": ears.url, "api_key": "key"},
        }
        async with world.running() as bot:
            world.model.say("Got it.")
            await bot.people.send_file(ADA, ADA, kind, _NOTE, name="song.mp3")
            await said(world, "Got it.")
            rows = await bot.rows("SELECT path FROM media")
            name = f"sent/{Path(rows[0]['path']).name}"
            world.model.call("desk__weigh", {"path": name})
            world.model.say("done")
            await bot.ask("go")

    asked = words_of(world.model.requests[0]["messages"][-1])
    assert asked.startswith(line.format(name))
    assert str(len(_NOTE)) in results(world)[0]


async def test_a_file_that_was_sent_to_somebody_else_is_not(world: World) -> None:
    folder = replies(world.home)
    (folder / "tools" / "reading.py").write_text(READING)
    async with world.running() as bot:
        name = await sent(world, bot, "my diary")
        (file,) = world.home.media.rglob(name.removeprefix("sent/"))
        paths = [name, str(file), f"sent/../tg_{ADA}/{file.name}", f"../../../media/{file}"]
        world.model.calls(*(CallPart("desk__count", {"path": path}) for path in paths))
        world.model.say("no")
        await bot.ask("count Ada's", user=BEN)

    here, *elsewhere = results(world)
    assert "failed at tools/reading.py:6: FileNotFoundError" in here
    assert all("closed to tools" in one or "FileNotFoundError" in one for one in elsewhere)


async def test_where_no_tool_of_a_pack_takes_a_path_the_model_is_told_so(world: World) -> None:
    replies(world.home)
    async with world.running() as bot:
        await sent(world, bot, "hello")

    assert "you have no tool to open it" in json.dumps(world.model.requests[-1])


RETURNED = [
    ("set", '["a", "b"]'),
    ("mixed", '[["a", 1], [1, 2]]'),
    ("times", '{"2026-01-31": ["2026-01-31T09:00:00+00:00", "09:00:00"]}'),
    ("exact", '["2.50", "a/b", "00000000-0000-0000-0000-000000000001", [1, 2]]'),
    ("point", '{"x": 1, "at": "2026-01-31"}'),
    ("enum", "red"),
    ("bytes", "desk__odd failed at tools/sums.py: it returned bytes, which is no JSON. "),
    ("nan", "desk__odd failed at tools/sums.py: it returned nan, which is no JSON. "),
    ("infinity", "desk__odd failed at tools/sums.py: it returned -inf, which is no JSON. "),
    ("decimal", "desk__odd failed at tools/sums.py: it returned Decimal('NaN'), which is"),
    (
        "object",
        "desk__odd failed at tools/sums.py: it returned object, which is no JSON. Whoever",
    ),
]


async def test_what_a_function_returns_is_made_json_or_told_as_its_authors_mistake(
    world: World,
) -> None:
    replies(world.home)
    world.model.calls(*(CallPart("desk__odd", {"kind": kind}) for kind, _ in RETURNED))
    world.model.say("Done.")
    async with world.running() as bot:
        await bot.ask("go")

    for result, (kind, told) in zip(results(world), RETURNED, strict=True):
        assert result.startswith(told), kind


@pytest.mark.parametrize("number", ["NaN", "1e999"])
async def test_a_number_that_json_does_not_know_is_no_answer_of_a_command(
    world: World, number: str
) -> None:
    folder = replies(world.home)
    answer = f'{{"mean": {number}}}'
    (folder / "tools" / "_upper.py").write_text(f"print('{answer}', end='')")
    world.model.calls(CallPart("desk__upper", {"text": "x"}))
    world.model.say("Done.")
    async with world.running() as bot:
        await bot.ask("go")

    assert results(world) == [f"desk__upper did not answer with JSON but with {answer!r}."]
