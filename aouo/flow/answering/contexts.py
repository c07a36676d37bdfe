"""What one turn stands on: its view, its tools, its ways to ask, joined as a `TurnContext`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aouo.facts.ports import Clock
from aouo.facts.work import Job
from aouo.flow.answering.begin import Begun
from aouo.flow.answering.otr_memory import OtrMemory
from aouo.flow.answering.prepare import action_of, facts_of, toolbox_of
from aouo.flow.files.media_files import folder_of
from aouo.flow.generation import Generation
from aouo.flow.questions.approving import approving_of
from aouo.flow.questions.asking import Asking
from aouo.flow.questions.waiting import PersonWait
from aouo.guard.action import Action, Outcome
from aouo.outbound.degrade import Capabilities
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.plumbing.bus import Bus
from aouo.queue.gates import Waiting
from aouo.queue.lanes import Slot
from aouo.queue.running import Deadline
from aouo.store.database import Database
from aouo.tools.registry import ToolContext
from aouo.tools.results import NAME as RESULT_READ
from aouo.turn.calls import spent_by
from aouo.turn.context import TurnContext


class Contexts:
    """Makes contexts, one a turn; `otr_memory` is what was said off the record."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        bus: Bus,
        waiting: Waiting,
        capabilities: Mapping[str, Capabilities],
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._bus = bus
        self._waiting = waiting
        self._capabilities = capabilities
        self.otr_memory = OtrMemory()

    def context(
        self,
        job: Job,
        begun: Begun,
        generation: Generation,
        view: LiveView,
        slot: Slot,
        deadline: Deadline,
    ) -> TurnContext:
        """The context of the turn that has begun.

        Raises:
            RouteRequiredError: the turn's pack is not loaded any more.
        """
        facts = facts_of(job, begun, generation)
        toolbox = toolbox_of(facts, generation)
        person_wait = PersonWait(
            database=self._database,
            clock=self._clock,
            outbox=self._outbox,
            waiting=self._waiting,
            address=facts.address,
            turn_id=facts.turn.id,
            slot=slot,
            deadline=deadline,
            view=view,
        )
        approving = approving_of(job, facts, person_wait, generation)
        tool_context = ToolContext(
            adapter=view,
            session_id=facts.turn.session_id,
            session_key=facts.session_key,
            pack=facts.pack.name,
            asker=Asking(person_wait, facts.person.id),
            tenant=facts.tenant,
            load_tools=toolbox.load_tools,
            load_skills=toolbox.load_skills,
            turn_id=facts.turn.id,
            media=folder_of(facts.address),
            off_record=facts.turn.off_record,
            spend=lambda scope, provider, model, ms: ctx.spend(
                replace(spent_by(ctx, scope), provider=provider, model=model, duration_ms=ms)
            ),
        )

        async def call_tool(action: Action, proposed: bool) -> Outcome:
            run = toolbox.runner(action.call.name, tool_context)
            outcome = await generation.guard.call(action, run, approving, proposed=proposed)
            if outcome.kept:
                toolbox.reveal((RESULT_READ,))
            return outcome

        ctx = TurnContext(
            facts,
            model=generation.model,
            view=view,
            toolbox=toolbox,
            prepare=lambda call: action_of(call, facts, toolbox),
            propose=generation.guard.propose,
            call_tool=call_tool,
            day=generation.quota.day(),
            recalled=self.otr_memory.of(facts),
            publish=self._bus.publish,
        )
        return ctx

    def view(self, job: Job, begun: Begun, generation: Generation) -> LiveView:
        """What the turn shows in its conversation while it runs."""
        address = job.inbound.address
        showing = generation.showing
        return LiveView(
            outbox=self._outbox,
            database=self._database,
            clock=self._clock,
            address=address,
            turn_id=begun.turn.id,
            streaming=address.platform == "tg" and showing.streaming != "off",
            drafts=showing.streaming == "draft"
            and job.inbound.chat_kind == "private"
            and not address.thread_id,
            max_parts=showing.max_parts,
            capabilities=self._capabilities.get(address.platform, Capabilities()),
            said_id=job.inbound.message_id,
            reply=job.inbound.chat_kind == "group",
            live=begun.live,
            redactor=generation.redactor,
            for_owner=generation.owner.is_owner(job.inbound),
            names_tools=showing.names_tools,
        )
