"""Says how turns went, what became of messages, and what a digest holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, TypeAlias, get_args

from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.facts.records import FailedTry
from aouo.facts.taps import encode
from aouo.guard.prepared import JudgeName
from aouo.plumbing.control import Facts
from aouo.store.traces import ToolUse, Trace, TracedCall
from aouo.words import models
from aouo.words.catalogue import cut, message, one_line, say, text
from aouo.words.markdown.render import render
from aouo.words.markdown.tables import LIMIT, MAX_ENTITIES, utf16_len
from aouo.words.money import cost

_LISTED = 8
_SECTIONS = 4
_JUDGES = frozenset(get_args(JudgeName))
_BEGIN_BY_THEMSELVES = ("cron", "heartbeat", "watch")


def why(told: Trace, reason_of: Callable[[ToolUse], str], look: str) -> Rendered:
    """Return how a turn went, in plain sentences.

    `reason_of` gives the reason of a tool's verdict, "" = it is not told; `look` says where to read
    on, "" = it is not told.
    """
    return message("\n".join(_lines(told, reason_of, look)))


def explained(rows: Sequence[Facts]) -> Rendered:
    """Return what was decided about one call, by which rule, label and tier; `rows` are those of
    the audit, [] = there is no such call."""
    if not rows:
        return message(text("why.no-call"))
    first, last = rows[0], rows[-1]
    read = next((row["labels"] for row in rows if row["labels"]), "")
    labels = text("why.call-labels", labels=read) if read else ""
    pack = first["pack"] or text("questions.no-pack")
    lines = [
        text("why.call", tool=first["tool"], sink=text(f"why.sink-{first['sink'] or 'look'}")),
        text("why.call-of", pack=pack, origin=first["origin"], at=first["at"][:16]),
        labels or text("why.call-unlabelled"),
    ]
    for row in rows[1:]:
        by = text(f"why.by-{row['judge']}") if row["judge"] else text("why.not-judged")
        stage = text(f"why.stage-{row['stage'].lower()}")
        lines.append(text("why.stage", stage=stage, by=by, tier=row["tier"], reason=row["reason"]))
    if last["stage"] == "PROPOSED":
        lines.append(text("why.not-judged"))
    return message("\n".join(lines))


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


Aside: TypeAlias = Literal["broke", "unreadable", "failed"]
"""Why a message was put aside."""
_QUOTED_CHARS = 40


def may_not_have_arrived(delivery_id: int, message: Rendered) -> Rendered:
    """Return the message that another one, named by its first words, may not have arrived."""
    again = ButtonSpec(text("delivering.again"), encode("again", delivery_id))
    return say("delivering.doubt", [again], what=_named(message))


def may_not_write(chat_id: str) -> Rendered:
    """Return the note to the owner about a chat where the bot is muted."""
    return say("delivering.muted", chat=chat_id)


def set_aside(inbound: Inbound, why: Aside, turn_id: str) -> Rendered:
    """Return to the owner whose message was put aside, and what to look at.

    `turn_id` is "" if no turn had begun.
    """
    person, address = inbound.person, inbound.address
    place = "private" if inbound.chat_kind == "private" else "chat"
    where = text(f"asides.in-{place}", chat=address.chat_id)
    if address.thread_id:
        where = text("asides.topic", where=where, topic=address.thread_id)
    return say(
        "asides.told",
        why=text(f"asides.why-{why}"),
        who=f"{one_line(person.name)}, id {person.id}" if person.name else person.id,
        where=where,
        look=f"aouo trace {turn_id}" if turn_id else "aouo logs",
    )


def _named(message: Rendered) -> str:
    """Return the name of a message of ours: its first words, else its kind."""
    if words := cut(message.text, _QUOTED_CHARS):
        return text("delivering.named", words=words)
    kind = "album" if message.album else message.media.kind if message.media else "message"
    return text(f"delivering.kind-{kind}")


_SHARES = (1500, 800, 400, 200, 100, 60)
"""What each may take, in UTF-16 units: the most that lets all of them stand there."""
_MOST = 30


def digest(waited: Sequence[tuple[str, str]], digest_id: int, *, more: bool) -> Rendered:
    """Return one message about all that waited: where each is from, and its Markdown.

    A button shows what it leaves out; `more`: one of them is more than words.
    """
    made, cut = _folded(waited[:_MOST], len(waited), _SHARES[-1])
    for share in _SHARES:
        fits, leaves_out = _folded(waited[:_MOST], len(waited), share)
        if utf16_len(fits.text) <= LIMIT and len(fits.entities) <= MAX_ENTITIES:
            made, cut = fits, leaves_out
            break
    made = replace(made, entities=made.entities[:MAX_ENTITIES])
    if cut or len(waited) > _MOST or more:
        button = ButtonSpec(text("digest.button-all"), encode("digest", digest_id))
        made = replace(made, buttons=((button,),))
    return made


def _folded(waited: Sequence[tuple[str, str]], count: int, share: int) -> tuple[Rendered, bool]:
    """Return the message where each takes at most `share`, and whether one was cut."""
    shown, cut = text("digest.head", waited=count), False
    entities = [Entity("bold", 0, utf16_len(shown))]
    for whence, words in waited:
        name = f"• {whence}"
        shown += "\n\n"
        entities.append(Entity("bold", utf16_len(shown), utf16_len(name)))
        shown += f"{name}\n"
        parts = render(words, limit=share)
        if parts:
            start = utf16_len(shown)
            entities += [replace(each, offset=start + each.offset) for each in parts[0].entities]
            shown += parts[0].text
        if len(parts) > 1 or not parts:
            shown, cut = f"{shown}…", cut or len(parts) > 1
    if count > len(waited):
        shown += "\n\n" + text("digest.more", more=count - len(waited))
    return Rendered(shown, tuple(entities), preview=False), cut
