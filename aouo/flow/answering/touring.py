"""Shows a pack in a few taps that really do something, and puts it all back at the end."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.agent.tools.undo import UNDO
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode, number_in
from aouo.facts.work import Act
from aouo.packs.actions.declared import Step
from aouo.packs.load import Pack
from aouo.queue.decide import RunTurn
from aouo.words.catalogue import message, text

END = "end"


def card(pack: Pack, language: str, number: int, done: Sequence[str]) -> Rendered:
    """Return what a step says, with its button; `done` are the calls that the end puts back.

    Behind the last step it says so.
    """
    steps, kept = _steps(pack), " ".join(done)
    ends = ButtonSpec(text("tours.button-end"), _tap(pack, END, kept))
    if number >= len(steps):
        return message(text("tours.all" if done else "tours.all-seen"), [ends])
    step = steps[number]
    label = pack.said(language, step.button or pack.declared.actions[step.do].title)
    go = ButtonSpec(label, _tap(pack, str(number + 1), kept))
    return message(pack.said(language, step.say), [go], [ends])


def over(pack: Pack, language: str) -> Rendered:
    """Return the end of a tour, with a way to talk to the pack."""
    name = pack.said(language, pack.manifest.display_name)
    talk = ButtonSpec(text("tours.button-talk", pack=name), encode("pack", pack.name))
    return message(text("tours.over"), [talk])


def turn_of(pack: Pack, language: str, number: str, done: Sequence[str]) -> RunTurn | None:
    """Return the turn of a tap in a tour, None = it has no such step, or nothing to put back."""
    if number == END:
        said, act = text("tours.button-end"), Act(UNDO, {"call": " ".join(reversed(done))})
        return RunTurn(pack.name, f"[tap] {said}", act=_touring(act, END)) if done else None
    steps = _steps(pack)
    at = number_in(number)
    if not at or at > len(steps):
        return None
    step = steps[at - 1]
    label = pack.said(language, step.button or pack.declared.actions[step.do].title)
    act = Act(f"{pack.name}__{step.do}", dict(step.given))
    return RunTurn(pack.name, f"[tap] {label}", act=_touring(act, number, *done))


def _touring(act: Act, *tour: str) -> Act:
    return Act(act.tool, act.arguments, tour)


def _steps(pack: Pack) -> tuple[Step, ...]:
    return pack.declared.tours[0] if pack.declared.tours else ()


def _tap(pack: Pack, number: str, done: str) -> str:
    return encode("command", f"tour {pack.name} {number} {done}".strip())
