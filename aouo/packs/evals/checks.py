"""Compares what an eval's step expected with what was seen, and holds the results."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, cast

from pydantic import TypeAdapter

from aouo.packs.evals.cases import Expect, ExpectedCall, ExpectedRows

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step as it went; `wrong` says what else was expected, and nothing when it passed.

    `step` counts from 1 (0: before the first) and `line` is in the eval's file.
    """

    step: int
    line: int
    did: str
    wrong: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    model_calls: int = 0
    prompt_bytes: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class EvalResult:
    """How one eval ended; `why` it was skipped. The last of `steps` is the one that failed."""

    name: str
    file: str
    outcome: Outcome
    ms: int = 0
    why: str = ""
    steps: tuple[StepResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the pack here."""
        return self.outcome != "failed"


def from_json(facts: object) -> tuple[EvalResult, ...]:
    """Return the results that `asdict` wrote.

    Raises:
        ValueError: it is something else.
    """
    return TypeAdapter(tuple[EvalResult, ...]).validate_python(facts)


_LIMIT_S = 2.0
"""For all patterns of a step."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A tool call that was made, and why it failed ("" = it did not)."""

    name: str
    arguments: Mapping[str, Any]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened in one step; `replies` are messages that are new or changed."""

    replies: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()
    calls: tuple[SeenCall, ...] = ()
    memory: Mapping[str, str] | None = None
    model_calls: int = 0
    prompt_bytes: int = 0
    cost_usd: float = 0.0
    scripted: int = -1
    """How many answers the script had for the model; -1 = a real one answered."""


def failures(expect: Expect, seen: Seen, count: Callable[[ExpectedRows], int]) -> Iterator[str]:
    """Say what is not as expected, each as what was wanted and what there is instead."""
    yield from _script(seen)
    yield from _words(expect, seen)
    yield from _calls(expect, seen)
    for wanted in expect.rows:
        if (there := count(wanted)) != wanted.count:
            where = f" where {_shown(wanted.where)}" if wanted.where else ""
            rows = "1 row" if wanted.count == 1 else f"{wanted.count} rows"
            yield f"{rows} in {wanted.table}{where}; there are {there}"
    for name, texts in expect.memory.items():
        held = (seen.memory or {}).get(name, "")
        for text in texts:
            if text not in held:
                yield f"{text!r} in {name}, which holds {held!r:.200}"
    yield from _limits(expect, seen)


def _script(seen: Seen) -> Iterator[str]:
    if seen.scripted >= 0 and seen.model_calls != seen.scripted:
        yield (
            f"the model to be asked {_times(seen.scripted)}, as `model` is written; "
            f"it was asked {_times(seen.model_calls)}"
        )


def _words(expect: Expect, seen: Seen) -> Iterator[str]:
    said = "\n".join(seen.replies)
    for text in expect.reply:
        if text not in said:
            yield f"a reply with {text!r}"
    for text in expect.not_reply:
        if text in said:
            yield f"no reply with {text!r}"
    yield from _unmatched(expect.reply_matches, said)
    for label in expect.buttons:
        if label not in seen.buttons:
            yield f"the button {label!r}; there are {_shown(seen.buttons)}"


def _calls(expect: Expect, seen: Seen) -> Iterator[str]:
    failed = [call for call in seen.calls if call.failure]
    for name in expect.failed_calls:
        if name not in [call.name for call in failed]:
            yield f"the call {name} to fail"
    for call in failed:
        if seen.scripted >= 0 and call.name not in expect.failed_calls:
            yield f"the scripted call {call.name} to work; it failed: {call.failure:.400}"
    for name in expect.not_calls:
        if name in [call.name for call in seen.calls]:
            yield f"no call of {name}"
    if expect.calls is None:
        return
    if not expect.calls and seen.calls:
        yield "no tool call"
    left = iter([call for call in seen.calls if not call.failure])
    for wanted in expect.calls:
        if not any(_is(wanted, call) for call in left):
            more = f" with {_shown(wanted.arguments)}" if wanted.arguments else ""
            yield f"the call {wanted.name}{more}, in this order"
            return


def _limits(expect: Expect, seen: Seen) -> Iterator[str]:
    if expect.model_calls not in (None, seen.model_calls):
        yield f"{expect.model_calls} model calls; there were {seen.model_calls}"
    if expect.prompt_bytes_max is not None and seen.prompt_bytes > expect.prompt_bytes_max:
        yield f"a prompt of at most {expect.prompt_bytes_max:,} bytes; it had {seen.prompt_bytes:,}"
    if expect.cost_usd_max is not None and seen.cost_usd > expect.cost_usd_max:
        yield f"a cost of at most ${expect.cost_usd_max:g}; it was ${seen.cost_usd:.6f}"


def _is(wanted: ExpectedCall, call: SeenCall) -> bool:
    return wanted.name == call.name and _within(wanted.arguments, call.arguments)


def _within(wanted: object, given: object) -> bool:
    """Whether `given` holds all of `wanted`; an object may come as its JSON text."""
    if isinstance(wanted, Mapping):
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                return False
        if not isinstance(given, Mapping):
            return False
        there = cast("Mapping[str, object]", given)
        items = cast("Mapping[str, object]", wanted).items()
        return all(key in there and _within(value, there[key]) for key, value in items)
    return wanted == given


def _shown(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(repr, cast("Sequence[object]", value))) or "none"
    return json.dumps(value, ensure_ascii=False, default=str)


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def _unmatched(patterns: Iterable[str], text: str) -> list[str]:
    """What is not there, as a step says it; one that takes too long is the last that is tried."""
    wrong: list[str] = []
    pattern = ""
    try:
        with _limit():
            for pattern in patterns:
                if not re.search(pattern, text):
                    wrong.append(f"a reply that matches {pattern!r}")
    except TimeoutError:
        fix = "write it without repeats inside repeats"
        wrong.append(f"a reply that matches {pattern!r}, found within {_LIMIT_S:g} s; {fix}")
    return wrong


@contextmanager
def _limit() -> Generator[None]:
    """End what runs inside by a signal: a search holds the interpreter and hears nothing else.

    Only the main thread gets signals; in another one there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: object) -> NoReturn:
        del number, frame
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
