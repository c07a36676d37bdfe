"""Rows of installed packs, and of the changes that install, upgrade or remove one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal["install", "upgrade", "remove"]


ChangeState: TypeAlias = Literal["offered", "begun", "done", "declined", "failed"]


@dataclass(frozen=True, slots=True)
class Install:
    """A pack that was installed from an archive, a folder or an address; not one that is linked.

    `digest` is the hash of its files, `signer` the id of the key that signed them, "" = none.
    """

    pack: str
    version: str
    digest: str
    source: str
    signer: str
    person: str
    installed_at: str


@dataclass(frozen=True, slots=True)
class Change:
    """One installation, upgrade or removal, from the question to its end.

    `why` says what failed. `purge`: the removal also deletes the pack's data.
    """

    id: str
    pack: str
    kind: ChangeKind
    state: ChangeState
    version: str
    digest: str
    source: str
    signer: str
    person: str
    created_at: str
    why: str = ""
    purge: bool = False
