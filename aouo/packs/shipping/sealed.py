"""Locks a file with a passphrase in the age format, which `age --decrypt` opens too.

Source: C2SP's specification of age-encryption.org/v1, here with its scrypt recipient.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import unicodedata
from pathlib import Path
from typing import IO

from aouo.facts.errors import PackError
from aouo.packs.shipping.zipped import open_file

_INTRO = b"age-encryption.org/v1\n"
_HEADER = re.compile(
    rb"(age-encryption\.org/v1\n"
    rb"-> scrypt ([A-Za-z0-9+/]{22}) ([1-9][0-9]?)\n"  # salt, log2 of the work
    rb"([A-Za-z0-9+/]{43})\n"  # the file's key, locked with the passphrase's
    rb"---) ([A-Za-z0-9+/]{43})\n"  # a MAC over all before
)
_HEADER_LINES, _LINE_BYTES = 4, 64
_LOG2_N = 16  # 64 MiB and a fifth of a second
_MOST_LOG2_N = 18  # what `age --passphrase` writes: 256 MiB
_KEY_BYTES = _SALT_BYTES = _NONCE_BYTES = _TAG_BYTES = 16
_CHUNK_BYTES = 64 * 1024
_BEFORE_AGE = b"AOUOSEAL"


def is_sealed(path: Path) -> bool:
    """Whether a passphrase is needed to read this file.

    Raises:
        PackError: it cannot be read, or is locked in the format of before the first release.
    """
    try:
        with open_file(path) as file:
            begins = file.read(len(_INTRO))
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
    if begins.startswith(_BEFORE_AGE):
        raise PackError(
            f"{path} was locked by an aouo from before its first release.",
            fix="Restore it with that one, and make a new backup there without a passphrase.",
        )
    return begins == _INTRO


def seal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Write `source` to `target`, locked."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    key, salt, nonce = map(os.urandom, (_KEY_BYTES, _SALT_BYTES, _NONCE_BYTES))
    lock = ChaCha20Poly1305(_lock_key(passphrase, salt, _LOG2_N))
    locked = _spelled(lock.encrypt(bytes(12), key, None))
    header = _INTRO + b"-> scrypt %s %d\n%s\n---" % (_spelled(salt), _LOG2_N, locked)
    target.write(b"%s %s\n%s" % (header, _mac(key, header), nonce))
    cipher = ChaCha20Poly1305(_derived(key, nonce, b"payload"))
    number, chunk = 0, source.read(_CHUNK_BYTES)
    while True:
        following = source.read(_CHUNK_BYTES)
        target.write(cipher.encrypt(_counted(number, last=not following), chunk, None))
        if not following:
            return
        number, chunk = number + 1, following


def unseal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Write what was sealed in `source` to `target`.

    Raises:
        PackError: the passphrase is wrong, or the file is damaged or cut; `target` may hold a
            part of it.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    key = _file_key(source, passphrase)
    cipher = ChaCha20Poly1305(_derived(key, source.read(_NONCE_BYTES), b"payload"))
    number, chunk = 0, source.read(_CHUNK_BYTES + _TAG_BYTES)
    while True:
        following = source.read(_CHUNK_BYTES + _TAG_BYTES)
        try:
            target.write(cipher.decrypt(_counted(number, last=not following), chunk, None))
        except InvalidTag as error:
            raise PackError("This backup is damaged.", fix="Use another copy.") from error
        if not following:
            return
        number, chunk = number + 1, following


def _file_key(source: IO[bytes], passphrase: str) -> bytes:
    """The key of the chunks, out of the header.

    Raises:
        PackError: the passphrase is wrong, or the header is damaged or of another kind.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    lines = b"".join(source.readline(_LINE_BYTES) for _ in range(_HEADER_LINES))
    found = _HEADER.fullmatch(lines)
    if found is None or int(found[3]) > _MOST_LOG2_N:
        raise PackError(
            "This backup is damaged, or locked in another way than `aouo pack backup` does.",
            fix="Use another copy, or restore what `age --decrypt` makes of it.",
        )
    header, salt, log2_n, locked, mac = found.groups()
    lock = ChaCha20Poly1305(_lock_key(passphrase, _read_sealed(salt), int(log2_n)))
    try:
        key = lock.decrypt(bytes(12), _read_sealed(locked), None)
    except InvalidTag as error:
        raise PackError(
            "The passphrase is wrong.", fix="Nothing was changed; try another one."
        ) from error
    if not hmac.compare_digest(mac, _mac(key, header)):
        raise PackError("This backup is damaged.", fix="Use another copy.")
    return key


def _lock_key(passphrase: str, salt: bytes, log2_n: int) -> bytes:
    return hashlib.scrypt(
        unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"),
        salt=b"age-encryption.org/v1/scrypt" + salt,
        n=1 << log2_n,
        r=8,
        p=1,
        maxmem=(1024 << log2_n) + 64 * 1024 * 1024,
        dklen=32,
    )


def _mac(key: bytes, header: bytes) -> bytes:
    return _spelled(hmac.digest(_derived(key, b"", b"header"), header, "sha256"))


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length=32, salt=salt, info=purpose).derive(key)


def _counted(number: int, *, last: bool) -> bytes:
    """The nonce of a chunk: so none can be lost, moved or added."""
    return number.to_bytes(11, "big") + bytes((last,))


def _spelled(value: bytes) -> bytes:
    return base64.b64encode(value).rstrip(b"=")


def _read_sealed(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4))
