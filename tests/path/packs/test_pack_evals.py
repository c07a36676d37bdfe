"""A pack's evals: the real path, a scripted model, and nothing of it left behind."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from aouo.agent import side_calls
from aouo.app.local import evaluating
from aouo.app.local.eval_home import Impatient, ScriptedModel, WatchedModel
from aouo.app.local.evaluating import evaluate
from aouo.cli.main import aouo
from aouo.config.file import load_settings
from aouo.facts.errors import PackError
from aouo.facts.transcript import Finished, ModelRequest, UserSaid
from aouo.packs.data import schema_guard
from aouo.packs.evals import cases as evals
from aouo.packs.evals import checks
from aouo.packs.evals.cases import Reply
from aouo.packs.evals.checks import EvalResult
from aouo.packs.evals.process import run_evals
from aouo.packs.load import load_pack
from aouo.plumbing.web import client
from tests.fakes.clock import FastClock
from tests.path.world import ADA, ROOT, WAIT_S, World

Play = Callable[[str], EvalResult]

KEEP = """\
name: a note is kept
start: {entries: [{text: older, created_at: "2026-01-01"}]}
memory: {USER.md: "- Is called Eve."}
steps:
  - say: "keep call the bank"
    model:
      - {say: "One moment.", call: persist, arguments: {action: save, data: {text: call the bank}}}
      - say: "Kept **it**."
    expect:
      reply: Kept it.
      not_reply: "**"
      calls: [{name: persist, arguments: {data: {text: call the bank}}}]
      rows: [{table: entries, count: 2}, {table: entries, where: {text: call the bank}}]
      memory: {USER.md: Eve}
      prompt_bytes_max: 8000
      cost_usd_max: 0.01
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A copy of the sample pack without evals of its own."""
    folder = tmp_path / "notes"
    shutil.copytree(ROOT / "packs" / "notes", folder)
    shutil.rmtree(folder / "evals", ignore_errors=True)
    (folder / "evals").mkdir()
    return folder


async def play(folder: Path, text: str) -> EvalResult:
    pack = load_pack(folder).pack
    found, problems = evals._parse(text, "evals/a.yml")
    assert problems == ()
    assert pack is not None
    assert found is not None
    return await evaluate(pack, found)


def wrong(result: EvalResult) -> str:
    return "\n".join(result.steps[-1].wrong)


async def test_an_eval_passes_through_the_real_guard_tools_and_chat(notes: Path) -> None:
    result = await play(notes, KEEP)

    assert wrong(result) == ""
    assert result.outcome == "passed"
    assert result.steps[0].model_calls == 2
    assert 0 < result.steps[0].cost_usd < 0.01


async def test_each_eval_begins_with_nothing_but_what_it_says(notes: Path) -> None:
    await play(notes, KEEP)
    again = await play(notes, KEEP)

    assert again.outcome == "passed"


async def test_a_scripted_call_that_the_pack_may_not_make_fails_the_eval(notes: Path) -> None:
    """An answer that says "kept" proves nothing when the call was refused."""
    text = """
steps:
  - say: hi
    model: [{call: fetch, arguments: {url: "https://example.com"}}, {say: Fetched.}]
    expect: {reply: Fetched.}
"""
    result = await play(notes, text)
    expected = await play(notes, text.replace("reply: Fetched.", "failed_calls: fetch"))

    assert "the scripted call fetch to work; it failed" in wrong(result)
    assert expected.outcome == "passed"


async def test_a_turn_that_asks_the_model_more_or_less_than_scripted_fails(notes: Path) -> None:
    less = await play(notes, "steps: [{say: hi, model: [{say: a}, {say: b}]}]")
    more = await play(notes, "steps: [{say: hi, model: [{call: skill_view}]}]")

    assert "asked 2 times, as `model` is written; it was asked once" in wrong(less)
    assert "asked once, as `model` is written; it was asked 2 times" in wrong(more)


async def test_what_fails_ends_the_eval_and_is_told_with_what_there_was(notes: Path) -> None:
    result = await play(
        notes,
        """
steps:
  - say: "keep a"
    model: [{call: persist, arguments: {action: save, data: {text: a}}}, {say: Kept.}]
    expect: {reply: Saved, rows: [{table: entries, where: {text: b}}]}
  - say: never
""",
    )
    step = result.steps[-1]

    assert result.outcome == "failed"
    assert len(result.steps) == 1
    assert step.line == 3
    assert step.wrong[0] == "a reply with 'Saved'"
    assert step.said == ("Kept.\n\n✓ saved 1 in entries",)
    assert step.calls == ('persist {"action": "save", "data": {"text": "a"}}',)
    assert '"text": "a"' in step.rows[0]


async def test_a_question_is_answered_by_a_tap_on_its_label(notes: Path) -> None:
    result = await play(
        notes,
        """
steps:
  - say: which?
    model: [{call: clarify, arguments: {message: "Which one?", options: [Red, Blue]}}]
    expect: {reply: "Which one?", buttons: [Red, Blue], calls: [clarify]}
  - tap: Blue
    model: [{say: Blue it is.}]
    expect: {reply: [→ Blue, Blue it is.]}
""",
    )

    assert wrong(result) == ""


async def test_a_button_that_is_not_there_is_told_with_those_that_are(notes: Path) -> None:
    result = await play(
        notes,
        """
steps:
  - say: which?
    model: [{call: clarify, arguments: {message: "Which one?", options: [Red, Blue]}}]
  - tap: Green
""",
    )
    none = await play(notes, "steps: [{tap: Green}]")

    assert "the newest message with buttons has 'Red', 'Blue'" in wrong(result)
    assert "there is no message with buttons" in wrong(none)


async def test_a_command_needs_no_model(notes: Path) -> None:
    steps = "\n".join('  - say: "/id"\n    expect: {reply: "1001"}' for _ in range(5))
    result = await play(notes, f"steps:\n{steps}")

    assert wrong(result) == ""


async def test_what_telegram_s_limits_would_make_an_eval_wait_is_cut_short() -> None:
    """By a clock that stands still but for what the sleeper is woken by."""
    clock = FastClock(speed=0.001)
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        sleeper = group.create_task(Impatient(clock).sleep(1.0))
        jumps = 0
        while not sleeper.done():
            clock.jump(0.01)
            jumps += 1
            await asyncio.sleep(0)

    assert jumps < 10


async def test_rows_of_a_table_that_is_not_there_are_told(notes: Path) -> None:
    before = await play(notes, "start: {entris: [{}]}\nsteps: [{say: hi}]")
    after = await play(
        notes, "steps: [{say: hi, model: [{say: a}], expect: {rows: [{table: entris}]}}]"
    )

    assert "there is no table 'entris' in this pack; did you mean" in wrong(before)
    assert before.steps[0].step == 0
    assert "there is no table 'entris'" in wrong(after)


async def test_a_pack_that_others_stand_beside_is_chosen(notes: Path) -> None:
    pack = load_pack(notes).pack
    found, _ = evals._parse(KEEP, "evals/a.yml")
    assert pack is not None
    assert found is not None
    result = await evaluate(pack, found, beside=[ROOT / "packs" / "vocab"])

    assert wrong(result) == ""


async def test_a_real_model_answers_only_when_it_may(notes: Path, world: World) -> None:
    """`model: real` takes the owner's models, and nothing else of the owner's settings."""
    text = "model: real\nsteps: [{say: Hello, expect: {reply: Indeed, model_calls: 1}}]"
    skipped = await play(notes, text)
    world.model.say("Indeed.")
    world.home.config.write_text(
        json.dumps(
            {
                "telegram": {"bot_token": "123:secret", "allowed_user_ids": [ADA]},
                "provider": {"backend": "fake", "model": "m"},
                "providers": {"fake": {"base_url": world.model.base_url, "api_key": "key"}},
            }
        )
    )
    pack = load_pack(notes).pack
    found, _ = evals._parse(text, "evals/a.yml")
    assert pack is not None
    assert found is not None
    result = await evaluate(pack, found, real=load_settings(world.home.path, {}).settings)

    assert (skipped.outcome, skipped.why) == ("skipped", "needs a real model: --real")
    assert result.outcome == "passed"
    assert world.emulator.world.updates.allowed == []  # nobody polled the owner's Telegram


def test_the_command_says_which_eval_failed_where_and_why(notes: Path, tmp_path: Path) -> None:
    runner = CliRunner(env={"AOUO_HOME": str(tmp_path / "home")})
    (notes / "evals" / "keep.yml").write_text(KEEP)
    bad = "steps:\n  - say: hi\n    model: [{say: Hello.}]\n    expect: {reply: Bye}\n"
    (notes / "evals" / "bad.yml").write_text(bad)
    all_of_them = runner.invoke(aouo, ["pack", "test", str(notes)])
    one = runner.invoke(aouo, ["pack", "test", str(notes), "a note is kept", "--json"])
    unknown = runner.invoke(aouo, ["pack", "test", str(notes), "nothing"])
    (notes / "evals" / "bad.yml").write_text("stps: []")
    unsound = runner.invoke(aouo, ["pack", "test", str(notes)])

    assert all_of_them.exit_code == 1
    assert "✗ bad (" in all_of_them.output
    assert (
        "step 1, evals/bad.yml:2: say 'hi'\n      expected a reply with 'Bye'\n      said: Hello."
    ) in all_of_them.output
    assert "✓ a note is kept (" in all_of_them.output
    assert all_of_them.output.endswith("1 passed, 1 failed.\n")
    assert one.exit_code == 0
    assert [each["outcome"] for each in json.loads(one.output)["evals"]] == ["passed"]
    assert unknown.exit_code == 1
    assert unsound.exit_code == 1
    assert "evals/bad.yml:1: stps: unknown key" in unsound.output
    assert not (tmp_path / "home" / "data").exists()


def test_who_writes_a_pack_needs_no_sound_configuration(notes: Path, tmp_path: Path) -> None:
    (notes / "evals" / "keep.yml").write_text(KEEP)
    (tmp_path / "config.json").write_text('{"nonsense')
    told = CliRunner(env={"AOUO_HOME": str(tmp_path)}).invoke(aouo, ["pack", "test", str(notes)])

    assert told.exit_code == 0
    assert told.output.endswith("passed.\n")


def test_a_pattern_that_would_be_looked_for_for_ever_is_told_with_its_file(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_LIMIT_S", 0.1)
    words = "a" * 60
    (notes / "evals" / "slow.yml").write_text(
        f"steps:\n  - say: hi\n    model: [{{say: {words}!}}]\n"
        "    expect: {reply_matches: ['(a+)+$', b]}\n"
    )

    told = CliRunner(env={"AOUO_HOME": str(tmp_path)}).invoke(aouo, ["pack", "test", str(notes)])

    assert told.exit_code == 1
    assert "evals/slow.yml:2: say 'hi'" in told.output
    assert "expected a reply that matches '(a+)+$', found within 0.1 s; write it" in told.output


@pytest.mark.parametrize("wish", ["auto", "off"])
def test_tools_run_in_evals_as_the_owner_lets_them_run(
    wish: str, notes: Path, tmp_path: Path
) -> None:
    """Where nothing confines and the owner said `off`, an upgrade has to pass its evals too."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text(json.dumps({"security": {"sandbox": wish}}))
    outside = tmp_path / "outside.txt"
    (notes / "tools").mkdir()
    (notes / "tools" / "reach.py").write_text(
        f"def reach() -> str:\n    'Write.'\n    open({str(outside)!r}, 'w').close()\n"
        "    return 'written'\n"
    )
    manifest = (notes / "pack.yml").read_text()
    (notes / "pack.yml").write_text(manifest.replace("tools: [", "tools: [pack, "))
    (notes / "evals" / "reach.yml").write_text(
        "steps:\n  - say: hi\n    model: [{call: notes__reach}, {say: done}]\n"
        "    expect: {calls: [notes__reach]}\n"
    )

    told = CliRunner().invoke(aouo, ["--home", str(home), "pack", "test", str(notes)])

    assert outside.exists() == (wish == "off"), told.output


async def test_a_model_that_never_answers_ends_the_eval(
    notes: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "_LIMIT_S", 1.0)
    world.model.stall()
    config = {
        "provider": {"backend": "fake", "model": "m"},
        "providers": {"fake": {"base_url": world.model.base_url, "api_key": "key"}},
    }
    world.home.config.write_text(json.dumps(config))
    pack = load_pack(notes).pack
    found, _ = evals._parse("model: real\nsteps: [{say: Hello}]", "evals/a.yml")
    assert pack is not None
    assert found is not None
    result = await evaluate(pack, found, real=load_settings(world.home.path, {}).settings)

    assert wrong(result) == "an end within 1 s"


async def test_what_the_runtime_asks_for_itself_is_no_part_of_the_script() -> None:
    """Titles and summaries would use up an answer that the eval meant for the person."""
    model = ScriptedModel()
    model.follow([Reply(say="Kept.")])
    watched = WatchedModel(model)
    aside = ModelRequest(f"Name it.\n{side_calls._PROMPTS['material']}", (UserSaid("a"),), ())
    turn = ModelRequest("You are Notes.", (UserSaid("a"),), ())
    said = [
        event.said.text
        for request in (aside, turn)
        async for event in watched.stream(request)
        if isinstance(event, Finished)
    ]

    assert said == ["NONE", "Kept."]
    assert watched.requests == 1


async def test_the_person_s_language_is_the_one_that_telegram_tells(world: World) -> None:
    person = await world.people.create_user("Eve", language="de-at")
    await world.people.say(person, person, "Hallo")
    update = world.emulator.world.updates.head(1)[0]

    assert update["message"]["from"]["language_code"] == "de-at"


async def test_evals_run_beside_a_running_bot_without_disturbing_it(
    world: World, notes: Path
) -> None:
    """As an upgrade runs them: in a process of their own."""
    (notes / "evals" / "keep.yml").write_text(KEEP)
    world.install("vocab")
    async with world.running() as running:
        results = await run_evals(notes)
        answer = await running.ask("Hello")
        jobs = await running.rows("SELECT count(*) AS n FROM jobs")

    assert [(result.name, result.outcome) for result in results] == [("a note is kept", "passed")]
    assert answer.text == "Hello"
    assert jobs == [{"n": 1}]


async def test_evals_of_a_broken_pack_are_not_run(notes: Path) -> None:
    (notes / "pack.yml").write_text("name: Notes")
    with pytest.raises(PackError, match="not sound"):
        await run_evals(notes)


async def test_evals_that_do_not_end_are_ended(notes: Path) -> None:
    (notes / "evals" / "keep.yml").write_text(KEEP)
    with pytest.raises(PackError, match="did not end within"):
        await run_evals(notes, limit_s=0.05)


async def test_a_scripted_eval_reaches_no_host_even_one_that_its_pack_may_ask(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever tries a stranger's pack has not agreed to its network. Source: docs/packs.md."""
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(f"{host}:{port}")
        return []

    monkeypatch.setattr(client, "system_lookup", lookup)
    manifest = (notes / "pack.yml").read_text()
    wider = manifest.replace("tools: [", "network: ['*']\n  tools: [fetch, ")
    (notes / "pack.yml").write_text(wider)
    fetch = "- {call: fetch, arguments: {url: 'https://%s/'}}"
    calls = "\n      ".join(fetch % host for host in ("example.com", "93.184.215.14"))
    result = await play(
        notes,
        f"steps:\n  - say: look\n    model:\n      {calls}\n      - say: done\n"
        "    expect: {failed_calls: [fetch, fetch]}\n",
    )

    assert wrong(result) == ""
    assert wider != manifest
    assert asked == []


async def test_a_trigger_of_an_untried_pack_does_not_run_for_ever_in_its_eval(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_guard, "SCHEMA_S", 0.05)
    with (notes / "schema.sql").open("a") as file:
        file.write(
            "CREATE TABLE IF NOT EXISTS sums (total INTEGER);\n"
            "CREATE TRIGGER IF NOT EXISTS forever AFTER INSERT ON entries BEGIN\n"
            "  INSERT INTO sums SELECT max(i) FROM"
            " (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n);\n"
            "END;\n"
        )
    async with asyncio.timeout(30):
        result = await play(notes, KEEP)

    assert "start.entries: a trigger ran too long" in wrong(result)
