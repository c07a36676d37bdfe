"""The web and documents from a turn: what a pack may reach, and what the model hears if not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.documents import pdf
from tests.fakes.model_server import words_of
from tests.fakes.web_server import Answer, WebServer
from tests.path.world import World

PACK = """
name: desk
version: 1.0.0
display_name: Desk
permissions:
  tools: [msg, web, documents]
  network: {network}
"""


def replies(world: World, *, network: str = "[]") -> None:
    folder = world.home.packs / "desk"
    folder.mkdir()
    (folder / "pack.yml").write_text(PACK.format(network=network))
    world.config = {"telegram": {"streaming": "off"}}


async def result(world: World, tool: str, **arguments: object) -> str:
    """What the model reads of one call in a turn."""
    world.model.call(tool, arguments)
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("go")
    return words_of(world.model.requests[-1]["messages"][-1])


async def test_a_pack_without_network_is_told_what_its_manifest_needs(world: World) -> None:
    replies(world)

    assert "permissions.network has to name the host" in await result(
        world, "fetch", url="https://example.org/"
    )


@pytest.mark.parametrize("network", ['["*"]', '["*", "127.0.0.1:{port}", "localhost:{port}"]'])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
async def test_no_manifest_opens_this_machine(world: World, network: str, host: str) -> None:
    async with WebServer() as site:
        replies(world, network=network.format(port=site.port))
        heard = await result(world, "fetch", url=f"http://{host}:{site.port}/")

        assert site.requests == []
    assert "<untrusted" not in heard


async def test_a_search_uses_the_owners_service_and_hides_its_key(world: World) -> None:
    async with WebServer() as service:
        replies(world)
        found = {"answer": "It rains; tvly-key-of-the-owner."}
        service.pages["/search"] = Answer(json.dumps(found).encode(), "application/json")
        search = {
            "api_key": "tvly-key-of-the-owner",
            "base_url": f"http://127.0.0.1:{service.port}",
        }
        world.config["tools"] = {"web_search": search}
        heard = await result(world, "web_search", query="weather")

        assert service.requests[0][2]["Authorization"] == "Bearer tvly-key-of-the-owner"
    assert "It rains; [redacted]." in heard


async def test_a_search_without_a_key_names_the_setting(world: World) -> None:
    replies(world)

    assert "tools.web_search.api_key" in await result(world, "web_search", query="x")


async def test_a_document_in_the_packs_folder_is_read(world: World) -> None:
    replies(world)
    folder = world.home.pack_data / "desk"
    folder.mkdir(parents=True)
    (folder / "a.pdf").write_bytes(pdf("Hello"))

    heard = await result(world, "read_document", path="a.pdf")

    assert heard.startswith("a.pdf: pdf, 1 pages\n<untrusted ")
    assert "Hello" in heard


async def test_a_document_elsewhere_is_closed(world: World, tmp_path: Path) -> None:
    """By the guard, which judges the path before the tool is reached."""
    replies(world)
    (tmp_path / "secret.txt").write_text("the secret words")

    heard = [
        await result(world, "read_document", path=str(tmp_path / "secret.txt")),
        await result(world, "read_document", path=str(world.home.config)),
    ]

    assert "is not among the files of this pack" in heard[0]
    assert "belongs to the runtime itself and is closed to tools" in heard[1]
