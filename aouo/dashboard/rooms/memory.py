"""Answers what packs remember of each person, and lets the owner edit it and take changes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aouo.dashboard.access import Shown, checked, described
from aouo.dashboard.endpoints import Endpoint, NotFound, NotShown
from aouo.dashboard.tables import beginning
from aouo.facts.errors import Refused, ToolFailed
from aouo.facts.ids import ulid
from aouo.facts.records import Cause, Version
from aouo.memory.edits import difference, digest
from aouo.memory.files import MemoryFiles
from aouo.memory.keeping import ChangedMeanwhile
from aouo.packs.databases import private_folders
from aouo.packs.stores import Memories
from aouo.plumbing.control import Facts
from aouo.store import memory_versions as history
from aouo.words.catalogue import text

_WORDS_CHARS = 2_000
_SECRET = "It holds what looks like a secret, which is left out here. Edit it where it lies."


def memory(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about memory."""
    room = _Room(shown)
    address = "/api/packs/{pack}/memory"
    return (
        Endpoint("GET", address, room.people),
        Endpoint("GET", f"{address}/{{tenant}}", room.files),
        Endpoint("GET", f"{address}/{{tenant}}/versions/{{number}}", room.version),
        Endpoint("POST", f"{address}/{{tenant}}/files/{{file}}", room.edit, body=True),
        Endpoint("POST", f"{address}/{{tenant}}/undo", room.undo, body=True),
    )


@dataclass(slots=True, eq=False)
class _Room:
    shown: Shown

    async def people(self, pack: str) -> Facts:
        """Whose memory a pack has."""
        folders = await self._folders(pack)
        sizes = await asyncio.to_thread(_sizes, folders)
        people = await described(self.shown, await self._tenants(pack, folders))
        return {"people": [{**one, "bytes": sizes.get(one["tenant"], 0)} for one in people]}

    async def files(self, pack: str, tenant: str) -> Facts:
        """The memory files of one person or group, and how they changed."""
        files = await self._files_of(pack, tenant)
        async with self.shown.snapshot() as snapshot:
            changes = await snapshot.ask(history.changes(pack, tenant))
            newest = await snapshot.ask(history.newest_texts(pack, tenant))
        told = await self._told(files, newest)
        (whose,) = await described(self.shown, [tenant])
        people = await described(
            self.shown, [f"tg_{person}" for person in {one["person"] for one in changes} if person]
        )
        labels = {one["tenant"]: one["label"] for one in people}
        return {
            **whose,
            "files": told,
            "changes": [
                {**one, "person": labels.get(f"tg_{one['person']}", one["person"])}
                for one in changes
            ],
            "undo": history.undoable_change(changes),
            "editable": self.shown.runtime is not None,
        }

    async def version(self, pack: str, tenant: str, number: str) -> Facts:
        """One change: what was there, what is new, and where it came from."""
        await self._files_of(pack, tenant)
        wanted = int(number) if number.isascii() and number.isdecimal() and len(number) < 16 else 0
        async with self.shown.snapshot() as snapshot:
            version = await snapshot.ask(history.version(pack, tenant, wanted))
            if version is None:
                raise NotFound("This change is not kept any more.")
            words = ""
            if version.cause.origin == "tool" and version.cause.turn_id:
                words = await snapshot.ask(history.words_of_turn(version.cause.turn_id))
            lines = {
                source.line: await snapshot.ask(history.words_of_line(source.journal_ids[0]))
                for source in version.cause.sources
                if source.journal_ids
            }
        return await asyncio.to_thread(self._version, version, words, lines)

    async def edit(self, pack: str, tenant: str, file: str, text: str, version: str) -> Facts:
        """Replace a file's text by the owner's; refused if it is not what they read.

        `version` is that of the text which the owner read.
        """
        files = await self._files_of(pack, tenant)
        name = _file(files, file)
        (there,) = await self._told(files, {}, name)
        if there["locked"]:
            raise Refused(f"{name}: {there['locked']}")
        size = len(text.encode())
        if size > files.max_bytes:
            raise NotShown(
                f"{name} would hold {size:,} bytes; at most {files.max_bytes:,} fit. Shorten it."
            )
        keeping = self.shown.bot.app.shared.keeping
        try:
            changed = await keeping.write(pack, tenant, name, text, version, self._cause("hand"))
        except ChangedMeanwhile as error:
            raise Refused(
                f"{error} Nothing was saved, and your text is still here: look at what is there "
                "now, then save again."
            ) from error
        except ToolFailed as error:
            raise Refused(f"{name} cannot be written: {error}") from error
        return {"changed": changed, **await self.files(pack, tenant)}

    async def undo(self, pack: str, tenant: str, version: int) -> Facts:
        """Take the newest change back, as `/memory undo` does.

        `version` is the one that the owner saw as the newest.
        """
        await self._files_of(pack, tenant)
        keeping = self.shown.bot.app.shared.keeping
        try:
            undone, edited = await keeping.undo(
                pack, tenant, self._cause("undo"), call_id=f"page:{ulid()}", wanted=version
            )
        except ToolFailed as error:
            raise Refused(f"Nothing was undone: {error}") from error
        if undone:
            return {"undone": undone, **await self.files(pack, tenant)}
        if edited:
            raise Refused(text("memory.not-undone-edited", names=", ".join(edited)))
        raise Refused("Nothing was undone: this is not the newest change any more.")

    def _cause(self, origin: Literal["hand", "undo"]) -> Cause:
        return Cause(origin, person=self.shown.owner().id, platform="web")

    async def _folders(self, pack: str) -> dict[str, Path]:
        """Return where each tenant's memory lies; a bot that runs has it in order first."""
        there, runtime = self.shown.pack(pack), self.shown.runtime
        owner = self.shown.owner().data_name

        def look() -> dict[str, Path]:
            if runtime is not None:
                runtime.app.shared.stores.private(pack, owner)
            return private_folders(self.shown.home, there)

        try:
            return await asyncio.to_thread(look)
        except ToolFailed as error:
            raise Refused(str(error)) from error

    async def _tenants(self, pack: str, folders: dict[str, Path]) -> list[str]:
        async with self.shown.snapshot() as snapshot:
            changed = await snapshot.ask(history.tenants_with_memory(pack))
        return [self.shown.owner().data_name, *sorted({*folders, *changed})]

    async def _files_of(self, pack: str, tenant: str) -> MemoryFiles:
        """Return the files of somebody whom the pack knows. Raises: NotFound, Refused."""
        folders = await self._folders(pack)
        if checked(tenant) not in await self._tenants(pack, folders):
            raise NotFound("The pack remembers nothing of them.")
        runtime = self.shown.runtime
        if runtime is not None:
            keeping = runtime.app.shared.keeping
            await keeping.settle_open(pack, tenant)
            return keeping.files(pack, tenant)
        folder = folders.get(tenant, self.shown.home.private_folder(pack, tenant))
        return Memories(self.shown.library, lambda pack, tenant: folder).files(pack, tenant)

    async def _told(self, files: MemoryFiles, newest: dict[str, str], *names: str) -> list[Facts]:
        clean = self.shown.redactor().text

        def told() -> list[Facts]:
            return [_told(files, name, newest, clean) for name in names or files.names]

        return await asyncio.to_thread(told)

    def _version(self, version: Version, words: str, lines: dict[str, str]) -> Facts:
        redactor, cause = self.shown.redactor(), version.cause
        return {
            "id": version.id,
            "file": version.file,
            "origin": cause.origin,
            "at": version.at,
            "turn": cause.turn_id,
            "words": beginning(redactor, words, _WORDS_CHARS),
            "sources": [
                {
                    "line": one.line,
                    "basis": one.basis,
                    "words": beginning(redactor, lines.get(one.line, ""), _WORDS_CHARS),
                }
                for one in cause.sources
            ],
            "lines": [
                {"kind": kind, "text": line}
                for kind, line in difference(
                    redactor.text(version.before), redactor.text(version.after)
                )
            ],
        }


def _told(
    files: MemoryFiles, name: str, newest: dict[str, str], clean: Callable[[str], str]
) -> Facts:
    held, problem = "", ""
    try:
        held = files.text(name)
    except ToolFailed as error:
        problem = str(error)
    safe = clean(held)
    return {
        "name": name,
        "max_bytes": files.max_bytes,
        "text": safe,
        "version": "" if problem else digest(held),
        "bytes": len(held.encode("utf-8", "replace")),
        "locked": problem or ("" if safe == held else _SECRET),
        "by_hand": not problem and name in newest and newest[name] != held,
    }


def _file(files: MemoryFiles, name: str) -> str:
    try:
        return files.file(name)
    except ToolFailed as error:
        raise NotFound(f"There is no memory file {name[:80]!r} here.") from error


def _sizes(folders: dict[str, Path]) -> dict[str, int]:
    """Return the bytes of each tenant's memory files."""
    return {
        tenant: sum(
            file.stat().st_size
            for file in folder.glob("*.md")
            if file.is_file() and not file.is_symlink()
        )
        for tenant, folder in folders.items()
    }
