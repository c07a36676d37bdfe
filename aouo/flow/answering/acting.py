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
from aouo.agent.tools.named_rows import RowGone
from aouo.agent.tools.undo import UNDO, Undoing
from aouo.facts.errors import PlatformRefused, RouteRequiredError, ToolFailed
from aouo.facts.events import Button, Inbound, Text, Triggered
from aouo.facts.people import PEOPLE
from aouo.facts.ports import NO_MODEL, ButtonSpec, iso
from aouo.facts.records import Effect
from aouo.facts.schedule import ZoneOf
from aouo.facts.taps import encode
from aouo.facts.transcript import AssistantSaid, ToolReturned
from aouo.facts.work import Act, Job
from aouo.flow.answering import touring
from aouo.flow.answering.commit import Commit
from aouo.flow.answering.correcting import begun_turn
from aouo.flow.answering.forms import Form
from aouo.flow.answering.searching import Searching
from aouo.flow.answering.turns import Turn, Turns
from aouo.flow.commands.builtin import shown_packs, welcomed
from aouo.flow.generations import Generations
from aouo.flow.handlers.menus import Menus
from aouo.flow.replies import Replies
from aouo.guard.prepared import digest
from aouo.outbound.pages import Filled
from aouo.packs.actions import slots, spoken
from aouo.packs.actions.declared import Action
from aouo.packs.actions.slots import Here
from aouo.packs.load import Pack
from aouo.plumbing.web.envelope import unmarked
from aouo.queue.decide import PickPack, RunTurn
from aouo.queue.running import Running, StopReason
from aouo.schedules.ticking import SILENT
from aouo.store import gates, schedules, turns, watches
from aouo.store.database import Tx
from aouo.words import receipts
from aouo.words import schedules as words
from aouo.words.catalogue import language, message, say, text
from aouo.words.conversations import welcome
from aouo.words.markdown.tables import LIMIT
from aouo.words.sentences import one_block

_Rows: TypeAlias = Sequence[Sequence[ButtonSpec]]
_Ask: TypeAlias = Callable[[Job, RunTurn], Awaitable[None]]
_ASK = "ask"
_CONNECT = "offer of a model"
_OFFERS_MAX = 3
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
    searching: Searching
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
        if begun := await self.replies.database.read(lambda tx: begun_turn(tx, job.id)):
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
        if not call_id:  # what people did themselves comes before what came by itself
            found.sort(key=lambda one: one.origin not in PEOPLE)
        for one in found:
            if await self.undoing.undoable(one.id):
                said = f"/undo {one.id}" if call_id else "/undo"
                again = one.name == UNDO and not one.given.get("again")
                calls = " ".join(await self.undoing.with_replaced(one.id))
                wanted = {"call": calls, **({"again": True} if again else {})}
                if not call_id:
                    language = job.inbound.person.language
                    wanted["what"] = receipts.named(one, self.replies.library(), language)
                await self.run(job, RunTurn(one.pack, said, act=Act(UNDO, wanted)))
                return
        why = "actions.no-undo"
        if found and call_id:
            lost = await self.undoing.has_lost(found[0].id)
            why = "actions.not-kept" if lost else "actions.not-undone"
        await self.replies.answer(job, say(why))

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
        try:
            await self.undoing.take_back(effect, job)
        except ToolFailed as error:
            await self.replies.answer(job, message(str(error)))
        else:
            await ask(job, RunTurn(effect.pack, "", again=True))

    async def _ended(self, turn: Turn, wanted: RunTurn) -> Ending:
        try:
            return await self._acked(turn, wanted)
        except Exception as error:  # noqa: BLE001 - a turn that fails has an ending too
            return Nack(error)

    async def _acked(self, turn: Turn, wanted: RunTurn) -> Ack:
        ctx, act = turn.ctx, wanted.act
        if act is None:
            return await self._without_model(turn, wanted)
        here = ctx.facts.address.platform
        if ctx.pack.platforms and here not in ctx.pack.platforms:
            raise PlatformRefused(ctx.pack.display_name, here, ctx.pack.platforms)
        pack = turn.generation.library.get(ctx.facts.pack)
        action = _declared(pack, act)
        ctx.said = await turn.calls.journal.said(ctx.facts.id)
        made = any(isinstance(one, AssistantSaid) for one in ctx.said)  # before a crash
        if pack and action and not made and not turn.job.isolated:
            person = turn.job.inbound.person
            await self.menus.reminders.fill(pack, ctx.facts.tenant, person)
            try:
                act = await Form(self.doing, turn, pack, action).filled(act)
            except RowGone as error:
                return await self._page_anew(turn, pack, act, str(error))
            except ToolFailed as error:
                return _plain(str(error) if error.args[0] else text("actions.called-off"))
        ctx.by_person = ctx.facts.origin in PEOPLE
        if act.then:
            return await self._several(turn, (replace(act, then=()), *act.then))
        result = await self._made(turn, act)
        if result.failed:
            return _plain(_failure(ctx, result), self._ask_row(turn, "retry"))
        if pack and act.tour:
            return await self._on_tour(turn, pack, act, result)
        if not result.text:  # a picture says it all
            return Ack("")
        if act.tool == "cron":
            shown = await self._reminder(ctx, result)
            return await self._with_undo(turn, shown, result.call_id) if act.replaces else shown
        if pack and action and action.search:
            words = str(next(iter(act.arguments.values())))
            library = self.replies.shown_to(ctx.facts.person.id)
            hits, keeper = await self.searching.hits(turn.job.inbound, library, pack.name, words)
            rows = self._ask_row(turn, "retry")
            signed = keeper or turn.job.active_pack or self.replies.default()
            return replace(_plain(hits, rows), text=result.text, signed=signed)
        undo = await self._undo_rows(turn, result.call_id, act)
        if pack and action and action.page:
            told = bool(action.answer or action.toast or action.sql)
            above = unmarked(result.text) if told else ""
            return await self._on_page(turn, pack, action.page, result.text, above, undo)
        return replace(_plain(result.text, undo), in_place=self._place(turn, act))

    async def _several(self, turn: Turn, acts: Sequence[Act]) -> Ack:
        """Make the calls of several wishes in order, and list what each did, with its undo."""
        lines: list[str] = []
        row: list[ButtonSpec] = []
        for number, act in enumerate(acts):
            result = await acted(turn.ctx, turn.calls, act, number)
            if result.failed:
                lines.append(_failure(turn.ctx, result))
                continue
            shown = (await self._reminder(turn.ctx, result)).text if act.tool == "cron" else ""
            lines.append(shown or result.text)
            if await self.undoing.undoable(result.call_id):
                label = text("receipts.button-number", number=number + 1)
                row.append(ButtonSpec(label, encode("command", f"undo {result.call_id}")))
        return _plain("\n".join(lines), (tuple(row),) if row else ())

    async def _made(self, turn: Turn, act: Act) -> ToolReturned:
        """Make the call of an act. What it replaces is put back before, and stands again if the
        call changes nothing."""
        ctx, calls = turn.ctx, turn.calls
        if not act.replaces:
            return await acted(ctx, calls, act)
        undone = await acted(ctx, calls, Act(UNDO, {"call": act.replaces}))
        if undone.failed:
            return undone
        result = await acted(ctx, calls, act, 1)
        if result.failed and not await self.undoing.undoable(result.call_id):
            await acted(ctx, calls, Act(UNDO, {"call": undone.call_id, "again": True}), 2)
        return result

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

    async def pick(self, job: Job, wanted: PickPack) -> None:
        """Ask for the pack that answers; where none can without a model, say that."""
        content = job.inbound.content
        if wanted.gone or self.generations.now.model.provider != NO_MODEL:
            await self.replies.park(job, wanted.gone)
        else:
            words = content.text if isinstance(content, Text) else ""
            await self.run(job, RunTurn("", words))

    async def _without_model(self, turn: Turn, wanted: RunTurn) -> Ack:
        """Say that a model is needed, with what these words could mean without one, and once a day
        to the owner how one is connected."""
        inbound = turn.job.inbound
        if isinstance(inbound.content, Triggered):
            said = inbound.content.prompt or inbound.content.name
            told = turn.ctx.facts.origin in ("cron", "watch")
            return _plain(text("runs.no-model", said=said)) if told else Ack(SILENT)
        library = self.replies.shown_to(inbound.person.id)
        if isinstance(inbound.content, Text) and spoken.asks(inbound.content.text, anywhere=True):
            words = " ".join(spoken.telling(inbound.content.text))
            hits, keeper = await self.searching.hits(inbound, library, wanted.pack, words)
            if keeper:
                return replace(_plain(hits), signed=keeper)
        told = [text("actions.no-model")]
        rows = [*self.nearest(inbound, wanted.pack)][:_OFFERS_MAX]
        if apps := shown_packs(library, inbound.person.language):
            told.append(text("actions.apps", packs=", ".join(name for _, name in apps)))
        if self.generations.now.owner.is_owner(inbound):
            today = self.doing.clock.now().astimezone(self.doing.zone(inbound.person.id)).date()
            day, job_id = today.isoformat(), turn.job.id
            if await self.replies.database.transact(lambda tx: _offer_model(tx, day, job_id)):
                button = ButtonSpec(text("actions.button-connect"), encode("command", "model"))
                rows.append((button,))
        return _plain("\n".join(told), rows)

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

    async def _with_undo(self, turn: Turn, shown: Ack, call_id: str) -> Ack:
        """Return a reminder that replaces another one, with the button that puts that back."""
        rows = await self._undo_rows(turn, call_id, Act("cron"))
        drawn = tuple(replace(one, buttons=(*one.buttons, *rows)) for one in shown.drawn)
        return replace(shown, drawn=drawn)

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

    async def _page_anew(self, turn: Turn, pack: Pack, act: Act, why: str) -> Ack:
        """Say why what was tapped cannot be done, above the page as it is now."""
        name = act.tool.partition("__")[2]
        pages = (page.id for page in pack.menu if name in page.acts)
        page = pack.declared.actions[name].page or next(pages, "")
        return await self._on_page(turn, pack, page, why, why, ()) if page else _plain(why)

    async def _on_page(
        self, turn: Turn, pack: Pack, page_id: str, answer: str, above: str, undo: _Rows
    ) -> Ack:
        """Return the page that an action leads to; a tap on a page turns that message into it."""
        inbound = turn.job.inbound
        tapped = isinstance(inbound.content, Button) and inbound.message_id > 0
        tenant = turn.ctx.facts.tenant
        page = await self.menus.drawn(pack, page_id, tenant, inbound.person, above=above)
        page = replace(page, buttons=(*page.buttons, *(tuple(row) for row in undo)))
        place = inbound.message_id if tapped else 0
        return Ack(answer, drawn=(page,), in_place=place)


def _offer_model(tx: Tx, day: str, job_id: int) -> bool:
    """Whether a model is offered for the first time on a day; a job that is taken up asks again."""
    mark, last = f"{day} {job_id}", watches.last_tick(tx, _CONNECT)
    if last.startswith(day) and last != mark:
        return False
    watches.note_tick(tx, _CONNECT, mark)
    return True


def _declared(pack: Pack | None, act: Act) -> Action | None:
    name = act.tool.removeprefix(f"{pack.name}__") if pack else ""
    return pack.declared.actions.get(name) if pack else None


def _failure(ctx: TurnContext, result: ToolReturned) -> str:
    if any(effect.id == result.call_id and effect.unknown for effect in ctx.effects):
        return text("actions.unknown")
    return text("actions.failed", why=result.text)


def _plain(shown: str, rows: _Rows = ()) -> Ack:
    return Ack(shown, drawn=(message(one_block(unmarked(shown), LIMIT), *rows),))
