"""Whatever is asked of a workspace gets facts or a sentence, and nothing is changed by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from tests.fakes.model_server import CallPart
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import settled
from tests.path.world import ADA, World

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
