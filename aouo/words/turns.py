"""Says how a turn went: `/why`, and what became of messages that no turn answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.recorded import FailedTry
from aouo.facts.taps import encode
from aouo.store.traces import ToolUse, Trace, TracedCall
from aouo.words import models
from aouo.words.catalogue import message, say, text
from aouo.words.money import cost
from aouo.words.saying import cut, one_line

_LISTED = 8
_SECTIONS = 4
_JUDGES = frozenset(
    [
        "guard",
        "protection",
        "fence",
        "permissions",
        "tools",
        "arguments",
        "owner",
        "grant",
        "nobody",
    ]
)
_BEGIN_BY_THEMSELVES = ("cron", "heartbeat", "watch")


def why(told: Trace, reason_of: Callable[[ToolUse], str], look: str) -> Rendered:
    """Return how a turn went, in plain sentences.

    `reason_of` gives the reason of a tool's verdict, "" = it is not told; `look` says where to read
    on, "" = it is not told.
    """
    return message("\n".join(_lines(told, reason_of, look)))


def edited_too_late(offer: int) -> Rendered:
    """Offer to answer again a message that was edited after it had been answered."""
    button = ButtonSpec(text("turns.answer-again"), encode("edited", offer))
    return say("turns.edited-too-late", [button])


def set_aside_elsewhere(
    name: str,
    person: str,
    chat_id: str,
    thread_id: str,
    turn_id: str,
    why: Literal["broke", "unreadable", "failed"],
) -> Rendered:
    """Tell the owner of a message that was put aside: its sender, the chat ("" = their private one)
    and topic, and the turn that had begun; "" = none."""
    sender = text("turns.person", name=one_line(name), id=person) if name else person
    where = text("turns.chat", chat=chat_id) if chat_id else text("turns.private-chat")
    return say(
        "turns.owner-set-aside",
        why=text(f"turns.set-aside-{why}"),
        sender=sender,
        where=text("turns.topic", where=where, topic=thread_id) if thread_id else where,
        look=f"aouo trace {turn_id}" if turn_id else "aouo logs",
    )


def _lines(told: Trace, reason_of: Callable[[ToolUse], str], look: str) -> Iterator[str]:
    turn, recorded = told.turn, told.recorded
    yield _ending(told)
    if turn.off_record:
        yield text("why.off-record")
        return
    if turn.origin in _BEGIN_BY_THEMSELVES:
        yield text(f"why.began-{turn.origin}")
    if calls := [entry for entry in told.timeline if isinstance(entry, TracedCall)]:
        yield ""
        yield from _listed(_models(calls))
    yield from _listed(map(_failure, recorded.tries))
    yield ""
    yield from _listed(_tools(told, reason_of)) or [text("why.no-tool")]
    yield text("why.cost", cost=cost(turn.cost_usd, turn.unpriced_calls))
    if recorded.sections:
        largest = sorted(recorded.sections, key=lambda section: -section.tokens)[:_SECTIONS]
        yield text(
            "why.prompt",
            tokens=sum(section.tokens for section in recorded.sections),
            largest=", ".join(f"{section.name} {section.tokens:,}" for section in largest),
        )
    if look:
        yield ""
        yield text("why.look", where=look)


def _ending(told: Trace) -> str:
    turn = told.turn
    if turn.status == "open":
        return text("why.at-work")
    how = {"ack": "took", "nack": "failed", "aborted": "ended"}.get(turn.status, "took-else")
    waited = text("why.waited", time=_span(turn.waited_ms)) if turn.waited_ms else ""
    return text(f"why.how-{how}", time=_span(turn.ms), waited=waited)


def _models(calls: Iterable[TracedCall]) -> Iterator[str]:
    """Return a line for each model or service, with the sums of its calls."""
    sums: dict[str, tuple[int, ...]] = {}
    for call in calls:
        name = "/".join(filter(None, (call.provider, call.model))) or call.scope
        one = (1, call.input_tokens, call.cached_tokens, call.output_tokens)
        before = sums.get(name, (0, 0, 0, 0))
        sums[name] = tuple(map(sum, zip(before, one, strict=True)))
    for name, (count, read, cached, written) in sums.items():
        yield text(
            "why.model",
            name=one_line(name, 80),
            count=count,
            input=read,
            cached=text("usage.cached", tokens=cached) if cached else "",
            output=written,
        )


def _failure(one: FailedTry) -> str:
    again = "why.asked-again" if one.asked == one.failed else "why.asked-instead"
    return text(
        "why.no-answer",
        failed=one.failed,
        why=models.no_answer_because(one.error),
        times=text("why.times", count=one.times) if one.times > 1 else "",
        then=text(again, asked=one.asked) if one.asked else "",
    )


def _tools(told: Trace, reason_of: Callable[[ToolUse], str]) -> Iterator[str]:
    """Return a line for each tool, so many times with the same end."""
    uses = Counter(
        (use.name, use.verdict, use.judge, reason_of(use), _has_failed(use))
        for use in told.timeline
        if isinstance(use, ToolUse)
    )
    for (name, verdict, judge, reason, failed), times in uses.items():
        judged = text(f"why.verdict-{verdict}") if verdict else ""
        if judge in _JUDGES:
            judged = text("why.judged", verdict=judged, by=text(f"why.by-{judge}"))
        yield text(
            "why.tool",
            name=one_line(name, 64),
            times=f" × {times}" if times > 1 else "",
            judged=judged or text("why.not-judged"),
            failed=text("why.tool-failed") if failed else "",
            why=f" ({cut(reason, 200)})" if reason else "",
        )


def _has_failed(use: ToolUse) -> bool:
    return use.verdict != "refused" and use.state in ("failed", "unknown")


def _listed(lines: Iterable[str]) -> list[str]:
    rest = iter(lines)
    shown = list(islice(rest, _LISTED))
    more = sum(1 for _ in rest)
    return [*shown, text("why.more", count=more)] if more else shown


def _span(ms: int) -> str:
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
