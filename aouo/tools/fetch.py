"""`fetch`: read a page of the internet that the pack may read."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence

from aouo.documents.kinds import text_of
from aouo.documents.reading import AT_ONCE, read
from aouo.facts.errors import ToolFailed
from aouo.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.web.client import MAX_BYTES, Page, Web
from aouo.web.envelope import untrusted
from aouo.web.targets import Permits

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = frozenset({"application/json", "application/xml", "application/javascript"})
_DOCUMENTS = ("application/pdf", "application/msword", "application/vnd.")
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}")
"""A declared type of another form is ignored, so that no word of it reaches the model."""
_CONVERT_S = 10.0


class Fetch(Arguments):
    url: str


def fetch(
    permitted: Callable[[str], Sequence[str]], web: Web, room: asyncio.Semaphore | None = None
) -> Tool:
    """Make the tool; `permitted` gives the hosts that a pack may use, `*` = every public one."""
    room = room or asyncio.Semaphore(AT_ONCE)

    async def _fetch(wish: Fetch, context: ToolContext, call_id: str) -> str:
        del call_id
        page = await web.get(
            wish.url.strip(), Permits(context.facts.pack, permitted(context.facts.pack))
        )
        text = await _text(page, room)
        if page.cut:
            text += f"\n[cut: the page is larger than {MAX_BYTES:,} bytes]"
        return f"{page.url}\n{untrusted(text, page.host)}"

    return tool(
        "fetch",
        "Read a web page as text.",
        Fetch,
        _fetch,
        group="web",
        read_only=True,
        timeout_s=40.0,
    )


async def _text(page: Page, room: asyncio.Semaphore) -> str:
    """Return the page as text that a model can read.

    Raises:
        ToolFailed: the page is no text; names its type.
    """
    kind = page.content_type if _TYPE.fullmatch(page.content_type) else ""
    if kind in _PAGES or (not kind and page.body[:200].lstrip().lower().startswith(b"<")):
        html = {"kind": "html", "charset": page.charset, "base_url": page.url}
        found = await read(page.body, **html, limit_s=_CONVERT_S, room=room)
        return found.text or "(a page without words)"
    readable = kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))
    if readable or (not kind and b"\0" not in page.body):
        text = text_of(page.body, page.charset)
        return _spread(text) if "json" in kind else text
    size = f"more than {MAX_BYTES:,}" if page.cut else f"{len(page.body):,}"
    what = f"{page.url} is {kind or 'of no known type'}, {size} bytes: no page that can be read."
    if kind.startswith(_DOCUMENTS):
        what += " Ask for the file in the chat; read_document can read it then."
    raise ToolFailed(what)


def _spread(text: str) -> str:
    """Put JSON on several lines, so that a part can be found; broken JSON stays as it is.

    It is not indented: a deep one would become hundreds of times as long.
    """
    try:
        return json.dumps(json.loads(text), separators=(",\n", ": "), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
