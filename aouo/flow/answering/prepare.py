"""What is fixed when a turn starts, gathered from its job, its route and its generation."""

from __future__ import annotations

from aouo.facts.errors import RouteRequiredError, ToolFailed
from aouo.facts.transcript import ToolCall
from aouo.facts.work import Job
from aouo.flow.answering.begin import Begun
from aouo.flow.files.media_files import folder_of
from aouo.flow.files.media_reach import Openers, openers_of
from aouo.flow.generation import Generation
from aouo.flow.handlers.onboarding import skill_of
from aouo.guard.action import Action
from aouo.packs.format.names import DEFAULT_TOOLS
from aouo.packs.load import Pack
from aouo.packs.memories import targets_of
from aouo.tools.prepare import prepare
from aouo.turn.context import Facts, PackView, SkillView
from aouo.turn.toolbox import Toolbox


def facts_of(job: Job, begun: Begun, generation: Generation) -> Facts:
    """The turn's facts; the pack is the one it began with, whatever happens meanwhile.

    Raises:
        RouteRequiredError: that pack is not loaded any more.
    """
    inbound = job.inbound
    pack = generation.library.get(begun.turn.pack)
    if begun.turn.pack and pack is None:
        raise RouteRequiredError(generation.library.names, begun.turn.pack)
    return Facts(
        turn=begun.turn,
        session_key=begun.session_key,
        tenant=begun.tenant,
        onboarding=begun.onboarding,
        address=inbound.address,
        person=inbound.person,
        origin=inbound.origin,
        chat_kind=inbound.chat_kind,
        pack=_view_of(pack, begun.turn.skill) if pack else PackView(),
        skill_body=_skill_body(begun, generation),
    )


def toolbox_of(facts: Facts, generation: Generation) -> Toolbox:
    """What the turn's pack permits, as far as the owner has it enabled."""
    pack = generation.library.get(facts.pack.name)
    return Toolbox(
        generation.registry,
        permitted=pack.manifest.permissions.tools if pack else DEFAULT_TOOLS,
        enabled=generation.enabled,
        skills=tuple(skill.name for skill in facts.pack.skills),
        skill=lambda name: generation.library.resolve_skill(facts.pack.name, name).shown,
        off_record=facts.turn.off_record,
        pack=facts.pack.name,
        onboarding=facts.turn.skill == skill_of(facts.pack.name),
        memory_targets=facts.pack.memory_targets,
    )


def openers(pack: str, generation: Generation, *, off_record: bool) -> Openers:
    """What a turn of this pack, "" = of none, may open with what was sent."""
    found = generation.library.get(pack)
    permitted = found.manifest.permissions.tools if found else DEFAULT_TOOLS
    allowed = generation.registry.allowed(permitted, generation.enabled, pack)
    return openers_of(allowed, off_record=off_record)


def action_of(call: ToolCall, facts: Facts, toolbox: Toolbox) -> Action:
    """A call of this turn, read once for whoever deals with it."""
    return prepare(
        call,
        toolbox.named(call.name),
        origin=facts.origin,
        pack=facts.pack.name,
        turn_id=facts.turn.id,
        tenant=facts.tenant,
        session_id=facts.turn.session_id,
        off_record=facts.turn.off_record,
        media=folder_of(facts.address),
    )


def _view_of(pack: Pack, active_skill: str) -> PackView:
    """The pack as a turn sees it; the active skill is elsewhere in the prompt."""
    manifest = pack.manifest
    context = manifest.context
    eager = context.skill_loading == "eager"
    return PackView(
        name=pack.name,
        display_name=manifest.display_name,
        description=manifest.description,
        soul_additions=pack.soul_additions,
        rules_additions=pack.rules_additions,
        skills=tuple(
            SkillView(
                skill.name,
                skill.description,
                skill.triggers,
                skill.body if eager else "",
            )
            for skill in pack.skills.values()
            if skill.qualified != active_skill
        ),
        examples=pack.examples,
        history_messages=context.history_window,
        memory_policy=context.memory_policy,
        prompt_tokens_max=context.max_tokens,
        turn_tokens_max=manifest.budget.turn_tokens,
        platforms=tuple(
            "tg" if name == "telegram" else name for name in manifest.permissions.platforms
        ),
        memory_targets=targets_of(pack),
    )


def _skill_body(begun: Begun, generation: Generation) -> str:
    """The active skill's text; a skill that is gone, or of another pack, is no skill."""
    if not begun.turn.skill:
        return ""
    try:
        skill = generation.library.resolve_skill(begun.turn.pack, begun.turn.skill)
    except ToolFailed:
        return ""
    return f"{skill.display_name}\n{skill.body}"
