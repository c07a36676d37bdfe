"""Signs and verifies apps: ed25519 in minisign's format, inside an app or beside its file.

Inside (`aouo.sig`) it is over the app's content hash, so it holds for folder and archive alike,
and its first line carries the public key: a later version can be held against the same key
also where the owner trusts none. Beside (`app.aouo.minisig`, by `minisign -S`) it is over the
bytes of the file.

Source: jedisct1.github.io/minisign, "Signature format", "Public key format", "Secret key format".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aouo.facts.errors import PackError, SetupError
from aouo.packs.shipping.archive import SIGNATURE_FILE, SUFFIX, app_files, content_hash, unpack
from aouo.plumbing.trees import workshop

_State = Literal["none", "valid", "unknown_key", "wrong"]
_DIRECT, _HASHED = b"Ed", b"ED"
_MAX_BYTES = 8 * 1024
_KEY = re.compile(r"\bRW[QRST][A-Za-z0-9+/]{53}(?![A-Za-z0-9+/=])")
_SECRET_BYTES = 158
_UNLOCKED = b"\0\0"


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of who made an app.

    `valid`: by a key the owner trusts, called `name`; `unknown_key`: perhaps sound, by nobody
    known; `wrong`: never install it. `key` is the public key that it was verified with, "" =
    none was. `comment` is the signer's own and signed too, or says why it is wrong.
    """

    state: _State = "none"
    key_id: str = ""
    comment: str = ""
    key: str = ""
    name: str = ""

    def refuse_wrong(self) -> None:
        """Raises:
        PackError: the signature is wrong.
        """
        if self.state == "wrong":
            raise PackError(
                f"The signature of this pack is wrong: {self.comment}.",
                fix="It was changed after it was signed, or is damaged: get it from its author.",
            )


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A key to sign with; `seed` never appears in a repr."""

    key_id: bytes
    seed: bytes = field(repr=False)

    @property
    def public(self) -> str:
        """The public key in minisign's format: the line that people copy."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        raw = Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        return base64.b64encode(_DIRECT + self.key_id + raw).decode()

    @property
    def text(self) -> str:
        """The secret key file, as `minisign -W` writes one: without a passphrase."""
        pair = self.key_id + self.seed + _raw(self.public)
        check = hashlib.blake2b(_DIRECT + pair, digest_size=32).digest()
        body = _DIRECT + _UNLOCKED + b"B2" + bytes(48) + pair + check
        return f"untrusted comment: aouo secret key\n{base64.b64encode(body).decode()}\n"


def new_key() -> SecretKey:
    """A fresh key."""
    return SecretKey(os.urandom(8), os.urandom(32))


def read_secret_key(text: str) -> SecretKey:
    """Read the text of a secret key file.

    Raises:
        SetupError: not one, damaged, or locked with a passphrase.
    """
    lines = text.strip().splitlines()
    body = _decoded(lines[-1] if lines else "")
    if len(body) != _SECRET_BYTES or body[:2] != _DIRECT:
        raise SetupError("This is not a secret key.", fix="Make one with `aouo pack keygen`.")
    if body[2:4] != _UNLOCKED:
        raise SetupError(
            "This key is locked with a passphrase, which only minisign opens.",
            fix=f"Run `minisign -S -m FILE{SUFFIX}`; the .minisig beside the file is read too.",
        )
    pair, check = body[54:126], body[126:]
    if hashlib.blake2b(_DIRECT + pair, digest_size=32).digest() != check:
        raise SetupError("This secret key is damaged.", fix="Use another copy of the file.")
    key = SecretKey(pair[:8], pair[8:40])
    if _raw(key.public) != pair[40:]:
        raise SetupError("This secret key is damaged.", fix="Use another copy of the file.")
    return key


def _read_public_key(text: str, name: str = "") -> str:
    """Return the line of a public key from that line, or from a file that ends in it.

    Raises:
        SetupError: it is none; `name` is what the owner called it.
    """
    line = (text.strip().splitlines() or [""])[-1].strip()
    body = _decoded(line)
    if len(body) != 42 or body[:2] != _DIRECT:
        raise SetupError(
            f"packs.trusted_keys.{name} is not a public key.",
            fix="It is one line that begins with RW, as `aouo pack keygen` prints it.",
        )
    return line


def sign_app(folder: Path, key: SecretKey, comment: str) -> bytes:
    """The content of `aouo.sig` for the app in `folder`; `comment` is one line and signed too.

    Raises:
        PackError: the folder is no pack.
    """
    line = f"signed with aouo, public key {key.public}"
    return _signed(_message(content_hash(folder)), key, line, comment)


def verify(path: Path, trusted: Mapping[str, str] | None = None) -> Signature:
    """Say who signed the app in a folder or an archive; `trusted`: name → public key.

    Beside an archive its `.minisig` counts too, and beside a folder that of `<folder>.aouo`
    while that holds the very same app, as `fetch_source` leaves it.

    Raises:
        PackError: no pack, or it cannot be read.
        SetupError: a trusted key is none.
    """
    keys = {name: _read_public_key(text, name) for name, text in (trusted or {}).items()}
    if path.is_dir():
        inside = _inside(path, keys)
        archive = path.with_name(path.name + SUFFIX)
        beside = _beside(archive, keys)
        if beside.state != "none" and _hash_of(archive) != content_hash(path):
            beside = Signature()
    else:
        with workshop("aouo-verify-") as work:
            inside = _inside(unpack(path, work / "app"), keys)
        beside = _beside(path, keys)
    order: tuple[_State, ...] = ("wrong", "valid", "unknown_key", "none")
    return min(inside, beside, key=lambda one: (order.index(one.state), not one.key))


def _hash_of(archive: Path) -> str:
    with workshop("aouo-verify-") as work:
        return content_hash(unpack(archive, work / "app"))


def _inside(folder: Path, keys: Mapping[str, str]) -> Signature:
    file = app_files(folder).get(SIGNATURE_FILE)
    if file is None:
        return Signature()
    return check(_read(file), _message(content_hash(folder)), keys)


def _beside(archive: Path, keys: Mapping[str, str]) -> Signature:
    file = archive.with_name(f"{archive.name}.minisig")
    if not file.is_file() or not archive.is_file():
        return Signature()
    return check(_read(file), archive.read_bytes(), keys)


def check(text: str, message: bytes, keys: Mapping[str, str]) -> Signature:
    """Judge one signature over `message`; `keys` are those that the owner trusts, by name."""
    lines = text.replace("\r\n", "\n").split("\n")
    box = _decoded(lines[1]) if len(lines) > 1 else b""
    prefix = "trusted comment: "
    if len(lines) < 4 or len(box) != 74 or not lines[2].startswith(prefix):
        return Signature("wrong", comment="it is not in the format of minisign")
    comment, whole = lines[2].removeprefix(prefix), _decoded(lines[3])
    method, key_id, signed = box[:2], box[2:10], box[10:]
    if method not in (_DIRECT, _HASHED):
        return Signature("wrong", comment="it is of an unknown kind")
    digest = message if method == _DIRECT else hashlib.blake2b(message, digest_size=64).digest()
    shown_id = key_id[::-1].hex().upper()

    def holds(key: str) -> bool:
        sound = _verifies(_raw(key), signed, digest)
        return sound and _verifies(_raw(key), whole, signed + comment.encode())

    known = {name: key for name, key in keys.items() if _id_of(key) == key_id}
    for name, key in known.items():
        if holds(key):
            return Signature("valid", shown_id, comment, key, name)
    if known:
        return Signature("wrong", shown_id, f"it does not fit the key {next(iter(known))}")
    if carried := _KEY.search(lines[0]):
        key = _read_public_key(carried[0])
        if _id_of(key) != key_id or not holds(key):
            return Signature("wrong", shown_id, "it does not fit the key that it names")
        return Signature("unknown_key", shown_id, comment, key)
    return Signature("unknown_key", shown_id, comment)


def _message(content: str) -> bytes:
    """What is signed inside an app: told apart from any file that somebody might sign."""
    return f"aouo app content hash, version 1\n{content}\n".encode()


def _signed(message: bytes, key: SecretKey, untrusted: str, comment: str) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(key.seed)
    comment = " ".join(comment.split())
    signed = private.sign(hashlib.blake2b(message, digest_size=64).digest())
    box = base64.b64encode(_HASHED + key.key_id + signed).decode()
    whole = base64.b64encode(private.sign(signed + comment.encode())).decode()
    return (
        f"untrusted comment: {untrusted}\n{box}\ntrusted comment: {comment}\n{whole}\n"
    ).encode()


def _verifies(key: bytes, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _id_of(public: str) -> bytes:
    return _decoded(public)[2:10]


def _raw(public: str) -> bytes:
    return _decoded(public)[10:]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_BYTES + 1)[:_MAX_BYTES].decode("utf-8", "replace")
    except OSError as error:
        raise PackError(f"{file} cannot be read: {error.strerror or error}.") from error
