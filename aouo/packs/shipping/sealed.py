"""A file locked with a passphrase: scrypt for the key, ChaCha20-Poly1305 in chunks.

    8 bytes   "AOUOSEAL"
    4 bytes   version 1, and scrypt's log2(n), r and p
    16 bytes  salt
    16 bytes  check of the passphrase: the beginning of a BLAKE2b keyed with half of the key
    then chunks of at most 64 KiB, each with its 16-byte tag; the header is authenticated with
    each, and its nonce counts them and marks the last, so none can be lost, moved or added.

Source: RFC 7914 (scrypt), RFC 8439 (ChaCha20-Poly1305); the nonces are those of the STREAM
construction, eprint.iacr.org/2015/189.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import unicodedata
from pathlib import Path
from typing import IO

from aouo.facts.errors import PackError
from aouo.packs.shipping.zipped import open_file

_MAGIC = b"AOUOSEAL"
_VERSION = 1
_LOG2_N, _R, _P = 16, 8, 1  # 64 MiB and a fifth of a second
_MAX_LOG2_N = 18
_SALT_BYTES = _CHECK_BYTES = _TAG_BYTES = 16
_HEADER_BYTES = len(_MAGIC) + 4 + _SALT_BYTES
_CHUNK_BYTES = 64 * 1024


def is_sealed(path: Path) -> bool:
    """Whether a passphrase is needed to read this file.

    Raises:
        PackError: it cannot be read.
    """
    try:
        with open_file(path) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error


def seal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Write `source` to `target`, locked."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    header = _MAGIC + bytes((_VERSION, _LOG2_N, _R, _P)) + os.urandom(_SALT_BYTES)
    key, check = _keys(header, passphrase)
    target.write(header + check)
    cipher, number, chunk = ChaCha20Poly1305(key), 0, source.read(_CHUNK_BYTES)
    while True:
        following = source.read(_CHUNK_BYTES)
        target.write(cipher.encrypt(_nonce(number, last=not following), chunk, header))
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

    header, check = source.read(_HEADER_BYTES), source.read(_CHECK_BYTES)
    settings = header[len(_MAGIC) : len(_MAGIC) + 4]
    if len(check) < _CHECK_BYTES or settings[0] != _VERSION:
        raise PackError("This backup is damaged, or of a newer kind.", fix="Use another copy.")
    if settings[1] > _MAX_LOG2_N or settings[2:] != bytes((_R, _P)):
        raise PackError("This backup is damaged.", fix="Use another copy.")
    key, expected = _keys(header, passphrase)
    if not hmac.compare_digest(check, expected):
        raise PackError("The passphrase is wrong.", fix="Nothing was changed; try another one.")
    cipher, number = ChaCha20Poly1305(key), 0
    chunk = source.read(_CHUNK_BYTES + _TAG_BYTES)
    while True:
        following = source.read(_CHUNK_BYTES + _TAG_BYTES)
        try:
            target.write(cipher.decrypt(_nonce(number, last=not following), chunk, header))
        except InvalidTag as error:
            raise PackError("This backup is damaged.", fix="Use another copy.") from error
        if not following:
            return
        number, chunk = number + 1, following


def _keys(header: bytes, passphrase: str) -> tuple[bytes, bytes]:
    """The key of the chunks, and the check that tells a wrong passphrase from damage."""
    _, log2_n, r, p = header[len(_MAGIC) : len(_MAGIC) + 4]
    both = hashlib.scrypt(
        unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"),
        salt=header[-_SALT_BYTES:],
        n=1 << log2_n,
        r=r,
        p=p,
        maxmem=(128 * r << log2_n) + 64 * 1024 * 1024,
        dklen=64,
    )
    check = hashlib.blake2b(header, key=both[32:], digest_size=_CHECK_BYTES).digest()
    return both[:32], check


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes((last,))
