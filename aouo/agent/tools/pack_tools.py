"""Turns the tools that packs bring into ours: each call runs in the sandbox."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any, cast

from aouo.agent.tools.asks import Asking, show
from aouo.agent.tools.files import Written, check_room
from aouo.agent.tools.kept_files import KeptFiles
from aouo.agent.tools.mcp import RawArguments, links_in
from aouo.agent.tools.registry import Tool, ToolContext
from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.facts.records import Sink
from aouo.guard.sandbox.bubblewrap import found
from aouo.guard.sandbox.order import Command, Function, Order, Ran, RunLimits
from aouo.guard.sandbox.run import NotConfined, Sandbox
from aouo.guard.sent_files import SentFiles
from aouo.packs.format.tools_text import PackTool
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.packs.stores import PackStores
from aouo.plumbing.logs import log
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.egress import EgressProxy
from aouo.plumbing.web.envelope import said_by

_LIMITS = RunLimits()
_WAITED_S = _LIMITS.time_s + 30
"""A call's time limit with the wait for other calls; running may take `LIMITS.time_s`."""
_VENDOR = "vendor"
EMPTY = "(empty)"
"""What a model reads of a tool that returned an empty text."""
_SHOWN_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Workshop:
    """What is needed to run a pack's tool; `reached` says which files it may be given."""

    sandbox: Sandbox
    stores: PackStores
    reached: Callable[[str, str, str, Mapping[str, Any]], tuple[Path, ...]]
    sent: SentFiles
    proxy: EgressProxy
    asking: Asking
    written: Written
    files: KeptFiles


def pack_tools(library: Library, shop: Workshop) -> list[Tool]:
    """Make the tools of all packs; each may be called only in turns of its own pack."""
    return [_tool(pack, item, shop) for pack in library.packs.values() for item in pack.tools]


def _tool(pack: Pack, item: PackTool, shop: Workshop) -> Tool:
    name = f"{pack.name}__{item.name}"
    ours = {"raw_schema": item.schema, "look_inside": bool(item.function)}
    arguments = type("PackArguments", (RawArguments,), ours | _HERE)
    return Tool(
        name=name,
        description=item.description,
        arguments=arguments,
        handler=_handler(pack, item, name, shop),
        sink=_sink(pack, item),
        visits=links_in if item.reads and pack.manifest.permissions.network else lambda wish: (),
        group="pack",
        idempotent=item.reads,
        mutates=not item.reads,
        read_only=item.reads,
        timeout_s=_WAITED_S,
        pack=pack.name,
    )


_HERE = {"__module__": __name__}


def _sink(pack: Pack, item: PackTool) -> Sink:
    """Return what a tool does: as it says itself, and no less than what its permissions let it."""
    if item.reads:
        return "look"
    least: Sink = "tell" if pack.manifest.permissions.network else "own"
    return least if item.does in ("", "own") else item.does


def _handler(
    pack: Pack, item: PackTool, name: str, shop: Workshop
) -> Callable[[RawArguments, ToolContext, str], Awaitable[str]]:
    hosts = pack.manifest.permissions.network

    async def _run(wish: RawArguments, context: ToolContext, call_id: str) -> str:
        given, sent = shop.sent.given(context.facts.address.folder, wish.model_extra or {})
        tenant, person = context.facts.tenant, context.facts.person.id
        own = await asyncio.to_thread(own_folder, shop.stores, pack.name, tenant)
        opened = await asyncio.to_thread(shop.reached, pack.name, tenant, person, given)
        order = _order(pack, item, given, (own, *opened), sent, context)
        begun_s = time.perf_counter()
        if not item.reads and (sources := context.sources()):
            await shop.written.note(own, ", ".join(sources))
        labelled = bool(context.sources()) and own.name == tenant
        watching = (
            nullcontext()
            if item.reads
            else shop.files.watching(call_id, own, opened, labelled=labelled)
        )
        try:
            answer = shop.asking.of(pack, context, call_id, secrets=item.secrets, reads=item.reads)
            async with watching:
                ran = await shop.sandbox.run(
                    order, egress(shop.proxy, pack.name, hosts), lambda: is_full(own), answer
                )
            ran = answer.cleaned(ran)
        except NotConfined as error:
            log.warning("pack_tool_refused", tool=name, why=str(error))
            raise ToolFailed(
                f"{name} cannot run on this machine: {error} Tell the person that the bot's owner "
                "finds what to do with `aouo doctor`, and go on without it."
            ) from error
        log.info(
            "pack_tool_ran",
            tool=name,
            call=call_id,
            end=ran.end,
            status=ran.status,
            ms=round((time.perf_counter() - begun_s) * 1000),
            stderr="" if context.facts.off_record else ran.stderr[-_SHOWN_CHARS:],
        )
        source = name if hosts or sent else await shop.written.source_of(own)
        try:
            text = await _delivered(_answer(name, item, ran), own, context, call_id)
        except ToolFailed as error:
            if ran.stderr or ran.stdout:  # its words stand in the error
                error.args = (said_by(source, str(error)),)
            raise
        return said_by(source, text)

    return _run


async def _delivered(said: str, own: Path, context: ToolContext, call_id: str) -> str:
    """Send the picture or file that a tool returned, and say so; other values stay as they are."""
    if not said.startswith('{"file":'):
        return said
    told: dict[str, Any] = json.loads(said)
    if told.keys() != {"file", "text"}:  # a value of the tool's own
        return said
    file = (own / str(told["file"])).resolve()
    if not file.is_relative_to(own) or not await asyncio.to_thread(file.is_file):
        raise ToolFailed("The tool returned a file that is not in the pack's folder.")
    await show(file, str(told.get("text") or ""), context, f"{call_id}.file")
    return f"shown: {file.name}"


def egress(
    proxy: EgressProxy, pack: str, hosts: tuple[str, ...]
) -> Callable[[socket], AbstractAsyncContextManager[None]]:
    """Return the way out of the sandbox to these hosts."""
    return lambda listening: proxy.open(listening, Permits(pack, hosts))


def own_folder(stores: PackStores, pack: str, tenant: str) -> Path:
    """Return the pack's data folder, made if need be. Raises `ToolFailed` if it is full."""
    own = stores.folder(pack, tenant)
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_room(own, 0)
    return own.resolve()


def is_full(own: Path) -> bool:
    """Whether nothing more fits into a pack's folder."""
    try:
        check_room(own, 0)
    except ToolFailed:
        return True
    return False


def _order(
    pack: Pack,
    item: PackTool,
    given: Mapping[str, Any],
    changed: tuple[Path, ...],
    sent: tuple[Path, ...],
    context: ToolContext,
) -> Order:
    """Return what this call may see and do: besides its pack's files it may change the data folder
    and the paths after it, which fence and manifest open, and read `sent` files; a read-only tool
    gets nothing that it can write."""
    source, own = pack.folder.resolve(), changed[0]
    if item.function:
        file = source / item.runs[0]
        libraries = (file.parent / _VENDOR, file.parent)
        run: Function | Command = Function(file, item.function, libraries)
        stdin, folder = json.dumps(given).encode(), own
    else:
        run, folder = Command(_program(source, item.runs[0]), item.runs), source
        stdin = json.dumps(_input(item, given, context)).encode()
    return Order(
        run=run,
        stdin=stdin,
        folder=folder,
        readable=(source, *sent, *(changed if item.reads else ())),
        writable=() if item.reads else changed,
        programs=_programs(pack),
        env=(("HOME", str(own)), ("AOUO_PACK", str(source)), ("AOUO_DATA", str(own))),
        online=bool(pack.manifest.permissions.network),
        limits=_LIMITS,
    )


def _input(item: PackTool, given: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Return what a command reads on stdin; the original gave it in this form."""
    return {
        "input": given if item.whole else given.get("input") or {},
        "context": {
            "pack": context.facts.pack,
            "sessionId": context.facts.session_id,
            "sessionKey": context.facts.session_key,
        },
    }


def _program(source: Path, word: str) -> Path:
    file = (source / word).resolve() if "/" in word else found(word)
    if file is None or not file.is_file():
        raise ToolFailed(
            f"The program {word!r} is not installed on this machine. Tell the person that the "
            "bot's owner has to install it, and go on without it."
        )
    return file


def _programs(pack: Pack) -> tuple[Path, ...]:
    """Find the programs that `permissions.external_commands` lists besides the pack's own."""
    own = {tool.name for tool in pack.manifest.runtime.external_tools}
    named = (name for name in pack.manifest.permissions.external_commands if name not in own)
    return tuple(file for name in named if (file := found(name)) is not None)


def _answer(name: str, item: PackTool, ran: Ran) -> str:
    """Return the result that the model reads.

    Raises:
        ToolFailed: the tool failed; says why.
        OutcomeUnknown: the tool was ended on the way, or its answer cannot be read.
    """
    why = f" It said: {ran.stderr[-_SHOWN_CHARS:]}" if ran.stderr else ""
    _check_end(name, ran, why)
    try:
        heard = ran.stdout.strip() or ran.status
        said: Any = _read(ran.stdout) if heard else None
    except (ValueError, RecursionError):
        said = ran
    if ran.status:
        cause = _cause(ran.status)
        failed = OutcomeUnknown if cause else ToolFailed
        raise failed(f"{name} ended with status {ran.status}{cause}.{why}")
    if said is ran:
        shown = ran.stdout[:200].decode("utf-8", "replace")
        raise OutcomeUnknown(f"{name} did not answer with JSON but with {shown!r}.{why}")
    if item.function:
        return _value(name, item, said)
    return _text(said)


def _check_end(name: str, ran: Ran, why: str) -> None:
    """Raise for a run that was ended on the way."""
    match ran.end:
        case "time":
            raise OutcomeUnknown(
                f"{name} took longer than {_LIMITS.time_s:g} s and was ended.{why}"
            )
        case "output":
            raise OutcomeUnknown(
                f"{name} answered with more than {_LIMITS.output_bytes:,} bytes and was ended. Ask "
                "it for less."
            )
        case "scratch":
            raise ToolFailed(
                f"{name} was ended: it put more than {_LIMITS.scratch_bytes:,} bytes or "
                f"{_LIMITS.scratch_entries:,} files and folders into temporary files. Ask it for "
                "less; calling it again with the same does not help."
            )
        case "room":
            raise OutcomeUnknown(
                f"{name} was ended: the pack's folder is full. Tell the person; what is there can "
                "be removed by the bot's owner."
            )
        case "exit":
            pass


def _read(stdout: bytes) -> Any:
    """Parse JSON; refuse NaN and infinity, which Python would accept."""
    return json.loads(stdout, parse_float=_finite, parse_constant=_finite)


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(word)
    return number


def _value(name: str, item: PackTool, said: Any) -> str:
    if not said:
        raise OutcomeUnknown(f"{name} ended without an answer.")
    answer = cast("dict[str, Any]", said)
    if "value" in answer:
        return _text(answer["value"])
    line = f":{answer['where']}" if answer.get("where") else ""
    raise ToolFailed(f"{name} failed at {item.runs[0]}{line}: {answer.get('error')}")


def _text(value: object) -> str:
    match value:
        case None:
            return "done"
        case str():
            return value or EMPTY
        case _:
            return json.dumps(value, ensure_ascii=False)


def _cause(status: int) -> str:
    """Say what a fatal signal means, "" = none; bubblewrap and shells add 128 to its number."""
    number = -status if status < 0 else status - 128
    return {
        9: ": it was killed, most likely for its memory",
        24: f": it used more than {_LIMITS.cpu_s} s of the processor",
        25: f": it wrote a file of more than {_LIMITS.file_bytes:,} bytes",
        31: ": it made a call that the sandbox does not allow",
    }.get(number, "")
