"""Answers what a pack's tool asks while it runs in the sandbox; `aouo_pack` is the other end."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from aouo.agent.charts import NoChart, draw
from aouo.agent.documents.kinds import text_of
from aouo.agent.tools.files import check_room
from aouo.agent.tools.registry import ToolContext
from aouo.facts.errors import ToolFailed, may_have_arrived
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, Payload, stamp
from aouo.guard.paths import write_new
from aouo.guard.sandbox.order import Ran
from aouo.packs.data.reading import ALL
from aouo.packs.data.storage import PackStore
from aouo.packs.load import Pack
from aouo.packs.settings import Kept
from aouo.plumbing.logs import log
from aouo.plumbing.printable import inert
from aouo.plumbing.redact import REDACTED, Redactor, respelled
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import MAX_BYTES, Web

_SENT_MOST, _SENT_CHARS = 10, 20_000
_LETTER_CHARS = 24
_LOOKS = ("select", "with", "values", "explain")
_SECRET_URL = re.compile(
    r"https://[^/?#{}\\]+(?:[/?](?:[^#{}%]|%[0-9a-f]{2}|\{secret\})*)?", re.IGNORECASE
)
_SECRET_REFUSED = (
    "fetch with a secret did not work: its address begins with https:// and is of one of the "
    "secret's hosts, {secret} stands in its path, its query or a header, and the host answers 200."
)
_HEADER = re.compile(r"[!#$%&'*+.^`|~\w-]+:[^\0-\x08\x0a-\x1f\x7f\ud800-\udfff]*", re.ASCII)
_PICTURES = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True, slots=True)
class Asking:
    """What the answers stand on."""

    clock: Clock
    zone: Callable[[str], tzinfo]
    open_store: Callable[[str, str], PackStore]
    folder_of: Callable[[str, str], Path]
    web: Web
    kept: Kept

    def of(
        self, pack: Pack, context: ToolContext, call_id: str, *, secrets: Sequence[str], reads: bool
    ) -> _Call:
        """Return what answers one call; `secrets` are those that its tool names."""
        return _Call(self, pack, secrets, context, call_id, reads)


@dataclass(slots=True)
class _Call:
    asking: Asking
    pack: Pack
    secrets: Sequence[str]
    context: ToolContext
    call_id: str
    reads: bool = False
    _written: int = field(init=False, default=0)
    _sent: int = field(init=False, default=0)
    _seen: set[str] = field(init=False, default_factory=set[str])

    async def __call__(self, what: str, given: Mapping[str, Any]) -> object:
        """Answer one question. Raises: ToolFailed."""
        match what:
            case "db":
                return await asyncio.to_thread(self._db, given.get("sql"), given.get("params"))
            case "send":
                return await self._send(given.get("text"))
            case "chart":
                return await self._chart(given.get("chart"))
            case "fetch":
                return await self._fetch(given)
            case "settings":
                return await asyncio.to_thread(self.asking.kept.settings, self.pack.manifest)
            case "secret":
                return await self._secret(str(given.get("name")))
            case "now":
                zone = self.asking.zone(self.context.facts.person.id)
                return self.asking.clock.now().astimezone(zone).isoformat()
            case _:
                raise ToolFailed(f"There is no {what[:40]!r} to ask for.")

    def _db(self, sql: object, params: object) -> list[object]:
        if not isinstance(sql, str) or not sql.strip():
            raise ToolFailed("db needs one statement of SQL.")
        facts = self.context.facts
        store = self.asking.open_store(facts.pack, facts.tenant)
        if sql.lstrip().lower().startswith(_LOOKS):
            return list(store.read(sql, _bound(params), limit=ALL))
        if self.reads:
            raise ToolFailed("This tool reads only, so db takes SELECT only.")
        self._written += 1
        made = store.act(
            [sql],
            _bound(params),
            call_id=f"{self.call_id}.{self._written}",
            now=stamp(self.asking.clock),
        )
        return list(cast("list[object]", made["found"]))

    async def _send(self, text: object) -> None:
        if self.reads:
            raise ToolFailed("This tool reads only, so it sends nothing.")
        if not {"msg", "core"} & set(self.pack.manifest.permissions.tools):
            raise ToolFailed("The pack may not send messages: pack.yml does not list msg.")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= _SENT_CHARS:
            raise ToolFailed(f"send takes a text of 1 to {_SENT_CHARS:,} characters.")
        if self._sent >= _SENT_MOST:
            raise ToolFailed(f"A call sends {_SENT_MOST} messages at most.")
        self._sent += 1
        sent = await self.context.adapter.dispatch_message(
            Payload("text", self.without_secrets(text)), f"{self.call_id}.s{self._sent}"
        )
        if sent.unknown:
            raise may_have_arrived()
        if not sent.ok:
            raise ToolFailed("The message did not arrive.")

    async def _chart(self, chart: object) -> str:
        if not isinstance(chart, dict):
            raise ToolFailed("That is no chart.")
        folder = self.asking.folder_of(self.context.facts.pack, self.context.facts.tenant)
        return str(await asyncio.to_thread(drawn, cast("dict[str, Any]", chart), folder))

    async def _fetch(self, given: Mapping[str, Any]) -> Sequence[object]:
        url, headers = str(given.get("url", "")).strip(), given.get("headers")
        listed = cast("dict[Any, Any]", headers) if isinstance(headers, dict) else {}
        wanted = {str(key): str(value) for key, value in listed.items()}
        hosts: Sequence[str] = self.pack.manifest.permissions.network
        name = str(given.get("secret") or "")
        if name:
            value = await self._secret(name, wire=True)
            if not _SECRET_URL.fullmatch(url):
                raise ToolFailed(_SECRET_REFUSED)
            own = self.pack.manifest.secrets[name].hosts
            hosts = [host for host in own if host in hosts or "*" in hosts]
            put = {key: text.replace("{secret}", value) for key, text in wanted.items()}
            if put == wanted and "{secret}" not in url:
                put["Authorization"] = f"Bearer {value}"
            url, wanted = url.replace("{secret}", quote(value, safe="")), put
        if not all(_HEADER.fullmatch(f"{key}:{text}") for key, text in wanted.items()):
            raise ToolFailed(_SECRET_REFUSED if name else "A header is one line: a name, a text.")
        try:
            permits = Permits(self.pack.name, hosts)
            ask = self.asking.web.ask
            status, text, cut = await ask(url, permits, _page, wanted, https=bool(name))
        except ToolFailed as error:
            raise ToolFailed(
                _SECRET_REFUSED if name else self.without_secrets(str(error))
            ) from None
        text = await asyncio.to_thread(self.without_secrets, text)
        # A secret may begin where a body is cut, each letter of it written by its number.
        rest = _LETTER_CHARS * max(map(len, self._seen), default=0) if cut else 0
        return [status, text[: len(text) - rest]]

    async def _secret(self, name: str, *, wire: bool = False) -> str:
        declared = self.pack.manifest.secrets.get(name)
        if declared is None or name not in self.secrets:
            raise ToolFailed(f"This tool names no secret {name[:40]!r} in pack.yml.")
        if declared.hosts and not wire:
            raise ToolFailed(f"{name} goes to its hosts only: use fetch(…, secret={name!r}).")
        if wire and not declared.hosts:
            raise ToolFailed(f"{name} names no hosts in pack.yml, so fetch may not send it.")
        value = await asyncio.to_thread(self.asking.kept.secret, self.pack.name, name)
        if not value and wire:
            raise ToolFailed(
                f"The secret {name} is not set. Tell the person that the bot's owner sets it with "
                f"`aouo pack set {self.pack.name} {name}`."
            )
        self._seen.add(value)
        return value

    def without_secrets(self, text: str) -> str:
        """Return a text without the secrets that this call was given or that were sent for it."""
        text = Redactor(self._seen).text(text) if self._seen else text
        for secret in self._seen:
            text = respelled(secret).sub(REDACTED, text)
        return text

    def cleaned(self, ran: Ran) -> Ran:
        """Return a run without them, whatever the tool did with them."""
        if not self._seen:
            return ran
        said = self.without_secrets(ran.stdout.decode("utf-8", "surrogateescape"))
        stdout = said.encode("utf-8", "surrogateescape")
        return replace(ran, stdout=stdout, stderr=self.without_secrets(ran.stderr))


def _bound(params: object) -> Any:
    if isinstance(params, dict | list):
        return cast("Any", params)
    return ()


async def _page(answer: Any, url: object) -> tuple[int, str, bool]:
    del url
    body = await answer.content.read(MAX_BYTES)
    while len(body) < MAX_BYTES and (more := await answer.content.read(MAX_BYTES - len(body))):
        body += more
    return answer.status, text_of(body, answer.charset or ""), len(body) == MAX_BYTES


def drawn(chart: Mapping[str, Any], folder: Path) -> Path:
    """Draw a chart into a pack's folder. Raises: ToolFailed, with what is wrong with it."""
    name = f"{ulid()}.png"
    try:
        if chart.get("kind") == "csv":
            title = re.sub(r"[^-\w]+", "-", str(chart.get("title") or "rows"))[:40]
            name, picture = f"{title}.csv", _csv(chart.get("rows"))
        else:
            picture = draw(chart)
    except NoChart as error:
        raise ToolFailed(str(error)) from None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = folder.resolve()
    check_room(own, len(picture))
    file = own / "artifacts" / name
    file.unlink(missing_ok=True)
    write_new(file, picture, own=own)
    return file


def _csv(given: object) -> bytes:
    """Return rows as spreadsheets read them; what would be a formula there is text."""
    rows = cast("list[Any]", given)
    if (
        not isinstance(given, list | tuple)
        or not rows
        or not all(isinstance(r, dict) for r in rows)
    ):
        raise NoChart("rows must be a list of rows, each with names and cells.")
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(map(inert, rows[0]))
    for row in rows:
        cells = ("" if value is None else value for value in row.values())
        table.writerow(one if isinstance(one, int | float) else inert(str(one)) for one in cells)
    return out.getvalue().encode("utf-8-sig", "replace")


async def show(file: Path, text: str, context: ToolContext, call_id: str) -> None:
    """Send a picture or a file of the pack's folder. Raises: ToolFailed."""
    kind = "photo" if file.suffix.lower() in _PICTURES else "document"
    sent = await context.adapter.dispatch_message(Payload(kind, text, url=str(file)), call_id)
    log.info("pack_picture_sent", pack=context.facts.pack, ok=sent.ok)
    if not sent.ok and not sent.unknown:
        raise ToolFailed("The picture could not be sent.")
