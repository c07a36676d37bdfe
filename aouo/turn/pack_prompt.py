"""Fits a pack's skills and memory into the prompt, and lists the skills there.

Above `context.max_tokens` it leaves out, in this order: the bodies of skills that are there because
of `skill_loading: eager`, the last listed first; then MEMORY.md, STATE.md, SOUL.md and USER.md. The
pack's own rules, the list of its skills and the active skill always stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aouo.packs.format.manifest import MemoryPolicy
from aouo.packs.format.skills import Skill
from aouo.turn.context import PackView
from aouo.turn.tokens import Scale

_TRIGGERS_MAX = 3
_TRIGGER_CHARS = 40
_MEMORY_GOES = ("MEMORY.md", "STATE.md", "SOUL.md", "USER.md")


def allowed_memory(memory: Mapping[str, str], policy: MemoryPolicy) -> Mapping[str, str]:
    """Return the memory files that the policy lets into a prompt."""
    match policy:
        case "none":
            return {}
        case "user":
            return {name: text for name, text in memory.items() if name == "USER.md"}
        case "full":
            return memory


def fit(
    pack: PackView, memory: Mapping[str, str], scale: Scale
) -> tuple[PackView, Mapping[str, str], tuple[str, ...]]:
    """Leave out what does not fit `context.max_tokens`, 0 = everything fits; return the rest of
    the pack and of its memory, and the names of what was left out."""
    if not pack.prompt_tokens_max:
        return pack, memory, ()
    kept, remembered, gone = list(pack.skills), dict(memory), list[str]()

    def over() -> bool:
        texts = [pack.soul_additions, pack.rules_additions, pack.skill_body, *remembered.values()]
        texts += [index_line(skill) + skill.body for skill in kept]
        return scale.text("\n".join(texts)) > pack.prompt_tokens_max

    for index in reversed(range(len(kept))):
        if kept[index].body and over():
            gone.append(kept[index].name)
            kept[index] = replace(kept[index], body="")
    for name in _MEMORY_GOES:
        if remembered.get(name) and over():
            gone.append(name)
            del remembered[name]
    return replace(pack, skills=tuple(kept)), remembered, tuple(gone)


def skills(pack: PackView) -> tuple[str, str]:
    """Return how to use the skills, and the skills: each a line, or its text under a heading."""
    listed = [index_line(skill) for skill in pack.skills if not skill.body]
    whole = [
        f"## {skill.name}\n{skill.description}\n\n{skill.body}"
        for skill in pack.skills
        if skill.body
    ]
    how = "Read one with skill_view before you follow it."
    if whole:
        how = "Follow the one that fits; read one that has no text here with skill_view."
    return how, "\n\n".join(filter(None, ("\n".join(listed), *whole)))


def index_line(skill: Skill) -> str:
    """Return a skill's line in the list: its name, description and first triggers."""
    shown = [f'"{_short(trigger)}"' for trigger in skill.triggers[:_TRIGGERS_MAX]]
    when = f" (when: {', '.join(shown)})" if shown else ""
    return f"- {skill.name}: {skill.description}{when}"


def _short(trigger: str) -> str:
    words = " ".join(trigger.split())
    return words if len(words) <= _TRIGGER_CHARS else words[: _TRIGGER_CHARS - 1] + "…"
