"""Keeps what people set: their time zones; and what the owner set for packs.

`<home>/data/settings/<pack>.json` holds settings as they are, and secrets locked with a key of the
home, `.key` beside them, which is in no export and no backup of a pack.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aouo.facts.events import Person
from aouo.packs.actions import slots
from aouo.packs.actions.slots import Here, Misread
from aouo.packs.format.manifest import Manifest
from aouo.packs.format.problems import did_you_mean
from aouo.plumbing.home import write_atomically
from aouo.plumbing.logs import log

_NONCE_BYTES, _KEY_BYTES = 12, 32
_VALUE_MAX = 8_000


@dataclass(frozen=True, slots=True)
class Kept:
    """The settings of all packs, below one folder; what is set counts from the next call."""

    folder: Path

    def settings(self, manifest: Manifest) -> dict[str, object]:
        """Return the settings of a pack, those that nobody set with their default."""
        kept = self._read(manifest.name)["settings"]
        return {name: kept.get(name, one.default) for name, one in manifest.settings.items()}

    def secret(self, pack: str, name: str) -> str:
        """Return a secret, "" = it is not set, or its key is gone."""
        locked = self._read(pack)["secrets"].get(name)
        return self._unlocked(str(locked)) if locked else ""

    def is_set(self, pack: str, name: str) -> bool:
        return name in self._read(pack)["secrets"]

    def secrets(self) -> tuple[str, ...]:
        """Return all secrets that are set, for the redactor."""
        packs = [file.stem for file in sorted(self.folder.glob("*.json"))]
        found = (self.secret(pack, name) for pack in packs for name in self._read(pack)["secrets"])
        return tuple(filter(None, found))

    def put(self, manifest: Manifest, name: str, said: str, here: Here) -> object:
        """Set a setting or a secret to what was said, "" = back to its default, or not set; return
        the value of a setting.

        Raises:
            Misread: there is none of that name, or it takes no such value, or what is kept cannot
                be read, and is not written over.
        """
        kept, value = self._kept(manifest.name), said.strip()
        if kept is None:
            raise Misread("unreadable", file=f"{manifest.name}.json")
        if len(value) > _VALUE_MAX:
            raise Misread("long", most=_VALUE_MAX)
        if name in manifest.secrets:
            kept["secrets"].pop(name, None)
            if value:
                kept["secrets"][name] = self._locked(value)
            self._write(manifest.name, kept)
            return None
        wanted = manifest.settings.get(name)
        if wanted is None:
            near = did_you_mean(name, (*manifest.settings, *manifest.secrets))
            raise Misread("no-setting", name=name[:40], near=near)
        kept["settings"].pop(name, None)
        if value:
            kept["settings"][name] = _read(value, wanted.kind, wanted.choices, here)
        self._write(manifest.name, kept)
        return kept["settings"].get(name, wanted.default)

    def _read(self, pack: str) -> dict[str, dict[str, Any]]:
        return self._kept(pack) or {"settings": {}, "secrets": {}}

    def _kept(self, pack: str) -> dict[str, dict[str, Any]] | None:
        """Return what is kept for a pack, None = it cannot be read."""
        try:
            kept: Any = json.loads((self.folder / f"{pack}.json").read_text("utf-8"))
            return {one: dict[str, Any](kept[one]) for one in ("settings", "secrets")}
        except FileNotFoundError:
            return {"settings": {}, "secrets": {}}
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            log.error("pack_settings_unreadable", pack=pack, error=repr(error))
            return None

    def _write(self, pack: str, kept: Mapping[str, Mapping[str, object]]) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self.folder / f"{pack}.json", json.dumps(kept, ensure_ascii=False))

    def _locked(self, value: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        nonce = os.urandom(_NONCE_BYTES)
        locked = ChaCha20Poly1305(self._key()).encrypt(nonce, value.encode(), None)
        return base64.b64encode(nonce + locked).decode()

    def _unlocked(self, locked: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        whole = base64.b64decode(locked)
        try:
            cipher = ChaCha20Poly1305(self._key())
            return cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], None).decode()
        except (InvalidTag, ValueError):
            log.error("pack_secret_unreadable")
            return ""

    def _key(self) -> bytes:
        file = self.folder / ".key"
        if not file.is_file():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(file, base64.b64encode(os.urandom(_KEY_BYTES)).decode())
        return base64.b64decode(file.read_text("ascii"))


def _read(said: str, kind: str, choices: tuple[str, ...], here: Here) -> object:
    if kind == "choice":
        if said not in choices:
            raise Misread("no-choice", choices=", ".join(choices))
        return said
    return slots.stored(kind, slots.read(kind, said, here))


class PersonValues:
    """What people have set for themselves, such as zones, by their ids, kept in one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            found: dict[str, str] = json.loads(file.read_text("utf-8"))
            self._named = {str(person): str(name) for person, name in found.items()}
        except (OSError, ValueError, AttributeError):  # none has set one
            self._named = {}

    def of(self, person: str) -> str:
        """Return what a person has set, "" = nothing."""
        return self._named.get(person, "")

    def put(self, person: str, name: str) -> None:
        self._named = {**self._named, person: name}
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self._file, json.dumps(self._named))


@dataclass(frozen=True, slots=True)
class Languages:
    """Which language a person is spoken to in: that they chose, else that of their Telegram."""

    chosen: PersonValues
    seen: PersonValues

    def of(self, person: Person) -> str:
        """Return a person's language, and remember that of their Telegram for what begins by
        itself."""
        if person.language and self.seen.of(person.id) != person.language:
            self.seen.put(person.id, person.language)
        return self.of_id(person.id)

    def of_id(self, person: str) -> str:
        return self.chosen.of(person) or self.seen.of(person)
