"""Answers what the owner allows: the fence, grants, permissions; and when nothing was kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from aouo.dashboard.endpoints import Endpoint, NotFound
from aouo.dashboard.excerpts import excerpt
from aouo.dashboard.shown import Shown
from aouo.guard.approval import FOR_GOOD
from aouo.markdown.render import render
from aouo.packs.format.names import GROUP_TOOLS
from aouo.packs.load import Pack
from aouo.packs.summary import summarize
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts
from aouo.store import audit_report, grants, off_record
from aouo.store.audit_report import Use
from aouo.store.grants import Grant
from aouo.words.packs import permissions_card

_MOST = 200
_CARD_CHARS = 1_000_000
_ENDS = {"EXECUTED": "done", "FAILED": "failed", "BLOCKED": "refused"}


def security(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about what is allowed."""
    known: dict[str, tuple[Pack, Facts]] = {}

    async def overview() -> Facts:
        """The fence, grants, how packs' calls ended, and when something was off the record."""
        return await _overview(shown)

    async def permissions(pack: str) -> Facts:
        """What a pack asks for, what it used, and what it was refused."""
        there = shown.pack(pack)
        if pack not in known or known[pack][0] is not there:  # read once for each loaded pack
            known[pack] = there, await asyncio.to_thread(_card, there)
        return await _permissions(shown, known[pack][1])

    async def revoke(grant: str) -> Facts:
        """Take back what was allowed for good."""
        try:
            return {"revoked": _told(await shown.bot.app.deciding.revoke(grant))}
        except LookupError:
            raise NotFound("There is no such grant any more.") from None

    return (
        Endpoint("GET", "/api/security", overview),
        Endpoint("GET", "/api/packs/{pack}/permissions", permissions),
        Endpoint("POST", "/api/grants/{grant}/revoke", revoke),
    )


async def _overview(shown: Shown) -> Facts:
    rules = shown.settings().security
    async with shown.snapshot() as snapshot:
        granted = await snapshot.ask(grants.every(FOR_GOOD, _MOST))
        uses = await snapshot.ask(audit_report.uses())
        times = await snapshot.ask(off_record.times(_MOST))
        modes = await snapshot.ask(off_record.modes(_MOST))
    return {
        "fence": {"mode": rules.fence_mode, "allowed_paths": list(rules.allowed_paths)},
        "asking": {"wait_s": rules.approvals.wait_s, "per_hour": rules.approvals.per_hour},
        "grants": [_told(grant) for grant in granted],
        "packs": _of_packs(uses, shown.library().names),
        "off_record": {"now": modes, "times": times},
    }


async def _permissions(shown: Shown, asked: Facts) -> Facts:
    """Return what a pack asks for, what it used of it, and what it was refused."""
    pack = asked["pack"]
    async with shown.snapshot() as snapshot:
        uses = await snapshot.ask(audit_report.uses_of(pack))
        refusals = await snapshot.ask(audit_report.refusals_of(pack))
        granted = await snapshot.ask(grants.every(FOR_GOOD, _MOST))
    return {
        **asked,
        "uses": _of_tools(pack, uses, asked["tools"], asked["own"]),
        "refusals": await asyncio.to_thread(_refused, refusals, shown.redactor()),
        "grants": [_told(grant) for grant in granted if grant.pack == pack],
    }


def _refused(refusals: Iterable[Facts], redactor: Redactor) -> list[Facts]:
    return [{**one, "reason": excerpt(redactor, one["reason"])} for one in refusals]


def _told(grant: Grant) -> Facts:
    return {"id": grant.id, **asdict(grant)}


def _card(pack: Pack) -> Facts:
    """Return what a pack asks for, as its card words it.

    Raises:
        PackError: its folder cannot be read any more.
    """
    summary = summarize(pack)
    asked = pack.manifest.permissions
    told = "\n".join(part.text for part in render(permissions_card(summary), limit=_CARD_CHARS))
    return {
        "pack": pack.name,
        "card": told,
        "tools": list(asked.tools),
        "own": [f"{pack.name}__{tool.name}" for tool in pack.tools],
        "files": list(asked.files),
        "network": list(asked.network),
        "external_commands": list(asked.external_commands),
    }


def _of_packs(uses: Iterable[Use], installed: Sequence[str]) -> list[Facts]:
    """Sum up how the calls of each pack ended, also of packs that are gone; "" = of no pack."""
    rows: dict[str, Facts] = {name: _none({"pack": name}) for name in installed}
    for use in uses:
        _add(rows.setdefault(use.pack, _none({"pack": use.pack})), use)
    return [{**row, "installed": name in installed} for name, row in rows.items()]


def _of_tools(
    pack: str, uses: Iterable[Use], asked: Sequence[str], own: Sequence[str]
) -> list[Facts]:
    """Sum up how the calls of each tool ended; those that the pack asks for come first."""
    groups = {**GROUP_TOOLS, "pack": own}
    tools = [tool for name in asked for tool in sorted(groups.get(name, (name,)))]
    rows: dict[str, Facts] = {tool: _none({"tool": tool, "asked": True}) for tool in tools}
    for use in uses:
        fresh = _none({"tool": use.tool, "asked": _asks(pack, use.tool, asked)})
        _add(rows.setdefault(use.tool, fresh), use)
    return list(rows.values())


def _asks(pack: str, tool: str, asked: Sequence[str]) -> bool:
    """Whether a pack asks for a tool that no group lists: its own, or one of a tool server."""
    owner, found, _ = tool.rpartition("__")
    if not found:
        return False
    return "pack" in asked if owner == pack else owner.replace("__", ":", 1) in asked


def _none(of: Mapping[str, Any]) -> Facts:
    return {**of, **dict.fromkeys(_ENDS.values(), 0), "last": ""}


def _add(row: Facts, use: Use) -> None:
    row[_ENDS[use.stage]] += use.times
    row["last"] = max(row["last"], use.last)
