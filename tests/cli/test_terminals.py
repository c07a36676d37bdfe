"""No verb gives a terminal a sign that it obeys, whatever strangers wrote into the home.

A real process under a real pseudo-terminal. Source: issue 11, 10.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text, Thought
from aouo.facts.transcript import AssistantSaid, ToolCall, ToolReturned
from aouo.plumbing.home import Home
from aouo.plumbing.printable import printable
from aouo.store import jobs, routes, sessions, turns
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables
from tests.verb_process import begin

AT = "2026-03-02T12:00:00.000+00:00"
EVIL = "a\x1b[2Jb\x9b31mc\u202ed\u2066e\x07f\rg\x08h\u2028i\ufeffj\U000e0041k"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
WITHIN_S = 60


def seed(tx: Tx) -> None:
    make_tables(tx)
    address = ConversationAddress("tg", "1")
    inbound = Inbound(address, Person("1", EVIL), Text(EVIL))
    job_id = jobs.add(tx, address.lane, inbound, AT)
    route = routes.get_or_create(tx, address, "private", AT)
    session = sessions.resolve(tx, route, address, EVIL, AT)
    sessions.settle_title(tx, session.id, EVIL)
    turn = turns.open_turn(tx, job_id, session.id, EVIL, "", EVIL, AT)
    said = AssistantSaid(
        EVIL, (ToolCall("c1", EVIL, json.dumps({EVIL: EVIL}, ensure_ascii=False)),)
    )
    turns.record_calls(tx, turn, said, [False], AT)
    turns.record_result(tx, turn, ToolReturned("c1", EVIL, EVIL), "done", False, AT)
    turns.close_ack(tx, turn, AssistantSaid(EVIL), [Thought("reasoning", EVIL)], AT)


@pytest.fixture
def hostile(home: Home) -> Home:
    home.create()
    home.config.write_text(json.dumps({"telegram": {"bot_token": EVIL}, EVIL: EVIL}))
    home.log_file.parent.mkdir(exist_ok=True)
    home.log_file.write_text(f"{EVIL}\n{json.dumps({'event': EVIL}, ensure_ascii=False)}\n")
    pack = home.packs / "evil"
    pack.mkdir()
    words = json.dumps(EVIL)
    (pack / "pack.yml").write_text(
        f"name: evil\nversion: 0.1.0\ndisplay_name: {words}\n"
        f"description: {words}\n{words}: {words}\n"
    )

    async def fill() -> None:
        database = Database(home.database)
        await database.open()
        await database.transact(seed)
        await database.close()

    home.database.parent.mkdir(exist_ok=True)
    asyncio.run(fill())
    return home


def shown(home: Home, *verb: str) -> str:
    """What a terminal gets of a verb, standard error included."""
    ours, theirs = pty.openpty()
    program = begin(("--home", str(home.path), *verb), stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = bytearray()
    try:
        while piece := _read(ours):
            found += piece
        program.join(WITHIN_S)
    finally:
        program.kill()
        program.join()
        os.close(ours)
    return found.decode().replace("\r\n", "\n")  # what the terminal itself adds


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # nobody is at its other end any more
        return b""


VERBS = (
    ("session", "list"),
    ("session", "show", "ID"),
    ("session", "show", EVIL),
    ("trace", "TURN"),
    ("logs",),
    ("usage",),
    ("status",),
    ("doctor",),
    ("config", "show"),
    ("config", "get", EVIL),
    ("config", "validate"),
    ("cron", "list"),
    ("pack", "list"),
    ("pack", "info", "evil"),
    ("pack", "info", EVIL),
    ("pack", "validate", "PACK"),
    ("pack", "install", EVIL),
    ("backup", EVIL),
    ("pack", "export", "PACK"),
    ("pack", "sign", "PACK"),
    ("pack", "new", EVIL),
    ("pack", "test", "PACK"),
    ("pack", "test", EVIL),
    ("pack", "upgrade", EVIL),
    ("restore", EVIL),
    ("init",),
    ("start",),
    ("stop",),
    ("restart",),
    ("reload",),
    ("chat",),
    ("chat", EVIL),
    ("dev", "PACK"),
    ("dev", EVIL),
    ("config", "set", EVIL, EVIL),
    ("trace", EVIL),
    (EVIL,),
)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: " ".join(verb).encode("unicode_escape"))
def test_no_verb_says_a_sign_that_a_terminal_obeys(hostile: Home, verb: tuple[str, ...]) -> None:
    token, turn = _ids(hostile)
    names = {"ID": token, "TURN": turn, "PACK": str(hostile.packs / "evil")}
    text = shown(hostile, *(names.get(word, word) for word in verb))

    assert text
    assert OBEYED.findall(text) == []


SOUND = (
    ("chat", "PACK"),
    ("chat", "evil"),
    ("dev", "PACK"),
    ("reload",),
    ("status",),
    ("doctor",),
    ("pack", "export", "PACK"),
    ("pack", "link", "PACK"),
    ("pack", "permissions", "evil"),
    ("pack", "sign", "PACK"),
    ("pack", "test", "PACK"),
    ("pack", "uninstall", "evil"),
    ("start",),
    ("usage",),
)


@pytest.mark.parametrize("verb", SOUND, ids=" ".join)
def test_nor_does_one_whose_settings_are_sound(hostile: Home, verb: tuple[str, ...]) -> None:
    hostile.config.write_text("{}")
    names = {"PACK": str(hostile.packs / "evil")}
    text = shown(hostile, *(names.get(word, word) for word in verb))

    assert text
    assert OBEYED.findall(text) == []


@pytest.mark.parametrize("verb", [("session", "list"), ("session", "show", "ID"), ("pack", "list")])
def test_json_is_json_and_ascii(hostile: Home, verb: tuple[str, ...]) -> None:
    token, _ = _ids(hostile)
    hostile.config.write_text("{}")
    text = shown(hostile, *(token if word == "ID" else word for word in verb), "--json")

    assert json.loads(text)
    assert text.isascii()


def test_what_was_said_is_there_with_its_signs_written_out(hostile: Home) -> None:
    text = shown(hostile, "session", "show", _ids(hostile)[0])

    assert r"a\u001b[2Jb\u009b31mc\u202ed\u2066e\u0007f" in text


@given(st.text())
def test_printable_text_is_the_same_json_and_harmless(text: str) -> None:
    """What has none of these signs is unchanged."""
    shown = printable(text)

    assert OBEYED.findall(shown) == []
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == json.loads(
        json.dumps(text)
    )
    assert shown == text or printable(shown) == shown


def _ids(home: Home) -> tuple[str, str]:
    """The session's token, and the turn's id."""
    import sqlite3

    rows = sqlite3.connect(Path(home.database)).execute("SELECT session_id, id FROM turns")
    session, turn = rows.fetchone()
    return session.rpartition("/")[2], turn
