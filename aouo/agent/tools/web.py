"""`fetch` and `web_search`: read a page of the internet, or search it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import aiohttp
from pydantic import Field

from aouo.agent.documents.kinds import text_of
from aouo.agent.documents.reading import AT_ONCE, read
from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.config.sections import WebSearch
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import MAX_BYTES, Page, Web
from aouo.plumbing.web.envelope import untrusted

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
        sink="look",
        visits=lambda wish: (wish.url.strip(),),
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


_KEPT_S = 24 * 3600.0
_MAX_KEPT = 200
_LIMIT_S = 20.0
_MAX_ANSWER_BYTES = 2_000_000
_MAX_CONTENT_CHARS = 1_200
_KEY = "tools.web_search.api_key"


class Search(Arguments):
    query: str
    max_results: Annotated[int, Field(ge=0, le=20)] = 0


def web_search(settings: WebSearch, session: aiohttp.ClientSession, clock: Clock) -> Tool:
    """Make the tool; answers are cached in memory for a day."""
    kept = _Kept(clock)

    async def _search(wish: Search, context: ToolContext, call_id: str) -> str:
        query = " ".join(wish.query.split())
        if not query:
            raise ToolFailed("web_search needs a query.")
        most = wish.max_results or settings.max_results
        key = f"{settings.backend}\n{query}\n{most}"
        found = kept.get(key)
        if found is None:
            answer = await _ask(settings, session, query, most)
            context.paid_for(call_id, "web_search")
            found = _in_words(answer, most)
            kept.put(key, found)
        return untrusted(found, f"web search: {query[:80]}")

    return tool(
        "web_search",
        "Search the web: a short answer and its sources.",
        Search,
        _search,
        sink="look",
        group="web",
        read_only=True,
        timeout_s=45.0,
    )


async def _ask(
    settings: WebSearch, session: aiohttp.ClientSession, query: str, most: int
) -> Mapping[str, Any]:
    """Return the answer of the owner's search service as it came; its address may be anywhere,
    since the owner wrote it.

    Raises:
        ToolFailed: no key, refused, busy, unreachable or unreadable; says which.

    Source: docs.tavily.com, POST /search.
    """
    key = settings.api_key.get_secret_value()
    if not key:
        raise ToolFailed(f"There is no key for web search; the owner has to set {_KEY}.")
    url = f"{settings.base_url.rstrip('/')}/search"
    body = {"query": query, "max_results": most, "include_answer": True}
    try:
        async with (
            asyncio.timeout(_LIMIT_S),
            session.post(
                url,
                json=body,
                headers={"Authorization": f"Bearer {key}"},
                allow_redirects=False,  # the key is for this host
            ) as answer,
        ):
            if answer.status != 200:
                raise ToolFailed(_refusal(answer.status))
            return _parsed(await _body(answer))
    except TimeoutError as error:
        raise ToolFailed(f"The search service did not answer in {_LIMIT_S:g} s.") from error
    except (aiohttp.ClientError, OSError) as error:
        raise ToolFailed(
            f"The search service could not be reached ({type(error).__name__})."
        ) from error


@dataclass(slots=True, eq=False)
class _Kept:
    """Answers by question, the newest `MAX_KEPT` of the last day."""

    clock: Clock
    _answers: OrderedDict[str, tuple[float, str]] = field(
        init=False, default_factory=OrderedDict[str, tuple[float, str]]
    )

    def get(self, key: str) -> str | None:
        at_s, text = self._answers.get(key, (0.0, ""))
        if not text or self.clock.monotonic_s() - at_s >= _KEPT_S:
            return None
        return text

    def put(self, key: str, text: str) -> None:
        self._answers[key] = (self.clock.monotonic_s(), text)
        self._answers.move_to_end(key)
        while len(self._answers) > _MAX_KEPT:
            self._answers.popitem(last=False)


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > _MAX_ANSWER_BYTES:
            raise ToolFailed("The search service gave more than can be read.")
    return bytes(body)


def _refusal(status: int) -> str:
    match status:
        case 401 | 403:
            return f"The search service refuses the key; the owner has to check {_KEY}."
        case 429:
            return "The search service is busy; try again in a minute, or answer without it."
        case 402 | 432 | 433:
            return "The search service's plan is used up; the owner has to look at it."
        case 400 | 422:
            return "The search service does not take this query; ask in other, fewer words."
        case _:
            return f"The search service answered with status {status}; try again later."


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ToolFailed("The search service gave an answer that is no JSON.") from error
    if not isinstance(answer, dict):
        raise ToolFailed("The search service gave an answer of an unknown form.")
    return cast("dict[str, Any]", answer)


def _in_words(answer: Mapping[str, Any], most: int) -> str:
    """The answer, then each source with what it says."""
    parts = [str(answer["answer"])] if answer.get("answer") else []
    results: Any = answer.get("results")
    found = cast("list[Any]", results) if isinstance(results, list) else []
    for number, item in enumerate(found[:most], 1):
        if isinstance(item, dict):
            source = cast("dict[str, Any]", item)
            content = str(source.get("content") or "")[:_MAX_CONTENT_CHARS]
            parts.append(f"{number}. {source.get('title') or ''}\n{source.get('url')}\n{content}")
    return "\n\n".join(parts) or "Nothing was found."
