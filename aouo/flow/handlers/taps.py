"""Obeys taps on our buttons: one handler for each kind of button, none missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, get_args

from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.facts.taps import FORMS, Tap
from aouo.facts.work import Delivery, Job
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.gates import Answer, BudgetRefusals
from aouo.flow.handlers.installing import Installing, skip_onboarding
from aouo.flow.handlers.letting_in import LettingIn
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.places import Places
from aouo.flow.replies import Replies
from aouo.store import deliveries, kept_reports
from aouo.store.database import Database, Tx
from aouo.words.catalogue import say, text

_C = TypeVar("_C")
Handlers: TypeAlias = Mapping[type, Callable[[Job, Any], Awaitable[None]]]
"""By the type of a case, what does it and settles its job."""


def on(case: type[_C], handle: Callable[[Job, _C], Awaitable[None]]) -> Handlers:
    """One row of a table; the type checker sees that the handler takes this case."""
    return {case: handle}


def table(union: object, *rows: Handlers) -> Handlers:
    """Join the rows to a table of all cases of `union`.

    Raises:
        ValueError: a case has no handler, or two, or a handler is of no case; found at start.
    """
    handlers = {case: handle for row in rows for case, handle in row.items()}
    wrong = set(get_args(union)) ^ set(handlers)
    if wrong or len(handlers) != len(rows):
        named = sorted(case.__name__ for case in wrong) or "one twice"
        raise ValueError(f"cases without a handler, or handlers without a case: {named}")
    return handlers


_Taps: TypeAlias = Mapping[str, Callable[[Job, Tap], Awaitable[None]]]
"""By the name of a row of `facts.taps`, what obeys the tap and settles its job."""


def taps_of(
    replies: Replies,
    *,
    database: Database,
    answer_gate: Callable[[Job, Answer], Awaitable[None]],
    budget_refusals: BudgetRefusals,
    editing: Editing,
    installing: Installing,
    menus: Menus,
    places: Places,
    letting_in: LettingIn,
) -> _Taps:
    """The table of taps; those that wait in a lane were answered when they came in."""
    taps: _Taps = {
        "choice": answer_gate,
        "approval": answer_gate,
        "budget_raise": budget_refusals.tap,
        "budget_cheaper": budget_refusals.tap,
        "budget_stop": budget_refusals.tap,
        "edited": editing.tap,
        "install_offer": installing.offer,
        "install_yes": installing.decide,
        "install_no": installing.decide,
        "again": partial(_show_again, replies, database),
        "digest": partial(_show_kept, replies),
        "data": places.tap,
        "person": letting_in.tap,
        "onboarding_skip": lambda job, tap: skip_onboarding(replies, job),
        "page": lambda job, tap: menus.open(job, tap.values[0]),
        **dict.fromkeys(("act", "command", "fix", "kept", "old"), partial(_explain, replies)),
    }
    if wrong := (FORMS.keys() - {"pack", "text"}) ^ taps.keys():
        raise ValueError(f"taps without a handler, or handlers without a tap: {sorted(wrong)}")
    return taps


async def _show_again(replies: Replies, database: Database, job: Job, tap: Tap) -> None:
    """Show a delivery of this conversation once more, and only once."""
    inbound = job.inbound
    delivery_id = int(tap.values[0])
    row = await database.read(lambda tx: _shown_before(tx, delivery_id, inbound))
    if row is None:
        await replies.begin_tap(job)
        await replies.answer(job, say("turns.unknown-button"))
        return

    def work(tx: Tx, now: str) -> str | list[Delivery]:
        key = f"again:{row.id}:asked"
        if deliveries.has_key(tx, key):
            return text("taps.shown")
        shown = deliveries.add(
            tx, inbound.address, "reply", row.message, now, turn_id=row.turn_id, key=key
        )
        deliveries.hush_as(tx, shown.id, row.id)
        return [shown]

    await replies.answer_tap(job, work, "answered")


async def _show_kept(replies: Replies, job: Job, tap: Tap) -> None:
    """Send all that a digest of this conversation told, once."""
    inbound, digest_id = job.inbound, int(tap.values[0])

    def work(tx: Tx, now: str) -> str | list[Delivery]:
        kept = kept_reports.of_digest(tx, digest_id, inbound.address)
        if not kept:
            return text("digest.forgotten")
        if deliveries.has_key(tx, kept_reports.key_of(kept[0], 0)):
            return text("taps.shown")
        return [row for one in kept for row in kept_reports.send(tx, one, now)]

    await replies.answer_tap(job, work, "answered")


async def _explain(replies: Replies, job: Job, tap: Tap) -> None:
    """Say that the button means nothing any more."""
    del tap
    await replies.answer(job, say("turns.unknown-button"))


def _shown_before(tx: Tx, delivery_id: int, inbound: Inbound) -> Delivery | None:
    """A delivery of this conversation whose words are kept.

    The tapped message need not be known: the line may stand there twice.
    """
    row = deliveries.get(tx, delivery_id)
    if row is None or row.message == Rendered(""):
        return None
    return row if inbound.address in (row.address, row.address.around) else None
