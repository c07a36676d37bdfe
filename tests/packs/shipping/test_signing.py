"""Who made an app: signatures in minisign's format, and what each kind of forgery looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aouo.facts.errors import PackError, SetupError
from aouo.packs.shipping.archive import SIGNATURE_FILE, pack_archive
from aouo.packs.shipping.signing import (
    SecretKey,
    Signature,
    _read_public_key,
    check,
    new_key,
    read_secret_key,
    sign_app,
    verify,
)
from tests.packs.writing import MakePack

# Made by minisign itself. Source: the test vectors of minisign-verify, whose message is "test".
THEIRS = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
BOX = (
    "RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo"
    "8KLzZwo="
)
BY_MINISIGN = (
    "untrusted comment: signature from minisign secret key\n"
    f"{BOX}\n"
    "trusted comment: timestamp:1556193335\tfile:test\n"
    "y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n"
)


@pytest.fixture
def key() -> SecretKey:
    return new_key()


def signed(folder: Path, key: SecretKey) -> Path:
    (folder / SIGNATURE_FILE).write_bytes(sign_app(folder, key, "test 1.0.0"))
    return folder


def test_what_minisign_signed_is_verified():
    keys = {"them": _read_public_key(THEIRS)}

    found = check(BY_MINISIGN, b"test", keys)

    assert found == Signature(
        "valid", "E7620F1842B4E81F", "timestamp:1556193335\tfile:test", THEIRS, "them"
    )
    assert check(BY_MINISIGN.replace("\n", "\r\n"), b"test", keys).state == "valid"
    assert check(BY_MINISIGN, b"Test", keys).state == "wrong"
    assert check(BY_MINISIGN.replace("file:test", "file:best"), b"test", keys).state == "wrong"
    assert check(BY_MINISIGN, b"test", {}) == Signature(
        "unknown_key", "E7620F1842B4E81F", "timestamp:1556193335\tfile:test"
    )


def test_a_signed_app_is_known_in_its_folder_and_in_its_archive(
    make_pack: MakePack, key: SecretKey, tmp_path: Path
):
    folder = signed(make_pack(), key)
    archive = tmp_path / "x.aouo"
    pack_archive(folder, archive)
    trusted = {"Ada": key.public}

    assert verify(folder, trusted) == verify(archive, trusted)
    assert verify(archive, trusted) == Signature(
        "valid", key.key_id[::-1].hex().upper(), "test 1.0.0", key.public, "Ada"
    )


def test_a_key_that_nobody_trusts_is_still_told_from_another(make_pack: MakePack, key: SecretKey):
    found = verify(signed(make_pack(), key))

    assert (found.state, found.key, found.name) == ("unknown_key", key.public, "")


def test_an_app_without_a_signature_has_none(make_pack: MakePack):
    assert verify(make_pack()) == Signature()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file": lambda folder: (folder / "schema.sql").write_text("SELECT 1"),
    "a new file": lambda folder: (folder / "tools.md").write_text(""),
    "a file gone": lambda folder: (folder / "schema.sql").unlink(),
    "no signature in it": lambda folder: (folder / SIGNATURE_FILE).write_text("signed by me"),
    "empty": lambda folder: (folder / SIGNATURE_FILE).write_text(""),
    "not text": lambda folder: (folder / SIGNATURE_FILE).write_bytes(b"\xff" * 9000),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("is_trusted", [True, False])
def test_whatever_was_changed_after_signing_is_wrong_and_refused(
    change: Callable[[Path], object], is_trusted: bool, make_pack: MakePack, key: SecretKey
):
    folder = signed(make_pack(), key)
    change(folder)

    found = verify(folder, {"Ada": key.public} if is_trusted else {})

    assert found.state == "wrong"
    with pytest.raises(PackError, match="signature of this pack is wrong"):
        found.refuse_wrong()


def test_the_id_of_a_trusted_key_is_not_enough(make_pack: MakePack, key: SecretKey):
    """An id is eight bytes that anybody can write into a key of their own."""
    forger = SecretKey(key.key_id, new_key().seed)

    found = verify(signed(make_pack(), forger), {"Ada": key.public})

    assert found.state == "wrong"


def test_a_signature_that_names_a_key_it_was_not_made_with_is_wrong(
    make_pack: MakePack, key: SecretKey
):
    folder = signed(make_pack(), key)
    file = folder / SIGNATURE_FILE
    for stranger in (new_key(), SecretKey(key.key_id, new_key().seed)):
        text = file.read_text().replace(key.public, stranger.public)
        assert check(text, b"", {}).state == "wrong"


def test_a_signature_beside_the_file_counts(make_pack: MakePack, key: SecretKey, tmp_path: Path):
    from aouo.packs.shipping.signing import _signed

    folder, archive = make_pack(root="."), tmp_path / "test.aouo"
    pack_archive(folder, archive)
    detached = tmp_path / "test.aouo.minisig"
    detached.write_bytes(_signed(archive.read_bytes(), key, "by hand", "hello"))
    trusted = {"Ada": key.public}

    assert (verify(archive, trusted).state, verify(folder, trusted).state) == ("valid", "valid")

    (folder / "new.md").write_text("not what was signed")
    assert verify(folder, trusted).state == "none"

    archive.write_bytes(archive.read_bytes()[:-22] + bytes(4) + archive.read_bytes()[-22:])
    with pytest.raises(PackError):
        verify(archive, trusted).refuse_wrong()


def test_a_secret_key_file_comes_back_as_it_was_written(key: SecretKey):
    assert read_secret_key(key.text) == key
    assert repr(key.seed) not in repr(key)


SPOILED: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda _: "", "not a secret key"),
    "text": (lambda _: "hello", "not a secret key"),
    "a public key": (lambda _: THEIRS, "not a secret key"),
    "locked": (lambda text: text.replace("RWQAAEIy", "RWRTY0Iy"), "locked with a passphrase"),
    "damaged": (lambda text: text[:-9] + "AAAA" + text[-5:], "damaged"),
}


@pytest.mark.parametrize(("change", "why"), SPOILED.values(), ids=SPOILED.keys())
def test_a_secret_key_that_cannot_be_used_says_why(
    change: Callable[[str], str], why: str, key: SecretKey
):
    with pytest.raises(SetupError, match=why):
        read_secret_key(change(key.text))


def test_a_trusted_key_that_is_none_names_the_setting(make_pack: MakePack):
    with pytest.raises(SetupError, match=r"packs\.trusted_keys\.Ada is not a public key"):
        verify(make_pack(), {"Ada": "RWnonsense"})
