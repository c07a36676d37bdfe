"""Runs turns that ask no model: an action reached by a tap, a phrase, a command, and `/undo`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from aouo.agent.context import Ack, Ending, Nack, TurnContext
from aouo.agent.loop import act as acted
from aouo.agent.tools.actions import Doing
from aouo.agent.tools.cron import id_of
from aouo.agent.tools.undo import UNDO, Undoing
from aouo.facts.errors import PlatformRefused, RouteRequiredError, ToolFailed
from aouo.facts.events import Button, Inbound, Text, Triggered
from aouo.facts.people import PEOPLE
from aouo.facts.ports import NO_MODEL, ButtonSpec, iso
from aouo.facts.records import AuditEntry, Cause, Effect
from aouo.facts.schedule import ZoneOf
from aouo.facts.taps import encode
from aouo.facts.transcript import AssistantSaid, ToolReturned
from aouo.facts.work import Act, Job
from aouo.flow.answering import touring
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.forms import Form
from aouo.flow.answering.turns import Turn, Turns
from aouo.flow.commands.builtin import welcomed
from aouo.flow.generations import Generations
from aouo.flow.handlers.menus import Menus
from aouo.flow.replies import Replies
from aouo.guard.prepared import digest
from aouo.outbound.pages import Filled
from aouo.packs.actions import slots
from aouo.packs.actions.declared import Action
from aouo.packs.actions.slots import Here
from aouo.packs.load import Pack
from aouo.plumbing.web.envelope import unmarked
from aouo.queue.decide import RunTurn
from aouo.queue.running import Running, StopReason
from aouo.schedules.ticking import SILENT
from aouo.store import audit, gates, schedules, turns
from aouo.store.database import Tx
from aouo.words import receipts
from aouo.words import schedules as words
from aouo.words.catalogue import language, message, say, text
from aouo.words.conversations import welcome

_Rows: TypeAlias = Sequence[Sequence[ButtonSpec]]
_Ask: TypeAlias = Callable[[Job, RunTurn], Awaitable[None]]
_ASK = "ask"
_REDONE_WITHIN = timedelta(days=1)


@dataclass(slots=True, eq=False, kw_only=True)
class Acting:
    """Does what people reach without a model, each once: its tap or message is its key."""

    generations: Generations
    running: Running
    replies: Replies
    turns: Turns
    commit: Commit
    menus: Menus
    doing: Doing
    undoing: Undoing
    zone_of: ZoneOf
    nearest: Callable[[Inbound, str], _Rows]
    """Phrases that these words could have been, as buttons."""

    async def run(self, job: Job, wanted: RunTurn) -> None:
        """Run the job's turn and end it; a shutdown gives the job back, to be taken up.

        Raises:
            StopAsked: /stop came before it began.
        """
        begun_s = time.perf_counter()
        try:
            async with self.generations.turn(wanted.pack, job.id) as generation:
                turn = await self.turns.begin(job, wanted, generation, generation.model)
                limit_s = generation.advanced.turn_timeout_s
                try:
                    ended = await self.running.run(
                        job.id, limit_s, lambda: self._ended(turn, wanted)
                    )
                    if ended is StopReason.SHUTDOWN:
                        await self.replies.give_back(job, turn.ctx.spent)
                        return
                except asyncio.CancelledError:
                    await self.replies.give_back(job, turn.ctx.spent)
                    raise
                await self.commit.end(turn, ended, Filled(), begun_s)
        except RouteRequiredError as error:  # taken up, and its pack is gone meanwhile
            if job.isolated:
                said = text("runs.without-pack", pack=error.requested)
                await self.commit.bringing.give_up(job, said)
            else:
                await self.replies.park(job, error.requested)

    async def undo(self, job: Job, rest: str, ask: _Ask) -> None:
        """Put back what a call changed: `""` is the newest of this conversation that can be, `list`
        shows what there is; with `ask` behind the call's id, the model answers the words that had
        made it."""
        call_id, _, then = rest.partition(" ")
        if begun := await self.replies.database.read(lambda tx: _begun(tx, job.id)):
            await self.run(job, begun)
            return
        if call_id == receipts.LIST:
            await self._list(job)
            return
        found = await self._effects(job, call_id, everywhere=bool(call_id))
        if call_id and not found:
            end = call_id.upper() if len(call_id) == receipts.ID_CHARS else "-"
            those = await self._effects(job, everywhere=True)
            found = [one for one in those if one.id.endswith(end)]
        if then == _ASK and found:
            await self._hand_over(job, found[0], ask)
            return
        for one in found:
            if await self.undoing.undoable(one.id):
                said = f"/undo {one.id}" if call_id else "/undo"
                again = one.name == UNDO and not one.given.get("again")
                wanted = {"call": one.id, **({"again": True} if again else {})}
                await self.run(job, RunTurn(one.pack, said, act=Act(UNDO, wanted)))
                return
        await self.replies.answer(
            job, say("actions.not-undone" if found and call_id else "actions.no-undo")
        )

    async def _effects(
        self, job: Job, call_id: str = "", *, everywhere: bool = False
    ) -> list[Effect]:
        """Return what this person's calls changed, here or, where they are alone, everywhere."""
        inbound = job.inbound
        where = None if everywhere and inbound.chat_kind == "private" else inbound.address
        return await self.replies.database.read(
            lambda tx: turns.effects_of(tx, where, inbound.person.id, call_id)
        )

    async def _list(self, job: Job) -> None:
        """Show what was changed last, each with its button, if it can be put back."""
        found = await self._effects(job, everywhere=True)
        shown = [(one, await self.undoing.undoable(one.id)) for one in found]
        person, zone = job.inbound.person, self.doing.zone(job.inbound.person.id)

        def when(moment: str) -> str:
            return f"{datetime.fromisoformat(moment).astimezone(zone):%Y-%m-%d %H:%M}"

        library = self.replies.library()
        typed = job.inbound.address.platform != "tg"
        said = receipts.listed(shown, library, person.language, when, typed=typed)
        await self.replies.answer(job, said)

    async def redo(self, job: Job, call_id: str) -> None:
        """Make the very call that was refused a turn that nobody watched: its person wants it now,
        within a day, and once."""
        database, inbound = self.replies.database, job.inbound
        since = iso(self.doing.clock.now() - _REDONE_WITHIN)

        def take(tx: Tx) -> turns.RefusedCall | None:
            where = inbound.address, inbound.person.id
            found = turns.refused_call(tx, call_id, *where, since)
            return found if found and gates.take(tx, call_id, job.id) else None

        found = await database.transact(take, durable=True)
        wanted: dict[str, Any] = json.loads(found.arguments or "{}") if found else {}
        if not found or digest(found.name, wanted) != found.digest:
            await self.replies.answer(job, say("taps.expired"))
            return
        act = Act(found.name, wanted)
        await self.run(job, RunTurn(found.pack, f"[tap] {found.name}", act=act))

    async def tour(self, job: Job, rest: str) -> None:
        """Show a pack by its tour: `PACK`, and of a tap `PACK STEP CALLS`; alone, who has one."""
        library, language = self.replies.library(), job.inbound.person.language
        name, *then = rest.split() or [""]
        pack = library.get(library.named(name, language))
        if pack is None or not pack.declared.tours:
            await self.replies.answer(job, welcome(welcomed(library, language)))
        elif not then:
            await self.replies.answer(job, touring.card(pack, language, 0, ()))
        elif wanted := touring.turn_of(pack, language, then[0], then[1:]):
            await self.run(job, wanted)
        else:
            await self.replies.answer(job, touring.over(pack, language))

    async def _hand_over(self, job: Job, effect: Effect, ask: _Ask) -> None:
        """Let the model answer the words that a phrase took, once its effect is put back."""
        cause = Cause("undo", person=job.inbound.person.id)
        try:
            await self.undoing.put_back(effect.id, f"{effect.id}/{job.id}", cause)
        except ToolFailed as error:
            await self.replies.answer(job, message(str(error)))
        else:
            await self.replies.database.transact(lambda tx: self._tell(tx, job, effect))
            await ask(job, RunTurn(effect.pack, "", again=True))

    def _tell(self, tx: Tx, job: Job, effect: Effect) -> None:
        """Tell the audit that a person's tap put a call back."""
        given = digest(UNDO, {"call": effect.id})
        said = job.inbound.origin, given, "a person's tap put it back"
        number = f"{effect.id}/{job.id}"
        row = AuditEntry("EXECUTED", "", number, number, UNDO, effect.pack, *said, sink="own")
        audit.append(tx, row, iso(self.doing.clock.now()))

    async def _ended(self, turn: Turn, wanted: RunTurn) -> Ending:
        try:
            return await self._acked(turn, wanted)
        except Exception as error:  # noqa: BLE001 - a turn that fails has an ending too
            return Nack(error)

    async def _acked(self, turn: Turn, wanted: RunTurn) -> Ack:
        ctx, act = turn.ctx, wanted.act
        if act is None:
            return self._without_model(turn, wanted)
        here = ctx.facts.address.platform
        if ctx.pack.platforms and here not in ctx.pack.platforms:
            raise PlatformRefused(ctx.pack.display_name, here, ctx.pack.platforms)
        pack = turn.generation.library.get(ctx.facts.pack)
        action = _declared(pack, act)
        ctx.said = await turn.calls.journal.said(ctx.facts.id)
        made = any(isinstance(one, AssistantSaid) for one in ctx.said)  # before a crash
        if pack and action and not made and not turn.job.isolated:
            try:
                act = await Form(self.doing, turn, pack, action).filled(act)
            except ToolFailed as error:
                return _plain(str(error) if error.args[0] else text("actions.called-off"))
        ctx.by_person = ctx.facts.origin in PEOPLE
        result = await acted(ctx, turn.calls, act)
        if result.failed:
            return _plain(text("actions.failed", why=result.text), self._ask_row(turn, "retry"))
        if pack and act.tour:
            return await self._on_tour(turn, pack, act, result)
        if not result.text:  # a picture says it all
            return Ack("")
        if act.tool == "cron":
            return await self._reminder(ctx, result)
        undo = await self._undo_rows(turn, result.call_id, act)
        if pack and action and action.page:
            return await self._on_page(turn, pack, action, result.text, undo)
        return replace(_plain(result.text, undo), in_place=self._place(turn, act))

    async def _on_tour(self, turn: Turn, pack: Pack, act: Act, result: ToolReturned) -> Ack:
        """Return what a step of a tour did, and the next step below it."""
        person, tenant = turn.job.inbound.person, turn.ctx.facts.tenant
        number, *done = act.tour
        if number == touring.END:
            over = touring.over(pack, person.language)
            return Ack(over.text, drawn=(over,))
        if await self.undoing.undoable(result.call_id):
            done.append(result.call_id)
        then = touring.card(pack, person.language, int(number), done)
        page = pack.declared.actions[act.tool.partition("__")[2]].page
        shown = [message(unmarked(result.text))] if result.text else []
        if page:
            shown = [await self.menus.drawn(pack, page, tenant, person)]
        return Ack(f"{result.text}\n\n{then.text}", drawn=(*shown, then))

    def _without_model(self, turn: Turn, wanted: RunTurn) -> Ack:
        """Say that a model is needed, with what these words could mean without one."""
        inbound, pack = turn.job.inbound, turn.generation.library.get(wanted.pack)
        if isinstance(inbound.content, Triggered):
            said = inbound.content.prompt or inbound.content.name
            told = turn.ctx.facts.origin in ("cron", "watch")
            return _plain(text("runs.no-model", said=said)) if told else Ack(SILENT)
        told = [text("actions.no-model")]
        if self.generations.now.owner.is_owner(inbound):
            told.append(text("actions.connect"))
        rows = [*self.nearest(inbound, wanted.pack)]
        if pack and pack.menu:
            name = pack.said(inbound.person.language, pack.manifest.display_name)
            rows.append((ButtonSpec(text("actions.button-menu", pack=name), encode("page", "")),))
        return _plain("\n\n".join(told), rows)

    async def _reminder(self, ctx: TurnContext, result: ToolReturned) -> Ack:
        """Say back what the schedule that was made is, with what can be done with it."""
        made = id_of(ctx.facts.id, result.call_id)
        row = await self.replies.database.read(lambda tx: schedules.get(tx, made))
        if row is None or not row.next_due:
            return _plain(result.text)
        off, now = not self.generations.now.cron.enabled, self.doing.clock.now()
        here = Here(now, self.zone_of(row.zone), language())
        when = slots.say("datetime", datetime.fromisoformat(row.next_due), here)
        shown = words.reminder_made(row, when, now, self.zone_of, off=off)
        return Ack(shown.text, drawn=(shown,))

    def _place(self, turn: Turn, act: Act) -> int:
        """Return the message that the answer takes the place of: of an undo, the one tapped."""
        tapped = isinstance(turn.job.inbound.content, Button) and act.tool == UNDO
        return turn.job.inbound.message_id if tapped else 0

    async def _undo_rows(
        self, turn: Turn, call_id: str, act: Act
    ) -> tuple[tuple[ButtonSpec, ...], ...]:
        """Return what can be done about an answer: put it back, hand its words to the model."""
        row: list[ButtonSpec] = []
        again = "retry"
        if await self.undoing.undoable(call_id):
            undo, again = f"undo {call_id}", f"undo {call_id} {_ASK}"
            back = act.tool == UNDO and not act.arguments.get("again")
            label = text("actions.button-redo" if back else "actions.button-undo")
            row.append(ButtonSpec(label, encode("command", undo)))
        if act.tool == UNDO:
            return (tuple(row),) if row else ()
        row += [button for row in self._ask_row(turn, again) for button in row]
        return (tuple(row),) if row else ()

    def _ask_row(self, turn: Turn, again: str) -> tuple[tuple[ButtonSpec, ...], ...]:
        """Return the button that has the model answer a phrase's words, if it can."""
        ctx, job = turn.ctx, turn.job
        by_phrase = isinstance(job.inbound.content, Text) and ctx.model.provider != NO_MODEL
        only = self.replies.library().names == (ctx.facts.pack,)
        if not by_phrase or not (only or job.active_pack == ctx.facts.pack):
            return ()
        return ((ButtonSpec(text("actions.button-ask"), encode("command", again)),),)

    async def _on_page(
        self,
        turn: Turn,
        pack: Pack,
        action: Action,
        answer: str,
        undo: _Rows,
    ) -> Ack:
        """Return the page that the action leads to; a tap on a page turns that message into it."""
        inbound = turn.job.inbound
        tapped = isinstance(inbound.content, Button) and inbound.message_id > 0
        tenant = turn.ctx.facts.tenant
        told = bool(action.answer or action.toast or action.sql)
        above = unmarked(answer) if told else ""
        page = await self.menus.drawn(pack, action.page, tenant, inbound.person, above=above)
        page = replace(page, buttons=(*page.buttons, *(tuple(row) for row in undo)))
        place = inbound.message_id if tapped else 0
        return Ack(answer, drawn=(page,), in_place=place)


def _begun(tx: Tx, job_id: int) -> RunTurn | None:
    """Return what this job had begun to put back when the process ended: by now it may be done."""
    turn = turns.open_of(tx, job_id)
    said = turns.said(tx, turn.id) if turn else []
    calls = next((one.calls for one in said if isinstance(one, AssistantSaid)), ())
    if not (turn and calls):
        return None
    act = Act(calls[0].name, json.loads(calls[0].arguments))
    return RunTurn(turn.pack, turns.words(tx, turn.id), act=act)


def _declared(pack: Pack | None, act: Act) -> Action | None:
    name = act.tool.removeprefix(f"{pack.name}__") if pack else ""
    return pack.declared.actions.get(name) if pack else None


def _plain(shown: str, rows: _Rows = ()) -> Ack:
    return Ack(shown, drawn=(message(unmarked(shown), *rows),))
