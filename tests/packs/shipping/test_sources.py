"""Where an app may come from. Source: issue 5 "Lifecycle", contract "Packs"."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from aouo.facts.errors import PackError
from aouo.packs.shipping.archive import _MAX_ARCHIVE_BYTES, content_hash, fetch_source, pack_archive
from aouo.plumbing.web.addresses import Permits
from tests.fakes.web_server import Answer, Names, WebServer, web_of
from tests.packs.writing import MakePack


@pytest.fixture
async def site() -> AsyncGenerator[WebServer]:
    async with WebServer() as server:
        yield server


def packed(make_pack: MakePack, tmp_path: Path) -> tuple[Path, Path]:
    folder = make_pack()
    pack_archive(folder, tmp_path / "test.aouo")
    return folder, tmp_path / "test.aouo"


async def fetch(site: WebServer, path: str, into: Path) -> Path:
    hosts = (f"apps.test:{site.port}",)
    names = Names(apps_test=["127.0.0.1"], inner_test=["10.0.0.1"])
    return await fetch_source(
        f"http://apps.test:{site.port}{path}",
        into,
        web=web_of(names),
        permits=Permits("install", hosts),
        https=False,
    )


async def test_a_folder_an_archive_and_an_address_give_the_same_app(
    make_pack: MakePack, site: WebServer, tmp_path: Path
):
    folder, archive = packed(make_pack, tmp_path)
    site.pages["/test.aouo"] = Answer(archive.read_bytes(), "text/html")
    site.pages["/latest"] = Answer(status=302, headers={"Location": "/test.aouo"})

    found = [
        await fetch_source(str(folder), tmp_path / "1"),
        await fetch_source(str(archive), tmp_path / "2"),
        await fetch(site, "/test.aouo", tmp_path / "3"),
        await fetch(site, "/latest", tmp_path / "4"),
    ]

    assert {content_hash(app) for app in found} == {content_hash(folder)}


async def test_a_detached_signature_comes_along(
    make_pack: MakePack, site: WebServer, tmp_path: Path
):
    _, archive = packed(make_pack, tmp_path)
    archive.with_name("test.aouo.minisig").write_text("signed")
    site.pages["/test.aouo"] = Answer(archive.read_bytes())
    site.pages["/test.aouo.minisig"] = Answer(b"signed there")
    site.pages["/other.aouo"] = Answer(archive.read_bytes())

    for into, path in (("1", "/test.aouo"), ("2", "/other.aouo")):
        await fetch(site, path, tmp_path / into)
    await fetch_source(str(archive), tmp_path / "3")

    assert (tmp_path / "1" / "app.aouo.minisig").read_text() == "signed there"
    assert not (tmp_path / "2" / "app.aouo.minisig").exists()
    assert (tmp_path / "3" / "app.aouo.minisig").read_text() == "signed"


async def test_an_address_that_is_not_encrypted_or_not_public_is_refused(
    site: WebServer, tmp_path: Path
):
    site.pages["/in"] = Answer(status=302, headers={"Location": "http://10.0.0.1/"})

    for number, (url, why) in enumerate(
        [
            ("http://example.org/x.aouo", "not encrypted"),
            ("https://127.0.0.1/x.aouo", "is not a public host"),
            ("https://[::1]/x.aouo", "is not a public host"),
            ("https://localhost/x.aouo", "not a host on the internet"),
            ("https://example.org:8443/x.aouo", "Port 8443 of example.org is closed"),
            ("https://me:secret@example.org/", "user name or password"),
            ("file:///etc/passwd", "begins with https://"),
        ]
    ):
        with pytest.raises(PackError) as refused:
            await fetch_source(
                url, tmp_path / str(number), web=web_of(Names()) if number == 0 else None
            )
        assert why in str(refused.value)
        assert not (tmp_path / str(number) / "app").exists()
    with pytest.raises(PackError, match=r"10\.0\.0\.1 is not among the hosts"):
        await fetch(site, "/in", tmp_path / "in")


async def test_nothing_is_asked_for_at_an_address_that_is_not_encrypted(
    site: WebServer, tmp_path: Path
):
    with pytest.raises(PackError, match="is not encrypted"):
        await fetch_source(
            f"http://apps.test:{site.port}/x",
            tmp_path / "x",
            web=web_of(Names(apps_test=["127.0.0.1"])),
            permits=Permits("install", (f"apps.test:{site.port}",)),
        )
    assert site.requests == []


async def test_what_is_too_large_missing_or_no_app_says_so(site: WebServer, tmp_path: Path):
    site.pages["/large"] = Answer(b"\0" * (_MAX_ARCHIVE_BYTES + 1))
    site.pages["/page"] = Answer(b"<html>")
    (tmp_path / "empty").mkdir()

    for number, (path, why) in enumerate(
        [
            ("/large", "larger than 32 MB"),
            ("/gone", r"404 \(Not Found\)"),
            ("/page", "is not a zip file"),
        ]
    ):
        with pytest.raises(PackError, match=why):
            await fetch(site, path, tmp_path / str(number))
    with pytest.raises(PackError, match="There is no"):
        await fetch_source(str(tmp_path / "nothing"), tmp_path / "a")
    with pytest.raises(PackError, match=r"there is no pack\.yml"):
        await fetch_source(str(tmp_path / "empty"), tmp_path / "b")
