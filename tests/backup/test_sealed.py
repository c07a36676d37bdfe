"""A locked backup is in the age format, and none that was touched is read.

Source: C2SP's age-encryption.org/v1; issue 29, "One backup".
"""

from __future__ import annotations

import base64
import io

import pyrage
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.backup.sealed import Sealing, Unsealing
from aouo.facts.errors import SetupError

CHUNK = 64 * 1024
LOCKED_BY_AGE = (
    "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCA0aXplbnk1YnhQUXBDWmxXcE1oNi9RIDE4CmFGTmYxRVdF"
    "aG42NnZkNzUvVVRUa1FnRTF6dC84akI1aG4xV2wwSFgveDAKLS0tIExJcGR6WEhSUGZ1RDFLdUVjTmFQeGEydVo2"
    "bnRoSnFkbVllMVJVREU5M00Kxw1XGnC0Tkmh2PU/qeH2iMFbj/miK4s6kFSwnD2YGMLzYsKcD3hfWfemhhJaGU8="
)


def sealed(content: bytes, passphrase: str, *, step: int = 0) -> bytes:
    out = io.BytesIO()
    sealing = Sealing(out, passphrase)
    for at in range(0, len(content), step or len(content) or 1):
        sealing.write(content[at : at + (step or len(content))])
    sealing.close()
    return out.getvalue()


def unsealed(content: bytes, passphrase: str) -> bytes:
    return Unsealing(io.BytesIO(content), passphrase).readall() or b""


@given(
    content=st.binary(max_size=200_000),
    passphrase=st.text(min_size=1, max_size=20),
    step=st.integers(1, 100_000),
)
@settings(max_examples=4, deadline=None)
def test_what_is_sealed_is_unsealed(content: bytes, passphrase: str, step: int):
    assert unsealed(sealed(content, passphrase, step=step), passphrase) == content


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_another_implementation_of_age_opens_what_is_sealed(size: int):
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    assert pyrage.passphrase.decrypt(sealed(content, "pässword"), "pässword") == content  # pyright: ignore[reportAttributeAccessIssue]


def test_what_age_locked_with_a_passphrase_is_unsealed():
    """Made by `age --passphrase`, which does four times our work."""
    assert unsealed(base64.b64decode(LOCKED_BY_AGE), "correct horse") == b"kept by a pack\n"


def test_a_sealed_file_that_lost_moved_or_gained_anything_is_damaged():
    whole = sealed(bytes(range(256)) * 1024, "x")  # four chunks
    body = len(whole) - 4 * (CHUNK + 16)
    head, chunks, chunk = whole[:body], whole[body:], CHUNK + 16
    mac = whole.index(b"\n--- ") + 5
    swapped = head + chunks[chunk : 2 * chunk] + chunks[:chunk] + chunks[2 * chunk :]

    for spoiled in (
        whole[:-1],
        head + chunks[: 3 * chunk],
        head,
        swapped,
        whole + b"x",
        whole.replace(b" 16\n", b" 17\n", 1),
        whole.replace(b" 16\n", b" 99\n", 1),
        whole.replace(b"scrypt", b"x25519", 1),
        whole[: mac + 9] + bytes((whole[mac + 9] ^ 1,)) + whole[mac + 10 :],
        whole[:body] + bytes((whole[body] ^ 1,)) + whole[body + 1 :],
        whole[: body - 1] + bytes((whole[body - 1] ^ 1,)) + whole[body:],
        whole[:20],
        whole[: mac + 9],
        b"",
    ):
        with pytest.raises(SetupError, match=r"damaged|passphrase is wrong"):
            unsealed(spoiled, "x")
