"""Finds what people are called: as their newest message says."""

from __future__ import annotations

from aouo.store.snapshots import Query

_PEOPLE_MAX = 1_000
_LOOKED_THROUGH = 50_000
"""The newest jobs, among which names are looked for: some 30 ms."""

NAMES = Query(
    "SELECT person, CASE WHEN json_valid(body) THEN body ->> '$.person.name' END AS name "
    "FROM jobs WHERE id IN (SELECT max(id) FROM jobs "
    "WHERE id > (SELECT max(id) FROM jobs) - ? AND platform = 'tg' AND person <> '' "
    "AND body <> '' GROUP BY person) ORDER BY id DESC LIMIT ?",
    (_LOOKED_THROUGH, _PEOPLE_MAX),
    lambda rows: {str(row["person"]): str(row["name"]) for row in rows if row["name"]},
)
"""Names by Telegram id, of those who wrote last."""
TOPICS = Query(
    "SELECT chat_id, thread_id, title FROM conversation_routes "
    "WHERE platform = 'tg' AND thread_id <> '' AND title <> '' ORDER BY id DESC LIMIT ?",
    (_PEOPLE_MAX,),
    lambda rows: {(row["chat_id"], row["thread_id"]): str(row["title"]) for row in rows},
)
"""Titles of topics by chat and topic."""
