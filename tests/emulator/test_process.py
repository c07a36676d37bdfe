"""The emulator as a process of its own, and who may talk to it."""

import asyncio
import json
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from aiohttp import ClientSession

from aouo.emulator import ADA
from tests.fakes.telegram import LocalTelegram, People

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "aouo/emulator/page"


async def start(*options: str) -> tuple[Process, dict[str, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aouo.emulator", *options, stdin=PIPE, stdout=PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return process, json.loads(await process.stdout.readline())


async def test_it_prints_its_address_and_stops_at_sigterm() -> None:
    process, ready = await start("--token", "77:abc", "--without", "forum", "--without", "ben")

    async with People(ready["url"]) as people:
        view = await people.act("view", user=ADA)
        await people.say(ADA, ADA, "hello")
    process.send_signal(signal.SIGTERM)

    assert [chat["kind"] for chat in view["conversations"]] == ["private", "group"]
    assert ready["page"] == f"{ready['url']}/"
    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_it_stops_with_its_parent() -> None:
    process, _ = await start("--with-parent")
    assert process.stdin is not None

    process.stdin.close()

    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_with_a_parent_the_interrupt_of_the_terminal_is_left_to_it() -> None:
    """Ctrl-C reaches the whole group; the parent still has to say things while it ends."""
    process, ready = await start("--with-parent")
    assert process.stdin is not None

    process.send_signal(signal.SIGINT)
    async with People(ready["url"]) as people:
        await people.act("view", user=ADA)
    process.stdin.close()

    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_alone_it_stops_at_the_interrupt() -> None:
    process, _ = await start()

    process.send_signal(signal.SIGINT)

    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_a_port_that_is_taken_is_one_line_and_a_set_up_error(emu: LocalTelegram) -> None:
    port = emu.base_url.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aouo.emulator", f"--port={port}", stdout=PIPE, stderr=PIPE, cwd=ROOT
    )

    async with asyncio.timeout(30):
        out, err = await process.communicate()

    assert (process.returncode, out) == (3, b"")
    assert err.decode() == f"The emulator cannot listen on port {port}: Address already in use.\n"


async def test_the_page_is_told_who_the_bot_is_and_how_many_are_in_a_group(
    emu: LocalTelegram,
) -> None:
    view = await emu.client.act("view", user=ADA)

    assert view["bot"]["username"] == "aouo_try_bot"
    assert [one["members"] for one in view["conversations"] if one["kind"] != "private"] == [3, 3]


async def test_another_host_name_is_refused(emu: LocalTelegram, http: ClientSession) -> None:
    """A name that was rebound to 127.0.0.1 must not reach the page or the API."""
    for path in ("/", "/emulator/view", f"/bot{emu.token}/getMe"):
        headers = {"Host": "evil.example"}
        async with http.post(f"{emu.base_url}{path}", json={}, headers=headers) as response:
            assert response.status == 403


async def test_a_form_of_another_page_is_refused(emu: LocalTelegram, http: ClientSession) -> None:
    async with http.post(f"{emu.base_url}/emulator/view", data={"a": "b"}) as response:
        assert response.status == 415


async def test_the_page_and_its_parts_are_served(emu: LocalTelegram, http: ClientSession) -> None:
    async with http.get(f"{emu.base_url}/") as response:
        page = await response.text()
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]

    parts = re.findall(r'(?:src|href)="([^"]+)"', page)
    parts += [f"/page/{path.name}" for path in PAGE.iterdir()]
    for part in parts:
        async with http.get(f"{emu.base_url}{part}") as response:
            assert (part, response.status) == (part, 200)


def test_the_page_makes_no_markup_from_data_and_loads_nothing_foreign() -> None:
    scripts = "".join(path.read_text() for path in PAGE.glob("*.js"))
    styles = "".join(path.read_text() for path in PAGE.glob("*.css"))

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", scripts)
    assert all(part.startswith("/page/") for part in re.findall(r'from "([^"]+)"', scripts))
    assert not re.search(r"url\((?!/page/)|@import", styles)


async def test_what_people_attach_is_never_run_by_the_browser(
    emu: LocalTelegram, http: ClientSession
) -> None:
    sent = await emu.client.send_file(
        ADA, ADA, "document", b"<script>", name="a.html", mime="text/html"
    )
    file_id = sent.raw["document"]["file_id"]

    async with http.get(f"{emu.base_url}/emulator/media/{file_id}") as response:
        assert response.content_type == "application/octet-stream"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_topics_and_the_language_of_everybody_are_chosen_at_the_start() -> None:
    """`aouo dev` gives the pack that is being written its topic."""
    process, ready = await start("--with-parent", "--topic", "shopping", "--language", "de")
    assert process.stdin is not None

    async with People(ready["url"]) as people:
        view = await people.act("view", user=ADA)
    process.stdin.close()

    async with asyncio.timeout(30):
        assert await process.wait() == 0
    topics = [topic["name"] for chat in view["conversations"] for topic in chat["topics"]]
    assert "shopping" in topics
    assert "notes" not in topics
