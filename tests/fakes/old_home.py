"""A home that an older aouo left behind: its database at migration 0022, with rows in it.

The statements are those of that time: they must not follow today's tables.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from importlib import resources
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Content, Inbound, Person, Text
from aouo.facts.ports import Rendered
from aouo.store.database import Tx, connect
from aouo.store.opening import statements
from aouo.store.rendered import dump

NEWEST = "0022"
CHAT = ConversationAddress("tg", "1001")
GROUP = ConversationAddress("tg", "-1002000", thread_id="7")
LONG_AGO, SOON = "2026-02-01T08:00:00.000+00:00", "2026-12-01T08:00:00.000+00:00"
ULID = "01KGBSYJ00DE5BZ07C1YCQPS2"
"""All but the last character of each id here."""
SESSION, BEFORE, IN_GROUP = f"chat/tg:1001/{ULID}A", f"chat/tg:1001/{ULID}B", f"chat/x/{ULID}C"


def put_old_database(file: Path, newest: str = NEWEST) -> None:
    """Write a database as the aouo of migration 0022 did, with what it held, in place of any; up
    to a later migration, as if nothing came in since."""
    folder = resources.files("aouo.store") / "migrations"
    scripts = sorted(folder.iterdir(), key=lambda one: one.name)
    file.unlink(missing_ok=True)
    with closing(connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tx = Tx(connection)
        connection.execute(
            "CREATE TABLE migrations("
            "name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
        )
        for script in scripts:
            if script.name[:4] <= newest:
                text = script.read_text(encoding="utf-8")
                tx.script(list(statements(text)))
                digest = hashlib.sha256(text.encode()).hexdigest()
                tx.run("INSERT INTO migrations VALUES (?, ?, ?)", script.name, digest, LONG_AGO)
        _fill(tx)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.chmod(0o600)


def _fill(tx: Tx) -> None:
    _conversations(tx)
    for number, (state, content, outcome) in enumerate(JOBS, start=1):
        _job(tx, number, state, content, outcome)
    _turns(tx)
    _sent(tx)
    _memory(tx)
    _schedules(tx)


def _conversations(tx: Tx) -> None:
    for place, kind, session in ((CHAT, "private", SESSION), (GROUP, "forum", IN_GROUP)):
        tx.run(
            "INSERT INTO conversation_routes (platform, chat_id, thread_id, user_id, active_pack, "
            "active_skill, session_id, chat_kind, updated_at, title) "
            "VALUES (?, ?, ?, ?, 'notes', 'notes:keep', ?, ?, ?, 'Garden')",
            *place.columns,
            session,
            kind,
            LONG_AGO,
        )
    for session, place in ((BEFORE, CHAT), (SESSION, CHAT), (IN_GROUP, GROUP)):
        tx.run(
            "INSERT INTO sessions (id, session_key, title, active_skill, created_at, updated_at, "
            "titling, indexed_upto) VALUES (?, ?, 'Elephants', 'notes:keep', ?, ?, 'done', 2)",
            session,
            place.session_key("notes"),
            LONG_AGO,
            LONG_AGO,
        )
    tx.run("INSERT INTO cursors VALUES ('42', 7)")
    tx.run("INSERT INTO moved_chats VALUES ('tg', '-77', '-1002000')")
    tx.run("INSERT INTO gone_chats VALUES ('tg', '1009', 'blocked', ?)", LONG_AGO)


JOBS: tuple[tuple[str, Content, str], ...] = (
    ("done", Text("Where do elephants sleep?"), "answered"),
    ("done", Button("notes:more", "More", "9"), "answered"),
    ("dropped", Text("never mind"), "stopped"),
    ("aside", Text("odd"), "cannot be answered"),
    ("running", Text("the heron was cut off"), ""),
    ("ready", Text("the ibis waits"), ""),
    ("gathering", Text("the jackal gathers"), ""),
)


def _job(tx: Tx, number: int, state: str, content: Content, outcome: str) -> None:
    inbound = Inbound(CHAT, Person("1001", "Ada", "en"), content, message_id=100 + number)
    tx.run(
        "INSERT INTO jobs (id, lane, platform, chat_id, thread_id, user_id, person, body, state, "
        "due_at, starts, fence, owner, lease_until, outcome, created_at, settled_at) "
        "VALUES (?, ?, ?, ?, ?, ?, '1001', ?, ?, ?, 1, 1, ?, ?, ?, ?, ?)",
        number,
        CHAT.lane,
        *CHAT.columns,
        inbound.dump(),
        state,
        LONG_AGO if state == "gathering" else "",
        "gone" if state == "running" else "",
        LONG_AGO if state == "running" else "",
        outcome,
        LONG_AGO,
        LONG_AGO if outcome else "",
    )
    tx.run("INSERT INTO job_messages VALUES ('tg', '1001', ?, ?)", 100 + number, number)


def _turns(tx: Tx) -> None:
    """One that was answered with a tool, one that a kill left open, one of an earlier session."""
    talk = (
        (f"{ULID}1", 1, BEFORE, "ack", "Where do elephants sleep?", "Standing, by the baobab."),
        (f"{ULID}2", 1, SESSION, "ack", "And giraffes?", "Hardly at all."),
        (f"{ULID}3", 5, SESSION, "open", "the heron was cut off", ""),
    )
    for turn, job, session, status, asked, answered in talk:
        tx.run(
            "INSERT INTO turns (id, job_id, session_id, pack, skill, status, started_at, "
            "settled_at) VALUES (?, ?, ?, 'notes', '', ?, ?, ?)",
            turn,
            job,
            session,
            status,
            LONG_AGO,
            LONG_AGO if status == "ack" else "",
        )
        for role, text in (("user", asked), ("assistant", answered)):
            if text:
                tx.run(
                    "INSERT INTO messages (session_id, turn_id, role, text, visible, created_at) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    session,
                    turn,
                    role,
                    text,
                    int(status == "ack"),
                    LONG_AGO,
                )
    tx.run("INSERT INTO messages_index (rowid, words) SELECT id, text FROM messages WHERE id < 3")
    tx.run(
        "INSERT INTO tool_calls (id, turn_id, name, arguments, again, effect, state, result, "
        "started_at, ended_at) VALUES ('c1', ?, 'persist', '{}', 1, 1, 'done', 'ok', ?, ?)",
        f"{ULID}1",
        LONG_AGO,
        LONG_AGO,
    )
    tx.run(
        "INSERT INTO summaries (session_id, source_session_id, upto_message_id, messages, text, "
        "tokens, created_at, through_message_id) VALUES (?, ?, 2, 2, 'On sleep.', 9, ?, 2)",
        SESSION,
        BEFORE,
        LONG_AGO,
    )
    tx.run(
        "INSERT INTO usage_events (created_at, day, scope, pack, session_id, person, turn_id, "
        "input_tokens, output_tokens) "
        "VALUES (?, '2026-02-01', 'turn', 'notes', ?, '1001', ?, 9, 1)",
        LONG_AGO,
        BEFORE,
        f"{ULID}1",
    )


def _sent(tx: Tx) -> None:
    for key, state, message_id, words in (
        ("a", "sent", 201, "Standing, by the baobab."),
        ("b", "queued", 0, "the kudu was never sent"),
        ("c", "unknown", 0, "the lemur may have been"),
        ("d", "refused", 0, "the mole was not"),
    ):
        tx.run(
            "INSERT INTO deliveries (platform, chat_id, thread_id, user_id, turn_id, key, kind, "
            "body, state, message_id, created_at, settled_at) "
            "VALUES (?, ?, ?, ?, ?, ?, 'reply', ?, ?, ?, ?, ?)",
            *CHAT.columns,
            f"{ULID}1",
            key,
            dump(Rendered(words)),
            state,
            message_id,
            LONG_AGO,
            "" if state == "queued" else LONG_AGO,
        )


def _memory(tx: Tx) -> None:
    """Versions of a file, of which the first was forgotten: their numbers go on."""
    for number, origin, undoes in ((2, "tool", 0), (3, "hand", 0), (4, "undo", 3)):
        tx.run(
            "INSERT INTO memory_versions (id, pack, owner, file, origin, state, before, after, "
            "call_id, undoes, turn_id, person, platform, chat_id, message_id, at) "
            "VALUES (?, 'notes', 'tg_1001', 'MEMORY.md', ?, 'done', 'before', 'after', ?, ?, ?, "
            "'1001', 'tg', '1001', ?, ?)",
            number,
            origin,
            f"c{number}" if origin == "tool" else "",
            undoes,
            f"{ULID}1",
            201 if origin == "tool" else 0,
            LONG_AGO,
        )


def _schedules(tx: Tx) -> None:
    """Those of a pack that were switched on, proposed and declined. Nothing fired them then, so
    one has been due since it was switched on."""
    for key, place, kind, paused in (
        ("on", CHAT, "private", ""),
        ("overdue", CHAT, "private", ""),
        ("in-group", GROUP, "forum", ""),
        ("proposed", CHAT, "private", "proposed"),
        ("declined", CHAT, "private", "person"),
    ):
        tx.run(
            "INSERT INTO schedules (id, pack, key, origin, platform, chat_id, thread_id, "
            "chat_kind, person, skill, prompt, text, zone, since, own_text, enabled, paused, "
            "next_due, created_at, updated_at) "
            "VALUES (?, 'notes', ?, 'default', ?, ?, ?, ?, '1001', "
            "'notes:review', '', '0 8 * * *', 'Europe/Berlin', ?, ?, ?, ?, ?, ?, ?)",
            f"sched-{key}",
            key,
            *place.columns[:3],
            kind,
            LONG_AGO,
            int(key == "on"),
            int(not paused),
            paused,
            None if paused else LONG_AGO if key == "overdue" else SOON,
            LONG_AGO,
            LONG_AGO,
        )
