"""Reads feeds in RSS and Atom."""

from xml.etree import ElementTree

from aouo_pack import Refused, db, fetch, log, settings


def refresh() -> str:
    """Read all feeds, and say what is new; nothing new is an empty text."""
    for feed in db("SELECT id, url FROM feeds"):
        try:
            for link, title in _entries(fetch(feed["url"]).text):
                db(
                    "INSERT INTO items (link, feed, title) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    [link, feed["id"], title],
                )
        except (Refused, ElementTree.ParseError) as error:
            log("could not read", feed["url"], error)
    new = db("SELECT link, title FROM items WHERE told = 0 ORDER BY rowid DESC")
    db("UPDATE items SET told = 1 WHERE told = 0")
    lines = [f"• {one['title']}\n{one['link']}" for one in new[: settings["most"]]]
    return "\n".join(lines)


def _entries(text: str) -> list[tuple[str, str]]:
    """Return link and title of each entry."""
    found = []
    for entry in ElementTree.fromstring(text).iter():
        if entry.tag.rpartition("}")[2] not in ("item", "entry"):
            continue
        parts = {part.tag.rpartition("}")[2]: part for part in entry}
        link, title = parts.get("link"), parts.get("title")
        if link is not None and title is not None:
            address = (link.text or "").strip() or link.get("href", "")
            found.append((address, " ".join((title.text or "").split())))
    return found
