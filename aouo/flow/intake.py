"""Takes in files before their turn begins: fetches, hears, looks at, stores what they say.

Each file has one of three outcomes: a value, *could not*, *not set up*. The last two end the turn
with one sentence; a model never reads a placeholder. What is done for a file is a row of its job
before the next thing is done, so a process that is started again does nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from aouo.agent.tools.registry import Tool
from aouo.facts import errors
from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import PICTURES, Attachment
from aouo.facts.events import Album, Attached
from aouo.facts.ports import ChatModel, Clock, Fetch, Rendered, stamp
from aouo.facts.records import Spent
from aouo.facts.transcript import Image
from aouo.facts.work import Delivery, Job, KeptFile
from aouo.flow.generations import Generation
from aouo.flow.media import Reach, as_it_is, reach_of, remove_files, words_of
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.providers.speech.services import Heard, TermsAsked
from aouo.providers.speech.silence import is_invented
from aouo.store import contents, deliveries, jobs, usage
from aouo.store.database import Database, Tx
from aouo.store.off_record import is_once
from aouo.words import sentences
from aouo.words.catalogue import message, text

_AFTER_S, _EVERY_S = 0.3, 4.5
"""Telegram forgets an activity after five seconds."""

Show = Callable[[ConversationAddress, str], Awaitable[None]]
"""Shows one activity in a conversation, once."""


@asynccontextmanager
async def typing(show: Show, clock: Clock, address: ConversationAddress) -> AsyncGenerator[None]:
    """The person sees that we type while the block runs."""

    async def go_on() -> None:
        await clock.sleep(_AFTER_S)
        while True:
            await show(address, "typing")
            await clock.sleep(_EVERY_S)

    failed: Exception | None = None
    async with asyncio.TaskGroup() as group:
        shows = group.create_task(go_on())
        try:
            yield
        except Exception as error:  # noqa: BLE001 - passed on, but not as a group of one
            failed = error
        finally:
            shows.cancel()
    if failed:
        raise failed


_T = TypeVar("_T")

_SHOWN_CHARS = 3_000
_SEEN_BYTES = 4_000_000
"""A picture that came as a file is shown to the model up to this size."""
_TRIES = 3
_BACKOFF = partial(pause_s, first_s=1, factor=2, most_s=2)
_ASKED_AT_MOST_S = 10.0


class _Missed(Exception):
    """A file has no value; its text is the sentence that says why."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who will read the words: a model in a pack, with the tools that it may open files with."""

    model: ChatModel
    pack: str
    openers: Sequence[Tool]
    generation: Generation

    @property
    def own_tools(self) -> bool:
        """Whether a tool of the pack's own opens files, and knows itself what it can read."""
        return any(tool.pack for tool in self.openers)


@dataclass(slots=True, eq=False, kw_only=True)
class Intake:
    """Takes in the files of jobs. `folder` is the home's media folder; `show` an activity;
    `files` fetch what came, by platform."""

    database: Database
    clock: Clock
    folder: Path
    fetches: Mapping[str, Fetch]
    show: Callable[[ConversationAddress, str], Awaitable[None]]
    put: Callable[[Delivery], None]

    async def take_in(self, job: Job, said: str, audience: Audience) -> str | Rendered:
        """Return the words that the turn begins with, or what to tell the person instead.

        `said` are the words under the files.
        """
        content = job.inbound.content
        assert isinstance(content, Attached | Album)
        kept = await self.database.read(lambda tx: contents.files_of_job(tx, job.id))
        try:
            for position, item in enumerate(content.items):
                if not (item.referred or (position in kept and kept[position].understood)):
                    _refuse_early(item, audience)
            async with typing(self.show, self.clock, job.inbound.address):
                for position, item in enumerate(content.items):
                    try:
                        kept[position] = await self._one(job, position, item, audience, kept)
                    except _Missed:
                        if not item.referred:
                            raise
        except _Missed as missed:
            log.info("media_missed", why=str(missed))
            return message(str(missed))
        reach = await asyncio.to_thread(self._reach, kept, audience)
        return words_of(content, said, kept, reach)

    def _reach(
        self, kept: Mapping[int, KeptFile], audience: Audience
    ) -> dict[int, tuple[bool, Reach]]:
        """Of each file whether the model sees it, and whether a tool of its opens it."""
        return {
            position: (
                audience.model.sees and _is_picture(one),
                reach_of(self.folder / one.path, one, audience.openers),
            )
            for position, one in kept.items()
        }

    async def _one(
        self,
        job: Job,
        position: int,
        item: Attachment,
        audience: Audience,
        kept: Mapping[int, KeptFile],
    ) -> KeptFile:
        """Fetch one file and understand it, unless that was done before."""
        one = kept.get(position) or await self._known(job, position, item)
        if one is None and item.referred:
            _refuse_early(item, audience)
        one = one or await self._fetch(job, position, item, audience)
        if one.understood:
            return one
        item = replace(item, kind=one.kind, mime_type=one.mime_type)
        _refuse_early(item, audience)
        if item.kind == "document" and not audience.own_tools:
            _refuse_form(one, audience)
        return await self._understand(job, item, one, audience)

    async def _known(self, job: Job, position: int, item: Attachment) -> KeptFile | None:
        """A recording that is replied to, with the words that were heard when it came."""
        if not (item.is_heard and item.came_with):
            return None
        address = job.inbound.address
        found = await self.database.read(
            lambda tx: contents.file_of_message(tx, address, item.came_with)
        )
        if found is None or not found.text:
            return None
        found = replace(found, position=position)
        await self._write(job, found, [])
        return found

    async def images_of(self, job: Job, model: ChatModel) -> tuple[Image, ...]:
        """The pictures of a job, for a model that sees; one that was pruned is left out."""
        if not model.sees:
            return ()
        kept = await self.database.read(lambda tx: contents.files_of_job(tx, job.id))
        return await asyncio.to_thread(self._load, kept)

    def forget(self, job: Job) -> None:
        """Remove the files of a job, if it was off the record."""
        if has_files(job) and (job.off_record or is_once(job.inbound)):
            remove_files(self.folder, job.id, job.inbound)

    async def _fetch(
        self, job: Job, position: int, item: Attachment, audience: Audience
    ) -> KeptFile:
        fetch = self.fetches.get(job.inbound.address.platform)
        if fetch is None:
            raise _Missed(text("media.not-reached", what=item.in_words))
        path = f"{job.inbound.address.folder}/{job.id}_{position}_{item.file_name}"
        try:
            size = await fetch(item, self.folder / path)
        except errors.FileNotFetched as error:
            raise _Missed(_not_fetched(item, error)) from error
        kind, mime_type = await asyncio.to_thread(as_it_is, item, self.folder / path)
        if kind != item.kind and isinstance(audience.generation.ears, str) and audience.own_tools:
            kind = item.kind  # whatever sounds in it, a tool of the pack opens it
        kept = KeptFile(position, kind, path, mime_type, size)
        await self._write(job, kept, [])
        return kept

    async def _understand(
        self, job: Job, item: Attachment, kept: KeptFile, audience: Audience
    ) -> KeptFile:
        """Hear or look at a file that is here, and write down what it says."""
        row = Spent(
            "", audience.generation.quota.day(), pack=audience.pack, person=job.inbound.person.id
        )
        spent: list[Spent] = []
        text = ""
        try:
            if item.is_heard:
                text = await self._hear(item, kept, audience, row, spent)
            elif item.kind == "photo" and not audience.model.sees:
                text = await self._look(item, kept, audience, row, spent)
        finally:
            if spent and not text:
                await self._write(job, kept, spent)
        kept = replace(kept, understood=True, text=text)
        await self._write(job, kept, spent, self._heard(job, item, text, audience))
        return kept

    def _heard(self, job: Job, item: Attachment, words: str, audience: Audience) -> Rendered | None:
        """What is shown of a recording, None = nothing."""
        where = audience.generation.stt.show
        private = job.inbound.chat_kind == "private"
        off_record = job.off_record or is_once(job.inbound)
        if not (item.is_heard and words) or where == "never" or off_record:
            return None
        if where == "groups" and private:
            return None
        shown = words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}…"
        return replace(message(text("media.heard", words=shown)), reply_to=item.message_id)

    async def _hear(
        self, item: Attachment, kept: KeptFile, audience: Audience, row: Spent, spent: list[Spent]
    ) -> str:
        ears, file = audience.generation.ears, self.folder / kept.path
        assert not isinstance(ears, str)
        try:
            await audience.generation.quota.check()
            heard: Heard = await self._patiently(lambda: ears.transcribe(file, item.duration_s))
        except errors.Refused as error:
            raise _Missed(sentences.failure(error, "")) from error
        except errors.ProviderError as error:
            log.warning("stt_failed", kind=type(error).__name__, error=str(error))
            raise _Missed(sentences.not_heard(item.in_words, _trouble_of(error))) from error
        call = heard.call
        spent.append(
            replace(
                row,
                scope="stt",
                provider=call.provider,
                model=call.model,
                duration_ms=call.duration_ms,
                cost_usd=call.usd or 0.0,
                unpriced=call.usd is None,
            )
        )
        if is_invented(heard.text):
            silent = "media.not-clear" if heard.unclear else "media.no-words"
            raise _Missed(text(silent, what=item.in_words))
        return heard.text

    async def _look(
        self, item: Attachment, kept: KeptFile, audience: Audience, row: Spent, spent: list[Spent]
    ) -> str:
        eyes = audience.generation.eyes
        assert eyes is not None
        images = await asyncio.to_thread(self._load, {0: kept})
        if not images:
            raise _Missed(text("media.gone", what=item.in_words))
        row = replace(row, scope="vision")
        try:
            return await self._patiently(lambda: eyes(images[0], item.caption, row, spent.append))
        except errors.EmptyAnswer as error:
            raise _Missed(sentences.not_seen("silent")) from error
        except errors.Refused as error:
            raise _Missed(sentences.failure(error, "")) from error
        except (errors.ProviderError, TimeoutError) as error:
            log.warning("vision_failed", kind=type(error).__name__, error=str(error))
            raise _Missed(sentences.not_seen(_trouble_of(error))) from error

    async def _patiently(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask a service, up to three times if its trouble may pass."""
        for attempt in range(1, _TRIES):
            try:
                return await ask()
            except errors.ProviderBusy as error:
                if error.retry_after_s > _ASKED_AT_MOST_S:
                    raise
                await self.clock.sleep(_BACKOFF(attempt, asked_s=error.retry_after_s))
        return await ask()

    async def _write(
        self, job: Job, kept: KeptFile, spent: list[Spent], shown: Rendered | None = None
    ) -> None:
        now = stamp(self.clock)

        def write(tx: Tx) -> Delivery | None:
            jobs.check_claim(tx, job)
            contents.keep_file(tx, job.id, kept, now)
            for row in spent:
                usage.record(tx, row, now)
            key = f"heard:{job.id}:{kept.position}"
            address = job.inbound.address
            return deliveries.add(tx, address, "notice", shown, now, key=key) if shown else None

        if row := await self.database.transact(write, durable=True):
            self.put(row)

    def _load(self, kept: Mapping[int, KeptFile]) -> tuple[Image, ...]:
        images: list[Image] = []
        for one in kept.values():
            if not _is_picture(one) or one.text:
                continue
            try:
                images.append(Image(one.mime_type, (self.folder / one.path).read_bytes()))
            except OSError as error:
                log.warning("picture_gone", path=one.path, error=str(error))
        return tuple(images)


def has_files(job: Job) -> bool:
    """Whether something besides text came with it."""
    return isinstance(job.inbound.content, Attached | Album)


def _not_fetched(item: Attachment, error: errors.FileNotFetched) -> str:
    if error.limit_bytes:
        limit_mb = error.limit_bytes / (1024 * 1024)
        return text("media.too-large", what=item.in_words, limit_mb=limit_mb)
    return text("media.gone" if error.gone else "media.not-reached", what=item.in_words)


def _refuse_early(item: Attachment, audience: Audience) -> None:
    """What is not set up needs no download."""
    if item.is_heard and isinstance(audience.generation.ears, str):
        raise _Missed(sentences.no_ears(item.in_words, audience.generation.ears))
    if item.kind == "photo" and not audience.model.sees and audience.generation.eyes is None:
        raise _Missed(text("media.no-eyes"))


def _refuse_form(one: KeptFile, audience: Audience) -> None:
    """A picture that no model reads is not passed over in silence."""
    medium, _, form = one.mime_type.lower().partition("/")
    if medium != "image" or one.mime_type.lower() in PICTURES or "svg" in form:
        return
    if not audience.model.sees and audience.generation.eyes is None:
        raise _Missed(text("media.no-eyes"))
    raise _Missed(text("media.other-form", form=form.removeprefix("x-").upper()))


def _is_picture(one: KeptFile) -> bool:
    """Whether a model that sees is shown it."""
    large = one.kind == "document" and one.size_bytes > _SEEN_BYTES
    return one.mime_type.lower() in PICTURES and not large


def _trouble_of(error: BaseException) -> sentences.MediaTrouble:
    """Why a service gave nothing, as far as a person can do something about it."""
    match error:
        case errors.QuotaUsedUp():
            return "used-up"
        case errors.ProviderBusy():
            return "busy"
        case errors.ProviderTimeout() | TimeoutError():
            return "late"
        case errors.ProviderAuth():
            return "key"
        case errors.ProviderBilling():
            return "money"
        case errors.ProviderBroke():
            return "broken"
        case errors.PromptTooLong():
            return "large"
        case (
            errors.ModelGone()
            | TermsAsked()
            | errors.RegionRefused()
            | errors.NoModelService()
            | errors.ProxyRefused()
            | errors.CertificateRefused()
        ):
            return "setting"
        case _:
            return "refused"
