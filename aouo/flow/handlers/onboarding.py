"""Decides when a pack's first conversation is at work, and obeys the button that skips it."""

from __future__ import annotations

from aouo.facts.ports import ChatModel
from aouo.facts.work import Delivery, Job
from aouo.flow.generation import Generation
from aouo.flow.replies import Replies, Said
from aouo.outbound import choices
from aouo.store import deliveries, onboarding, routes, turns
from aouo.store.database import Tx
from aouo.store.tenants import tenant_of
from aouo.words.catalogue import say


def may_begin(pack: str, model: ChatModel, generation: Generation) -> bool:
    """Whether this pack has a skill for it and this model reads skills."""
    found = generation.library.get(pack)
    return found is not None and onboarding.SKILL in found.skills and not model.brief


def skill_of(pack: str) -> str:
    """The qualified name of the skill."""
    return f"{pack}:{onboarding.SKILL}"


def chosen(
    tx: Tx, pack: str, tenant: str, session_id: str, skill: str, now: str, *, asked: bool
) -> tuple[str, bool]:
    """(the turn's skill, whether it is a turn of the first conversation).

    `skill` is the session's, `asked` whether just now; any other skill than ours goes first. One
    that was begun by its name and is over does not stay.
    """
    own = skill_of(pack)
    if skill not in ("", own):
        return skill, False
    if onboarding.step(tx, pack, tenant, session_id, now):
        return own, True
    return (own if asked and skill else ""), False


async def skip(replies: Replies, job: Job) -> None:
    """Go on without it, as the person wants to; the button goes."""
    inbound = job.inbound

    def work(tx: Tx, now: str) -> Said:
        rows: list[Delivery] = []
        shown = deliveries.of_message(tx, inbound.address, inbound.message_id)
        pack = turns.pack_of(tx, shown.turn_id) if shown else ""
        if not pack and (route := routes.find(tx, inbound.address)):
            pack = route.active_pack
        skipped = onboarding.end(tx, pack, tenant_of(tx, inbound), "skipped", now)
        if shown and shown.message.buttons:
            key = f"skipped:{shown.id}"
            message = choices.chosen(shown.message, "")
            edits = inbound.message_id
            rows += [
                deliveries.add(tx, inbound.address, "chosen", message, now, key=key, edits=edits)
            ]
        said = say("menus.introduction-skipped" if skipped else "menus.introduction-over")
        return [said, *rows]

    await replies.settle(job, work)
