"""Names of files as strangers give them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import _NAME_BYTES, Attachment, safe_name
from aouo.facts.events import Album, Attached, Command, Content, Inbound, Person, Shown, Text
from aouo.flow.media import prune_files, remove_files

WHERE = ConversationAddress("tg", "-5", "7")
HERS = Inbound(WHERE, Person("1"), Text("hi"))


@given(st.text(max_size=400))
def test_a_safe_name_is_one_name_in_one_folder_on_one_line(name: str) -> None:
    safe = safe_name(name)

    assert len(safe.encode()) <= _NAME_BYTES
    assert safe == safe_name(safe)
    assert not set(safe) & set("/\\\0\n\r[]")
    assert not safe.startswith(".")
    assert safe.isprintable()


def test_a_long_name_keeps_its_ending() -> None:
    assert safe_name("ü" * 300 + ".pdf").endswith("ü.pdf")


@pytest.mark.parametrize(
    "content",
    [
        Text("hi", ("[in reply]",)),
        Shown("[dice 🎲: 4]", ("[in reply]",)),
        Attached(Attachment("voice", "f", duration_s=3, size_bytes=9), ("[in reply]",)),
        Attached(
            Attachment("photo", "f", caption="/otr hm"), command=Command("otr", "hm", "/otr hm")
        ),
        Album(
            "g",
            (Attachment("photo", "f"), Attachment("video", "g", "a.mp4", "video/mp4")),
            late=True,
        ),
    ],
)
def test_what_was_stored_is_read_back(content: Content) -> None:
    inbound = Inbound(WHERE, Person("1", "Ada"), content, "forum", 3)

    assert Inbound.load(inbound.dump()) == inbound


def test_what_an_older_version_stored_is_read() -> None:
    old = (
        '{"address":{"platform":"tg","chat_id":"-5","thread_id":"7","user_id":""},'
        '"person":{"id":"1","name":"","language":""},"chat_kind":"forum","message_id":3,'
        '"addressed":true,"title":"","origin":"chat","content":{"text":"hi","kind":"Text"}}'
    )

    assert Inbound.load(old) == Inbound(WHERE, Person("1"), Text("hi"), "forum", 3)


def keep(media: Path, name: str, size: int, written_s: float) -> str:
    file = media / "tg_1" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(bytes(size))
    os.utime(file, (written_s, written_s))
    return f"tg_1/{name}"


def test_old_files_go_and_then_the_oldest_above_the_quota(tmp_path: Path) -> None:
    paths = [keep(tmp_path, f"{n}_0_x", 100, 1_000.0 + n) for n in range(6)]

    assert prune_files(tmp_path, 1_002.0, quota_bytes=1_000) == paths[:2]
    assert prune_files(tmp_path, 0.0, quota_bytes=250) == paths[2:4]
    assert prune_files(tmp_path, 9_999.0, quota_bytes=250) == paths[4:]
    assert list(tmp_path.glob("*/*")) == []


def test_a_job_s_files_are_found_by_its_number_only(tmp_path: Path) -> None:
    for name in ("1_0_a", ".1_1_b.part", "11_0_a", "2_1_1_0_a"):
        keep(tmp_path, name, 1, 1.0)
    remove_files(tmp_path, 1, HERS)

    assert sorted(file.name for file in tmp_path.glob("*/*")) == ["11_0_a", "2_1_1_0_a"]
