"""Reads what an address of a feed or a calendar sends: RSS and Atom by feedparser, JSON Feed here.

No clock and no network is used.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from typing import Any, TypeAlias, cast
from urllib.parse import urljoin

from aouo.agent.documents import calendars, entries, kinds
from aouo.agent.documents.entries import ENTRIES_MAX, Entry, NotAFeed, Sent

_HEAD_BYTES = 200_000
_Item: TypeAlias = tuple[datetime | None, Entry]


def read(body: bytes, now: datetime, zone: tzinfo, url: str = "") -> Sent:
    """Read the feed or the calendar that is at `url`.

    Raises:
        NotAFeed: it is neither.
    """
    body = _in_utf8(body)
    if b"BEGIN:VCALENDAR" in body[:4_000].upper():
        # lines are folded at bytes, which may be in the middle of a letter
        text, _ = kinds.decoded(re.sub(rb"(?:\r\n|\r|\n)[ \t]", b"", body))
        return calendars.read(text, now, zone)
    title, items = _json(body) if body.lstrip()[:1] == b"{" else _xml(body)
    if len(items) > ENTRIES_MAX:
        oldest = datetime.min.replace(tzinfo=UTC)
        items = sorted(items, key=lambda item: item[0] or oldest, reverse=True)
    read_entries = (_entry(at, entry, zone, url) for at, entry in items[:ENTRIES_MAX])
    return Sent("feed", title, tuple(read_entries), len(items[ENTRIES_MAX:]))


def _in_utf8(body: bytes) -> bytes:
    """Return a text in UTF-16, which may not say so, in UTF-8; others as they are."""
    if b"\0" not in body[:100]:
        return body.removeprefix(b"\xef\xbb\xbf")
    little = body[:2] == b"\xff\xfe" or body[1:2] == b"\0"
    text = body.decode("utf-16-le" if little else "utf-16-be", "replace").removeprefix("\ufeff")
    return re.sub(r"^(<\?xml[^>]{0,100}?)encoding=\S+?(?=[\s?])", r"\1", text).encode()


def _entry(at: datetime | None, entry: Entry, zone: tzinfo, url: str) -> Entry:
    """Return an entry with its local time, and with its address as seen from that of the feed."""
    try:
        starts = f"{at.astimezone(zone):%Y-%m-%d %H:%M}" if at else ""
        link = urljoin(url, entry.link) if entry.link else ""
    except (ValueError, OverflowError):  # of the year 1; of a host that is none
        starts = link = ""
    link = link if re.match(r"https?://\S{1,2000}$", link) else ""
    return replace(entry, link=link, starts=starts)


_LINK = re.compile(r"<link\b[^<>]{0,1000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w-])([\w-]+)\s*=\s*["']?([^"'\s>]+)""")


def linked(page: bytes, url: str) -> str:
    """Return the address of the feed that a page at `url` names, "" = it names none."""
    for tag in _LINK.findall(page[:_HEAD_BYTES].decode("utf-8", "replace")):
        attributes = {key.casefold(): value for key, value in _ATTRIBUTE.findall(tag)}
        kind = attributes.get("type", "").casefold()
        if re.fullmatch(r"application/(?:(?:rss|atom)\+xml|feed\+json)", kind):
            return urljoin(url, html.unescape(attributes.get("href", "")))
    return ""


def _xml(body: bytes) -> tuple[str, list[_Item]]:
    import feedparser

    parse = cast("Callable[..., Any]", feedparser.parse)
    feed: Any = parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not feed.get("version") and not feed.entries:
        raise NotAFeed("not-a-feed")
    return _words(feed.feed, "title"), [_xml_item(item) for item in feed.entries]


def _xml_item(item: Any) -> _Item:
    links: list[Mapping[str, str]] = item.get("links", [])
    media: list[Mapping[str, str]] = item.get("media_content", [])
    files = (file.get("href", "") for file in links if file.get("rel") == "enclosure")
    addresses = (str(item.get("link") or ""), *files, *(file.get("url", "") for file in media))
    link = next(filter(None, addresses), "")
    title = _words(item, "title") or _words(item, "summary")
    return _xml_date(item), Entry(entries.name(str(item.get("id") or ""), link, title), title, link)


def _xml_date(item: Any) -> datetime | None:
    dates = (dict[str, Any].get(item, name) for name in ("published_parsed", "updated_parsed"))
    parsed = next(filter(None, dates), None)  # `get` of its own warns
    try:
        return datetime(*parsed[:6], tzinfo=UTC) if parsed else None
    except ValueError:  # the 60th second, the year 0
        return None


def _words(holder: Any, name: str) -> str:
    """Return a text of a feed: of HTML its words, of plain text itself."""
    is_plain = holder.get(f"{name}_detail", {}).get("type") == "text/plain"
    return (entries.line if is_plain else entries.plain)(holder.get(name, ""))


def _json(body: bytes) -> tuple[str, list[_Item]]:
    """Read a JSON Feed. Source: jsonfeed.org/version/1.1"""
    try:
        feed: Any = json.loads(body)
        if "jsonfeed.org" not in str(feed.get("version")):
            raise NotAFeed("not-a-feed")
        items = [_json_item(item) for item in _objects(feed.get("items"))]
        return entries.line(feed.get("title", "")), items
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise NotAFeed("not-a-feed") from error


def _objects(value: Any) -> list[Any]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def _json_item(item: Any) -> _Item:
    files = (str(file.get("url", "")) for file in _objects(item.get("attachments")))
    addresses = (str(item.get(key) or "") for key in ("url", "external_url"))
    link = next(filter(None, (*addresses, *files)), "")
    title = entries.line(item.get("title") or item.get("summary") or item.get("content_text") or "")
    title = title or entries.plain(item.get("content_html") or "")
    try:
        at = datetime.fromisoformat(str(item.get("date_published")))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError:
        at = None
    return at, Entry(entries.name(str(item.get("id") or ""), link, title), title, link)
