"""What the page says of packs is what the terminal says of them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from aouo.cli.main import aouo
from aouo.installer import offers
from aouo.installer.changes import TERMINAL
from tests.fakes.model_server import CallPart
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import settled
from tests.path.world import ADA, ROOT, World


async def told(world: World, *words: str) -> dict[str, object]:
    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    done = await asyncio.to_thread(runner.invoke, aouo, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


async def test_packs_are_those_of_the_terminal(world: World) -> None:
    world.install("notes", "vocab")
    crooked = world.home.packs / "crooked"
    crooked.mkdir()
    (crooked / "pack.yml").write_text("name: crooked\nfoo: <script>\n")
    async with dashboard(world) as shown:
        _, found = await shown.get("/api/packs")
        _, notes = await shown.get("/api/packs/notes")
        _, broken = await shown.get("/api/packs/crooked")
        status, refused = await shown.get("/api/packs/crooked/storage")
    async with resting(world) as shown:
        _, at_rest = await shown.get("/api/packs")
    listed = await told(world, "pack", "list")
    info = await told(world, "pack", "info", "notes")

    assert {key: found[key] for key in listed} == listed
    assert {key: notes[key] for key in info} == info
    assert at_rest == found
    assert (broken["loads"], broken["problems"]) == (False, found["broken"]["crooked"])
    assert (status, refused["error"]) == (409, "The pack crooked does not load; About says why.")


async def test_a_card_says_in_words_what_a_pack_may_and_brings(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        _, notes = await shown.get("/api/packs/notes")

    assert "keep data, for each person apart: entries, weekly_summaries" in notes["may"]
    assert "commands: /daily_note, /search, /review" in notes["brings"]
    assert notes["signed"] == "Not signed: nothing says who made it."


async def test_a_pack_that_changed_or_went_away_in_its_folder_is_told(world: World) -> None:
    for name in ("notes", "vocab"):
        shutil.copytree(ROOT / "packs" / name, world.home.packs / name)
    async with dashboard(world) as shown:
        with (world.home.packs / "notes" / "pack.yml").open("a") as manifest:
            manifest.write("\n# changed\nrequires_core: '>=0.1'\n")
        shutil.rmtree(world.home.packs / "vocab")
        _, found = await shown.get("/api/packs")
        notes = await shown.get("/api/packs/notes")
        vocab = await shown.get("/api/packs/vocab")

    assert found["unread"] == {
        "notes": "changed in the folder; the bot goes on with what it read before",
        "vocab": "not in the folder any more; the bot goes on with it",
    }
    assert (notes[0], notes[1]["unread"]) == (200, found["unread"]["notes"])
    assert vocab[0] == 409
    assert "vocab" in vocab[1]["error"]


async def test_an_upgrade_that_waits_for_a_yes_is_told(world: World) -> None:
    async with dashboard(world) as shown:
        await offers.offer(
            shown.bot.runtime.app.packs.kit, str(ROOT / "packs" / "notes"), TERMINAL, upgrade=""
        )
        _, found = await shown.get("/api/packs")

    (change,) = found["changes"]
    assert (change["pack"], change["state"], change["version"]) == ("notes", "offered", "1.0.0")


# Whatever is asked of a workspace gets facts or a sentence, and nothing is changed by it


KNOWN = st.sampled_from(
    ["entries", "text", "id", "[1]", '["x"]', "", f"tg_{ADA}", "USER.md", "1", "notes", "rising"]
)
ANY = KNOWN | st.text(max_size=20)
NAMES = ["tenant", "table", "column", "how", "text", "sort", "order", "after", "key", "kind"]
STORAGE = ("", "/tables", "/rows", "/cell", "/export")


async def law(shown: Dashboard, hold: Callable[[Callable[..., Any]], None]) -> None:
    """Run a law in a thread, whose requests go out from here."""
    loop = asyncio.get_running_loop()

    def ask(method: str, path: str, query: dict[str, str], body: Any = None) -> tuple[int, bytes]:
        async def asked() -> tuple[int, bytes]:
            address = shown.link.join(URL(path).with_query(query))
            headers = {"X-Aouo-Token": shown.token}
            async with shown.client.request(
                method, address, json=body, headers=headers
            ) as response:
                return response.status, await response.read()

        return asyncio.run_coroutine_threadsafe(asked(), loop).result(30)

    await asyncio.to_thread(hold, ask)


async def test_any_question_about_a_workspace_gets_an_answer_below_500(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        world.model.calls(CallPart("persist", {"action": "save", "data": {"text": "one"}}))
        world.model.say("kept")
        await shown.bot.ask("keep it")
        await settled(shown.bot)

        def hold(ask: Callable[..., tuple[int, bytes]]) -> None:
            @given(
                path=st.sampled_from(STORAGE),
                query=st.dictionaries(st.sampled_from(NAMES), ANY, max_size=8),
            )
            @settings(deadline=None, max_examples=80)
            def reads(path: str, query: dict[str, str]) -> None:
                status, told = ask("GET", f"/api/packs/notes/storage{path}", query)
                assert status < 500, told
                assert status == 200 or b'"error"' in told

            @given(
                parts=st.tuples(ANY, ANY),
                text=st.text(st.characters(), max_size=20),
                version=ANY | st.integers(),
            )
            @settings(deadline=None, max_examples=60)
            def changes(parts: tuple[str, str], text: str, version: str | int) -> None:
                whose, file = (str(URL.build(path=f"/{part}"))[1:] for part in parts)
                base = f"/api/packs/notes/memory/{whose}"
                for path in (f"{base}/files/{file}", f"{base}/undo"):
                    status, told = ask("POST", path, {}, {"text": text, "version": version})
                    assert 400 <= status < 500, told
                assert ask("GET", f"{base}/versions/{file}", {})[0] < 500

            reads()
            changes()

        await law(shown, hold)
        _, kept = await shown.get(f"/api/packs/notes/memory/tg_{ADA}")
        rows = await shown.get(f"/api/packs/notes/storage/rows?tenant=tg_{ADA}&table=entries")

    assert kept["changes"] == []
    assert [row["cells"][4]["text"] for row in rows[1]["rows"]] == ["one"]
