"""Carries out the actions of `persist` that only read: recent, query, summary."""

from __future__ import annotations

from aouo.facts.errors import ToolFailed
from aouo.packs.data.conditions import conditions
from aouo.packs.data.reading import Found, ReadConnection
from aouo.packs.data.rows import Answer, Table, described
from aouo.packs.data.schema_guard import quoted
from aouo.packs.data.wish import MAX_ROWS, Wish

_RECENT_ROWS = 10


def look(action: str, wish: Wish, reader: ReadConnection) -> Answer:
    """Carry out one of them.

    Raises:
        ToolFailed: says what to write instead.
    """
    match action:
        case "recent":
            return _recent(wish, reader)
        case "query":
            return _query(wish, reader)
        case _:
            return _summary(wish, reader)


def answer_of(found: Found) -> Answer:
    answer: Answer = {"rows": list(found.rows), "count": len(found.rows)}
    if found.more:
        answer["note"] = "there are more rows; ask for fewer columns, or use WHERE and LIMIT"
    return answer


def _recent(wish: Wish, reader: ReadConnection) -> Answer:
    table, where = wish.table(write=False), wish.mapping("where")
    skill_type = wish.text("skill_type")
    if skill_type and table.has("skill_type"):
        where.setdefault("skill_type", skill_type)
    clause, values = conditions(table, where) if where else ("1", ())
    order = '"created_at" DESC, ' if table.has("created_at") else ""
    sql = f"SELECT * FROM {quoted(table.name)} WHERE {clause} ORDER BY {order}{{}} DESC"
    limit = wish.limit(_RECENT_ROWS)
    try:
        return answer_of(reader.rows(sql.format("rowid"), values, limit=limit))
    except ToolFailed as error:
        if "rowid" not in str(error):
            raise
        key = next((quoted(item.name) for item in table.columns if item.key), "1")  # WITHOUT ROWID
        return answer_of(reader.rows(sql.format(key), values, limit=limit, hidden=wish.hidden))


def _query(wish: Wish, reader: ReadConnection) -> Answer:
    sql = wish.text("sql")
    if not sql:
        made = ", ".join(wish.readable) or "none"
        raise ToolFailed(f"query needs sql, one SELECT. Tables: {made}.")
    limit, hidden = wish.limit(MAX_ROWS), wish.hidden
    return answer_of(reader.rows(sql.rstrip(";"), wish.params(), limit=limit, hidden=hidden))


def _summary(wish: Wish, reader: ReadConnection) -> Answer:
    answer: dict[str, object] = {}
    one = wish.table(write=False) if wish.names_a_table else None
    tables = {one.name: one.columns} if one else wish.readable
    for name, columns in tables.items():
        table = Table(name, columns)
        facts: dict[str, object] = {"columns": [described(item) for item in columns]}
        dated = table.has("created_at")
        newest = ", min(created_at) AS first, max(created_at) AS last" if dated else ""
        sql = f"SELECT count(*) AS rows{newest} FROM {quoted(name)}"
        (row,) = reader.rows(sql, (), limit=1).rows
        answer[name] = facts | {key: value for key, value in row.items() if value is not None}
    return {"tables": answer}
