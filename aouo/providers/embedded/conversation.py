"""Makes one call of a model too small to chat, and words its result."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import uuid4

from aouo.facts import transcript
from aouo.facts.errors import ProviderBusy
from aouo.providers.embedded.matching import Match, matches
from aouo.providers.embedded.options import (
    NO_MESSAGE,
    Option,
    choice_prompt,
    choose,
    cleaned,
    is_edit,
    label_logprobs,
    one_line,
    option_of,
    options,
    own_words,
)
from aouo.providers.formats.chat_requests import encode

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint

_MAX_VALUE_CHARS = 200
_SHOWN_ROWS = 10
_UNKNOWN = "[outcome unknown"
"""The beginning of the result of a call that was cut off; source: `errors.OutcomeUnknown`."""
_HOLE = re.compile(r"\{(\w+)\}")
_MARKS = re.compile(r"([\\`*_\[\]<>~|$&])|(?:^(?=[#+-]))")
_NUMBER = re.compile(r"^(\d+)([.)])")


Texts: TypeAlias = Callable[..., str]
"""Gives a sentence for people by its name ("small.saved"), with its parts by keyword."""


def _told_rows(
    call: transcript.ToolCall,
    result: transcript.ToolReturned,
    option: Option | None,
    before: Option | None,
    texts: Texts,
) -> str | dict[str, Any]:
    """Return the answer, or the arguments of a call that reads back what was written.

    The next answer is then made from the row; `before` is the option of the write that this call
    reads back.
    """
    if result.failed:
        if before:
            return texts("small.saved")
        unknown = result.text.startswith(_UNKNOWN)
        return texts("small.unknown") if unknown else texts("small.failed")
    if call.name != "persist":
        return _of_tool(call, result, texts)
    answer = _as_object(result.text)
    rows = list(_rows(answer))
    if before:
        return _written(rows or _asked_for(call, answer), before, texts)
    if "deleted" in answer:
        return texts("small.deleted", count=_count(answer["deleted"]))
    if any(_count(answer.get(key)) for key in ("saved", "inserted", "updated")):
        data = _as_object(call.arguments).get("data")
        return {"action": "recent", "table": answer.get("table"), "where": data, "limit": 1}
    if not answer:
        return texts("small.too-long")
    lines = [line for row in rows if (line := _row(row, option.answer if option else ""))]
    return _found(lines, texts) if lines else texts("small.nothing")


def _verbatim(text: object) -> str:
    """Return a value of a row as Markdown that shows it unchanged, on one line."""
    line = one_line(str(text), _MAX_VALUE_CHARS + 1)
    line = line if len(line) <= _MAX_VALUE_CHARS else f"{line[: _MAX_VALUE_CHARS - 1]}…"
    line = line.replace("||", "‖")  # two bars make a spoiler, also if escaped
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(_as_it_is, line))


def _as_it_is(mark: re.Match[str]) -> str:
    """Escape a mark; a backslash before a bracket would begin a formula."""
    return f"&#{ord(mark[0])};" if mark[0] in ("[", "]") else f"\\{mark[0]}"


def _of_tool(call: transcript.ToolCall, result: transcript.ToolReturned, texts: Texts) -> str:
    if result.text.strip() and not _is_json(result.text):
        return _verbatim(result.text)
    return texts("small.done", tool=call.name.rpartition("__")[2].replace("_", " "))


def _found(lines: Sequence[str], texts: Texts) -> str:
    """Return the rows that were found as Markdown."""
    if len(lines) == 1:
        return lines[0]
    shown = [f"- {line}" for line in lines[:_SHOWN_ROWS]]
    more = [texts("small.more", count=_SHOWN_ROWS)] if len(lines) > _SHOWN_ROWS else []
    return "\n".join([*shown, *more])


def _written(rows: Sequence[Mapping[str, object]], option: Option, texts: Texts) -> str:
    if not rows:
        return texts("small.saved")
    if option.answer:
        return _filled(option.answer, rows[0])
    example = option.examples[0]
    column = next((place[-1] for place, _ in example.slots), "")
    saved = _verbatim(rows[0].get(column, ""))
    return texts("small.saved-what", what=saved) if saved else texts("small.saved")


def _asked_for(call: transcript.ToolCall, answer: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the values that a row was asked for by, if it was too long to be read back."""
    where = _as_object(call.arguments).get("where")
    return [cast("dict[str, object]", where)] if isinstance(where, dict) and not answer else []


def _row(row: Mapping[str, object], answer: str) -> str:
    if answer:
        return _filled(answer, row)
    return ", ".join(
        _verbatim(value)
        for name, value in row.items()
        if isinstance(value, str) and value and not _is_kept(name)
    ) or ", ".join(f"{name}: {value}" for name, value in row.items() if name in ("rows", "count"))


def _filled(answer: str, row: Mapping[str, object]) -> str:
    def value(hole: re.Match[str]) -> str:
        found = row.get(hole[1])
        return "" if found is None else _verbatim(found)

    return _HOLE.sub(value, answer)


def _rows(answer: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the rows of a result; for a summary, one for each table."""
    listed = answer.get("rows")
    tables = answer.get("tables")
    found: list[object] = []
    if isinstance(listed, list):
        found = cast("list[object]", listed)
    elif isinstance(tables, dict):
        found = list(cast("dict[str, object]", tables).values())
    yield from (cast("dict[str, object]", row) for row in found if isinstance(row, dict))


def _is_kept(name: str) -> bool:
    """Whether a column is bookkeeping: ids and times."""
    return name in ("id", "at", "first", "last") or name.endswith(("_id", "_at"))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _as_object(text: str) -> dict[str, Any]:
    """Parse the first line as a JSON object; a note may follow it. {} for any other text."""
    try:
        found: object = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_TOP_TOKENS = 100
_MAX_REMEMBERED = 16
_BUTTONS = 3


@dataclass(eq=False)
class TinyConversation:
    """See the package. `said_to_nothing` caches over calls what the model says to an empty
    message."""

    endpoint: ChatEndpoint
    texts: Texts
    said_to_nothing: dict[str, dict[str, float]]

    def __post_init__(self) -> None:
        self._usage = transcript.Usage()

    async def stream(
        self, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        choices = options(request.tools)
        last = next((m for m in reversed(request.messages) if not _tells_of_edit(m)), None)
        if isinstance(last, transcript.ToolReturned):
            answer = self._after(request, last, choices)
        else:
            said = cleaned(own_words(last.text)) if isinstance(last, transcript.UserSaid) else ""
            answer = await self._begun(request, said, choices)
        if isinstance(answer, transcript.ToolCall):
            yield transcript.Finished(
                transcript.AssistantSaid("", (answer,)), self._usage, "tool_calls"
            )
            return
        if answer:
            yield transcript.TextDelta(answer)
        yield transcript.Finished(transcript.AssistantSaid(answer), self._usage, "stop")

    async def _begun(
        self, request: transcript.ModelRequest, said: str, choices: Sequence[Option]
    ) -> transcript.ToolCall | str:
        found = matches(choices, said)
        if found:
            option, arguments = found[0] if len(found) == 1 else await self._chosen(found, said)
            return _call(option.tool.name, arguments)
        shown = [one_line(option.examples[0].message, 100) for option in choices[:_BUTTONS]]
        if shown and any(tool.name == "msg" for tool in request.tools):
            text = _cannot(self.texts, shown, buttons=True)
            rows = [[f"{say}|{say}"] for say in shown if "|" not in say]
            return _call("msg", {"type": "keyboard", "text": text, "buttons": rows})
        return _cannot(self.texts, shown)

    def _after(
        self,
        request: transcript.ModelRequest,
        result: transcript.ToolReturned,
        choices: Sequence[Option],
    ) -> transcript.ToolCall | str:
        """Return the answer or the call that follows a call that has returned."""
        *before, call = _calls_since(request.messages) or [
            transcript.ToolCall(result.call_id, result.name, "")
        ]
        if call.name == "msg":  # its words were the answer
            return _cannot(self.texts, ()) if result.failed else ""
        written = _option_of(choices, before[-1]) if before else None
        answer = _told_rows(call, result, _option_of(choices, call), written, self.texts)
        return answer if isinstance(answer, str) else _call(call.name, answer)

    async def _chosen(self, found: Sequence[Match], message: str) -> Match:
        choices = [option for option, _ in found]
        key = choice_prompt(choices, "")
        nothing = self.said_to_nothing.get(key)
        if nothing is None:
            asked = [await self._labels(choices, empty) for empty in NO_MESSAGE]
            nothing = {label: sum(a[label] for a in asked) / len(asked) for label in asked[0]}
            if len(self.said_to_nothing) >= _MAX_REMEMBERED:
                self.said_to_nothing.clear()
            self.said_to_nothing[key] = nothing
        option = choose(choices, message, await self._labels(choices, message), nothing)
        return found[choices.index(option)]

    async def _labels(self, choices: Sequence[Option], message: str) -> dict[str, float]:
        prompt = choice_prompt(choices, message)
        answer = await self._complete(prompt, n_predict=1, n_probs=_TOP_TOKENS)
        try:
            top = answer["completion_probabilities"][0]["top_logprobs"]
            logprobs = {str(t["token"]): float(t["logprob"]) for t in top}
        except (LookupError, TypeError, ValueError) as error:
            raise ProviderBusy("local: an answer without probabilities") from error
        return label_logprobs(choices, logprobs)

    async def _complete(self, prompt: str, **fields: object) -> dict[str, Any]:
        body = {"prompt": prompt, "temperature": 0, "cache_prompt": True, **fields}
        answer = await self.endpoint.ask("/completion", encode(body))
        self._usage += _usage_of(answer)
        return answer


def _tells_of_edit(message: transcript.Message) -> bool:
    return isinstance(message, transcript.UserSaid) and is_edit(message.text)


def _call(tool: str, arguments: Mapping[str, Any]) -> transcript.ToolCall:
    return transcript.ToolCall(
        f"call_{uuid4().hex[:16]}", tool, json.dumps(arguments, ensure_ascii=False)
    )


def _calls_since(messages: Sequence[transcript.Message]) -> list[transcript.ToolCall]:
    """Return the calls since the person's last message, in order."""
    calls: list[transcript.ToolCall] = []
    for message in messages:
        match message:
            case transcript.UserSaid(text) if not is_edit(text):
                calls = []
            case transcript.AssistantSaid(calls=made):
                calls += made
            case _:
                pass
    return calls


def _option_of(choices: Sequence[Option], call: transcript.ToolCall) -> Option | None:
    return option_of(choices, call.name, _as_object(call.arguments))


def _usage_of(answer: Mapping[str, Any]) -> transcript.Usage:
    timings = cast("Mapping[str, Any]", answer.get("timings") or {})
    return transcript.Usage(
        input_tokens=int(answer.get("tokens_evaluated") or 0),
        cached_tokens=int(timings.get("cache_n") or 0),
        output_tokens=int(answer.get("tokens_predicted") or 0),
    )


def _cannot(texts: Texts, examples: Sequence[str], *, buttons: bool = False) -> str:
    """Return the answer to a message that matches no example; nothing was changed."""
    if not examples:
        return texts("small.cannot")
    listed = "" if buttons else " " + ", ".join(f"“{say}”" for say in examples)
    return texts("small.cannot-but", examples=listed)
