"""Locks a file with a passphrase in the age format, which `age --decrypt` opens too.

Source: C2SP's specification of age-encryption.org/v1, here with its scrypt recipient.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import os
import re
import unicodedata
from typing import IO, Any

from aouo.facts.errors import SetupError

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


def begins_sealed(start: bytes) -> bool:
    """Whether a file that begins so needs a passphrase."""
    return start.startswith(_INTRO)


class Sealing:
    """Locks what is written to it; `close` ends it, and leaves `target` open."""

    def __init__(self, target: IO[bytes], passphrase: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        key, salt, nonce = map(os.urandom, (_KEY_BYTES, _SALT_BYTES, _NONCE_BYTES))
        lock = ChaCha20Poly1305(_lock_key(passphrase, salt, _LOG2_N))
        locked = _spelled(lock.encrypt(bytes(12), key, None))
        header = _INTRO + b"-> scrypt %s %d\n%s\n---" % (_spelled(salt), _LOG2_N, locked)
        target.write(b"%s %s\n%s" % (header, _mac(key, header), nonce))
        self._target = target
        self._cipher = ChaCha20Poly1305(_derived(key, nonce, b"payload"))
        self._number = 0
        self._waiting = bytearray()

    def write(self, data: bytes, /) -> int:
        self._waiting += data
        at = 0
        while len(self._waiting) - at > _CHUNK_BYTES:  # the last chunk is known at the end only
            self._put(self._waiting[at : at + _CHUNK_BYTES], last=False)
            at += _CHUNK_BYTES
        del self._waiting[:at]
        return len(data)

    def close(self) -> None:
        self._put(self._waiting, last=True)

    def _put(self, chunk: bytes | bytearray, *, last: bool) -> None:
        self._target.write(self._cipher.encrypt(_counted(self._number, last=last), chunk, None))
        self._number += 1


class Unsealing(io.RawIOBase):
    """Reads what was sealed in `source`.

    Raises:
        SetupError: the passphrase is wrong, or the file is damaged or cut.
    """

    def __init__(self, source: IO[bytes], passphrase: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        key = _file_key(source, passphrase)
        self._source = source
        self._cipher = ChaCha20Poly1305(_derived(key, source.read(_NONCE_BYTES), b"payload"))
        self._number = 0
        self._chunk = source.read(_CHUNK_BYTES + _TAG_BYTES)
        self._ready = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._ready and not self._ended:
            self._ready = memoryview(self._opened())
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _opened(self) -> bytes:
        from cryptography.exceptions import InvalidTag

        following = self._source.read(_CHUNK_BYTES + _TAG_BYTES)
        try:
            nonce = _counted(self._number, last=not following)
            plain = self._cipher.decrypt(nonce, self._chunk, None)
        except InvalidTag as error:
            raise damaged() from error
        self._number, self._chunk, self._ended = self._number + 1, following, not following
        return plain


def damaged() -> SetupError:
    """Return the error of a backup that is not what was written."""
    return SetupError("This backup is damaged or cut.", fix="Use another copy.", exit_code=1)


def _file_key(source: IO[bytes], passphrase: str) -> bytes:
    """The key of the chunks, out of the header.

    Raises:
        SetupError: the passphrase is wrong, or the header is damaged or of another kind.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    lines = b"".join(source.readline(_LINE_BYTES) for _ in range(_HEADER_LINES))
    found = _HEADER.fullmatch(lines)
    if found is None or int(found[3]) > _MOST_LOG2_N:
        raise SetupError(
            "This backup is damaged, or locked in another way than `aouo backup` does.",
            fix="Use another copy, or restore what `age --decrypt` makes of it.",
            exit_code=1,
        )
    header, salt, log2_n, locked, mac = found.groups()
    lock = ChaCha20Poly1305(_lock_key(passphrase, _read_sealed(salt), int(log2_n)))
    try:
        key = lock.decrypt(bytes(12), _read_sealed(locked), None)
    except InvalidTag as error:
        raise SetupError(
            "The passphrase is wrong.", fix="Nothing was changed; try another one.", exit_code=1
        ) from error
    if not hmac.compare_digest(mac, _mac(key, header)):
        raise damaged()
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
