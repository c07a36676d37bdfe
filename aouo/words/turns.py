"""Words the answer to /why: how the last turn went, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from aouo.facts.notices_commands import CalledTool, LastTurn, NoTurnHere, UsedModel
from aouo.facts.ports import Rendered
from aouo.facts.recorded import FailedTry
from aouo.words import models
from aouo.words.money import cost
from aouo.words.saying import cut, one_line, say

_LISTED = 8
_SECTIONS = 4
_BY = {
    "guard": "nothing spoke against it",
    "protection": "it is closed to tools",
    "fence": "the owner's fence",
    "permissions": "the pack's permissions",
    "tools": "it is not for this turn",
    "arguments": "it could not be made as it was written",
    "owner": "the owner said so",
    "grant": "the owner allowed it for good",
    "nobody": "the owner was not there to ask",
}
_BEGAN = {
    "cron": "A schedule began it.",
    "heartbeat": "The heartbeat began it.",
    "watch": "A watch began it.",
}


def worded(notice: LastTurn | NoTurnHere) -> Rendered:
    """Return the message for a notice."""
    if isinstance(notice, NoTurnHere):
        return say("I have answered nothing here yet that I could tell about.")
    return say("\n".join(_lines(notice)))


def _lines(told: LastTurn) -> Iterator[str]:
    yield _ending(told)
    if told.off_record:
        yield "It was off the record: nothing else is kept of it."
        return
    if began := _BEGAN.get(told.origin):
        yield began
    if told.models:
        yield ""
        yield from _listed([_model(model) for model in told.models])
    yield from _listed([_failure(one) for one in told.tries])
    yield ""
    if told.tools:
        yield from _listed([_tool(tool) for tool in told.tools])
    else:
        yield "No tool was called."
    yield f"Cost: {cost(told.cost_usd, told.unpriced_calls)}."
    if told.sections:
        yield _prompt(told)
    if told.turn_id:
        yield ""
        yield f"Step by step: {told.page or f'aouo trace {told.turn_id}'}"


def _ending(told: LastTurn) -> str:
    if told.status == "open":
        return "My turn here is still at work. So far:"
    how = {"nack": "failed after", "aborted": "was ended after"}.get(told.status, "took")
    what = "My last answer here" if told.status == "ack" else "My last turn here"
    waited = f", {_span(told.waited_ms)} of it waiting for a person" if told.waited_ms else ""
    return f"{what} {how} {_span(told.ms)}{waited}."


def _model(model: UsedModel) -> str:
    calls = "1 call" if model.calls == 1 else f"{model.calls:,} calls"
    cached = f" ({model.cached_tokens:,} cached)" if model.cached_tokens else ""
    return (
        f"{one_line(model.name, 80)}: {calls}, {model.input_tokens:,} tokens in{cached}, "
        f"{model.output_tokens:,} out."
    )


def _failure(one: FailedTry) -> str:
    times = f" ({one.times} times)" if one.times > 1 else ""
    then = ": it was asked again" if one.asked == one.failed else f": {one.asked} was asked instead"
    why = models.no_answer_because(one.error)
    return f"No answer from {one.failed}, which {why}{times}{then if one.asked else ''}."


def _tool(tool: CalledTool) -> str:
    times = f" × {tool.times}" if tool.times > 1 else ""
    by = _BY.get(tool.judge, "")
    judged = f"{tool.verdict}: {by}" if by else tool.verdict or "not judged"
    failed = ", and failed" if tool.failed else ""
    why = f" ({cut(tool.reason, 200)})" if tool.reason else ""
    return f"{one_line(tool.name, 64)}{times} – {judged}{failed}{why}."


def _prompt(told: LastTurn) -> str:
    total = sum(section.tokens for section in told.sections)
    largest = sorted(told.sections, key=lambda section: -section.tokens)[:_SECTIONS]
    named = ", ".join(f"{section.name} {section.tokens:,}" for section in largest)
    return f"It began with about {total:,} tokens to read: {named}."


def _listed(lines: list[str]) -> Iterator[str]:
    yield from lines[:_LISTED]
    if len(lines) > _LISTED:
        yield f"… and {len(lines) - _LISTED} more."


def _span(ms: int) -> str:
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
