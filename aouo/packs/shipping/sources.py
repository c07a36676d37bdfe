"""Fetches an app from a folder, an archive, or an archive at an https address."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from yarl import URL

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.shipping.archive import SUFFIX, copy_app, unpack
from aouo.packs.shipping.zipped import open_file
from aouo.web.client import Web
from aouo.web.targets import Permits

MAX_ARCHIVE_BYTES = 32 * 1024 * 1024
_MINISIG = ".minisig"
_MINISIG_MAX_BYTES = 8 * 1024
_ANYWHERE = Permits("install", ("*",))
"""Any public host on the usual port."""


async def fetch_source(
    text: str,
    into: Path,
    *,
    web: Web | None = None,
    permits: Permits = _ANYWHERE,
    https: bool = True,
) -> Path:
    """Bring an app into the folder `into`, and return the new folder of the app in it.

    `text` is a folder, an `.aouo` file or an https address. What came as an archive stays as
    `<app>.aouo` beside the folder, with its `.minisig` if there is one, for `signing.verify`.
    `web`, `permits` and `https` exist for tests, whose internet is on loopback.

    Raises:
        PackError: there is nothing, it is too large, or it is no app; `into` may hold remains.
    """
    app = into / "app"
    archive = into / f"app{SUFFIX}"
    try:
        await asyncio.to_thread(into.mkdir, 0o700, parents=True, exist_ok=True)
        if "://" in text:
            await _download(text, archive, web or Web(), permits, https)
            return await asyncio.to_thread(unpack, archive, app)
        return await asyncio.to_thread(_take, text, archive, app)
    except PackError as error:  # of our copy, which nobody knows
        raise PackError(error.problem.replace(str(archive), text), fix=error.fix) from error
    except OSError as error:
        raise PackError(f"{text} cannot be read: {error.strerror or error}.") from error


def _take(text: str, archive: Path, app: Path) -> Path:
    source = Path(text).expanduser()
    if source.is_dir():
        return copy_app(source, app)
    if not source.exists():
        raise PackError(
            f"There is no {source}.", fix=f"Name a folder, an {SUFFIX} file or an https address."
        )
    _copy(source, archive, MAX_ARCHIVE_BYTES)
    detached = source.with_name(source.name + _MINISIG)
    if detached.is_file():
        _copy(detached, archive.with_name(archive.name + _MINISIG), _MINISIG_MAX_BYTES)
    return unpack(archive, app)


def _copy(source: Path, target: Path, max_bytes: int) -> None:
    if source.stat().st_size > max_bytes:
        raise PackError(f"{source} is larger than {max_bytes // 1024} kB.")
    with open_file(source) as file, target.open("xb") as out:
        shutil.copyfileobj(file, out)


async def _download(text: str, archive: Path, web: Web, permits: Permits, https: bool) -> None:
    try:
        with archive.open("xb") as out:
            found = await web.download(text, permits, out, max_bytes=MAX_ARCHIVE_BYTES, https=https)
    except ToolFailed as error:
        raise PackError(f"The pack was not fetched: {error}") from error
    url = URL(found)
    detached = archive.with_name(archive.name + _MINISIG)
    try:
        with detached.open("xb") as out:
            beside = str(url.with_path(url.path + _MINISIG, keep_query=True))
            await web.download(beside, permits, out, max_bytes=_MINISIG_MAX_BYTES, https=https)
    except ToolFailed:  # most apps have none
        detached.unlink()
