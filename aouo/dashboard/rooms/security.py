"""Answers what the owner allows, what waits for an answer, and what became of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any, get_args

from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint, NotFound, day, number, option, phrase
from aouo.dashboard.tables import beginning, excerpt
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Origin
from aouo.facts.records import Stage
from aouo.facts.work import Gate
from aouo.flow.approving import KIND as APPROVAL
from aouo.flow.web_chat import choices, undecidable
from aouo.guard.prepared import FOR_GOOD
from aouo.packs.format.problems import GROUP_TOOLS
from aouo.packs.load import Pack
from aouo.packs.summary import summarize
from aouo.plumbing.control import BadRequest, Facts
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import moments
from aouo.store import audit, gates, off_record, traces
from aouo.store.audit import Use
from aouo.store.gates import Grant
from aouo.store.traces import Opened
from aouo.words.markdown.render import render
from aouo.words.packs import permissions_card

_ROWS_MAX = 500
_ID_MAX = 10**15 - 1
_PARAMETERS = (
    phrase("text", "Occurs in tool, pack, reason, turn or call."),
    phrase("tool", "Its tool."),
    phrase("pack", "Its pack."),
    option("stage", ("", *get_args(Stage)), "Its stage; any without it."),
    option("origin", ("", *get_args(Origin)), "What its turn was started by; any without it."),
    phrase("turn", "Its turn's id, or the end of it."),
    day("since", "The first local day."),
    day("until", "The last local day."),
    number("before", 0, _ID_MAX, 0, "Only rows with a lower id; 0 = from the newest on."),
    number("limit", 1, _ROWS_MAX, 100, "How many rows."),
)


def audited(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint of the audit."""

    def told(rows: Sequence[Facts]) -> list[Facts]:
        redactor = shown.redactor()
        return [{**row, "reason": excerpt(redactor, row["reason"])} for row in rows]

    async def rows(
        since: date | None, until: date | None, before: int, limit: int, **sought: str
    ) -> Facts:
        """What became of tool calls, newest first; of what was off the record only that it was.

        `older` is the `before` of the next page, 0 =
        there is nothing older.
        """
        begins, ends = moments(since, until, shown.zone())
        async with shown.snapshot() as snapshot:
            lowest, highest = await snapshot.ask(audit.ids())
            top = min(before or highest + 1, highest + 1)
            found = await snapshot.ask(
                audit.rows(top, limit + 1, since=begins, until=ends, **sought)
            )
        if len(found) > limit:
            older = found[limit - 1]["id"]
        else:
            reaches = audit.reaches(sought["turn"], top)
            older = reaches if reaches > lowest else 0
        return {"rows": await asyncio.to_thread(told, found[:limit]), "older": older}

    return (Endpoint("GET", "/api/audit", rows, _PARAMETERS),)


_MOST_APPROVALS = 100
_LABEL_CHARS = 200
_AT_REST = "No bot runs that could take the answer."


def approvals(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about open questions."""

    def told(found: Sequence[Opened]) -> list[Facts]:
        return [_told_approval(shown, opened) for opened in found]

    async def every() -> Facts:
        """What waits for a person's answer."""
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(traces.open_gates(_MOST_APPROVALS))
            number = await snapshot.ask(traces.how_many())
        return {"number": number, "open": await asyncio.to_thread(told, found)}

    async def count() -> Facts:
        """How much waits for a person's answer."""
        async with shown.snapshot() as snapshot:
            return {"number": await snapshot.ask(traces.how_many())}

    async def decide(gate: str, choice: str = "", words: str = "") -> Facts:
        """Decide as the owner; 409 if it was decided before, or is not the owner's to decide.

        `choice` is the `value` of one; a question is answered in `words`.
        """
        try:
            return {"outcome": await shown.bot.app.deciding.decide(gate, choice, words)}
        except LookupError:
            raise NotFound("There is no such question.") from None
        except ValueError as error:
            raise BadRequest(str(error)) from None

    return (
        Endpoint("GET", "/api/approvals", every),
        Endpoint("GET", "/api/approvals/number", count),
        Endpoint("POST", "/api/approvals/{gate}", decide, body=True),
    )


def _told_approval(shown: Shown, opened: Opened) -> Facts:
    """Return what is asked, with the words of its card; off the record only that it is."""
    gate, problem, redactor = opened.gate, _why_not(shown, opened), shown.redactor()
    facts: Facts = {
        "id": gate.id,
        "conversation": str(gate.address),
        "since": opened.since,
        "until": gate.expires_at,
        "off_record": opened.off_record,
        "why_not": problem,
        "choices": [],
    }
    if opened.off_record:
        return facts
    offered = [] if problem else choices(gate)
    return facts | {
        "kind": "approval" if gate.kind == APPROVAL else "question",
        "question": excerpt(redactor, gate.question, opened.question_bytes),
        "pack": opened.pack,
        "tool": opened.tool,
        "arguments": excerpt(redactor, opened.arguments, opened.arguments_bytes),
        "turn_id": gate.turn_id,
        "asked": "" if gate.kind == APPROVAL else _asked(opened.inbound, gate),
        "place": _place(opened.inbound, gate.address),
        "choices": [
            {
                "value": value,
                "label": beginning(redactor, opened.buttons.get(value, text), _LABEL_CHARS),
            }
            for value, text in offered
        ],
    }


def _why_not(shown: Shown, opened: Opened) -> str:
    """Return why it cannot be decided at the page, "" = it can."""
    if shown.runtime is None:
        return _AT_REST
    owner = shown.runtime.app.generations.now.owner
    return undecidable(opened.gate, owner, off_record=opened.off_record)


def _asked(inbound: Inbound, gate: Gate) -> str:
    """Say who is asked; "you" is whoever sits at this machine."""
    if gate.address.platform in ("cli", "web"):
        return "you"
    known = inbound.person.name if inbound.person.id == gate.person else ""
    return known or gate.person


def _place(inbound: Inbound, address: ConversationAddress) -> str:
    """Say where the turn is that asks, as people call it."""
    if address.platform != "tg":
        return "the terminal" if address.platform == "cli" else "this page"
    if not inbound.group:
        return f"the private chat of {inbound.person.name or address.chat_id}"
    return f"{inbound.title}, {inbound.group}" if inbound.title else inbound.group


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
        granted = await snapshot.ask(gates.every_grant(FOR_GOOD, _MOST))
        uses = await snapshot.ask(audit.uses())
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
        uses = await snapshot.ask(audit.uses_of(pack))
        refusals = await snapshot.ask(audit.refusals_of(pack))
        granted = await snapshot.ask(gates.every_grant(FOR_GOOD, _MOST))
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
