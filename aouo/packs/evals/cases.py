"""Reads `evals/*.yml`, conversations that a pack has to pass, with every problem at once."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_type_hints

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from aouo.packs.format.folder import NotInside, list_inside, read_inside
from aouo.packs.format.manifest import strict_keys
from aouo.packs.format.manifest_check import is_identifier
from aouo.packs.format.manifest_text import without
from aouo.packs.format.problems import Problem, did_you_mean
from aouo.packs.format.texts import FieldPath, TextRefused, YamlMapping, field_name, read_mapping

_FOLDER = "evals"
_MAX_FILES = 100
_MEMORY_FILES = ("USER.md", "MEMORY.md", "SOUL.md", "STATE.md")
_ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"  # it is printed where a terminal would obey it


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _named(value: object) -> object:
    items = cast("list[object]", value if isinstance(value, list) else [value])
    return [{"name": item} if isinstance(item, str) else item for item in items]


_Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
_Arguments: TypeAlias = Mapping[str, Any]
Row: TypeAlias = Mapping[str, str | int | float | bool | None]


@strict_keys
class _ScriptedCall:
    """One tool call that the scripted model makes."""

    call: str
    arguments: _Arguments = field(default_factory=dict[str, Any])


@strict_keys
class Reply:
    """What the scripted model answers to one request: words, calls, or both.

    `say: ""` is silence on purpose, which ends a turn that has shown a card.
    """

    say: str | None = None
    call: str = ""
    arguments: _Arguments = field(default_factory=dict[str, Any])
    calls: tuple[_ScriptedCall, ...] = ()

    @property
    def words(self) -> str:
        return self.say or ""

    @property
    def made(self) -> tuple[_ScriptedCall, ...]:
        return (_ScriptedCall(self.call, self.arguments),) if self.call else self.calls


@strict_keys
class ExpectedCall:
    """A call that has to be made: its tool, and what its arguments have to hold at least."""

    name: str
    arguments: _Arguments = field(default_factory=dict[str, Any])


@strict_keys
class ExpectedRows:
    """How many rows of a table have these values."""

    table: str
    where: Row = field(default_factory=dict[str, Any])
    count: Annotated[int, Field(ge=0)] = 1


@strict_keys
class Expect:
    """What has to be true after a step; None: nothing is expected there."""

    reply: _Texts = ()
    not_reply: _Texts = ()
    reply_matches: _Texts = ()
    buttons: _Texts = ()
    calls: Annotated[tuple[ExpectedCall, ...], BeforeValidator(_named)] | None = None
    not_calls: _Texts = ()
    failed_calls: _Texts = ()
    rows: tuple[ExpectedRows, ...] = ()
    memory: Mapping[str, _Texts] = field(default_factory=dict[str, "_Texts"])
    model_calls: Annotated[int, Field(ge=0)] | None = None
    prompt_bytes_max: Annotated[int, Field(ge=1)] | None = None
    cost_usd_max: Annotated[float, Field(ge=0)] | None = None


@strict_keys
class Step:
    """One thing a person does, what the scripted model answers, and what then is true."""

    say: str = ""
    tap: str = ""
    model: tuple[Reply, ...] = ()
    expect: Expect = field(default_factory=Expect)


@strict_keys
class Eval:
    """One conversation; `lines` says where in `file` each step begins."""

    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=100)]
    name: Annotated[str, Field(max_length=200, pattern=_ONE_LINE)] = ""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    model: Literal["scripted", "real"] = "scripted"
    start: Mapping[str, tuple[Row, ...]] = field(default_factory=dict[str, Any])
    memory: Mapping[str, str] = field(default_factory=dict[str, str])
    file: str = ""
    lines: tuple[int, ...] = ()


def load(folder: Path) -> tuple[tuple[Eval, ...], tuple[Problem, ...]]:
    """Read all evals of the pack in `folder`, in the order of their files; never raises."""
    evals: list[Eval] = []
    problems: list[Problem] = []
    files = [name for name in list_inside(folder / _FOLDER) if name.endswith((".yml", ".yaml"))]
    if len(files) > _MAX_FILES:
        problems.append(Problem(_FOLDER, 0, "", f"holds more than {_MAX_FILES} evals"))
    for name in files[:_MAX_FILES]:
        file = f"{_FOLDER}/{name}"
        try:
            text = read_inside(folder, file)
        except (FileNotFoundError, NotInside) as error:
            problems.append(Problem(file, 0, "", str(error)))
            continue
        found, wrong = _parse(text, file)
        problems += wrong
        evals += [found] if found else []
    return tuple(evals), tuple(problems)


def _parse(text: str, file: str) -> tuple[Eval | None, tuple[Problem, ...]]:
    """Read one file; None with at least one problem, an eval with none."""
    try:
        document = read_mapping(text)
    except TextRefused as refused:
        return None, (Problem(file, refused.line, refused.field, refused.message),)
    problems = [Problem(file, each.line, each.field, each.message) for each in document.faults]
    problems += [
        Problem(file, document.line_of((key,)), key, f"unknown key{did_you_mean(key, _keys(Eval))}")
        for key in sorted(document.values.keys() & {"file", "lines"})  # ours, not the author's
    ]
    wrong: list[FieldPath] = []
    try:
        found = _adapter().validate_python(document.values)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems += [_problem(file, document, each) for each in details if not _follows(each)]
        wrong = [each["loc"] for each in details]
        try:
            found = _adapter().validate_python(without(document.values, wrong))
        except ValidationError:
            return None, _in_order(problems)
    problems += [
        Problem(file, document.line_of(path), field_name(path), message)
        for path, message in _mistakes(found)
        if not any(each[: len(path)] == path for each in wrong)  # said of what is left out
    ]
    if problems:
        return None, _in_order(problems)
    lines = tuple(document.line_of(("steps", index)) for index in range(len(found.steps)))
    name = found.name or Path(file).stem
    return dataclasses.replace(found, name=name, file=file, lines=lines), ()


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line))


def _follows(detail: ErrorDetails) -> bool:
    """Whether it only says that a list is too short because its items are wrong."""
    return detail["type"] == "too_short" and bool(detail["input"])


@functools.cache
def _adapter() -> TypeAdapter[Eval]:
    return TypeAdapter(Eval)


def _mistakes(found: Eval) -> Iterable[tuple[FieldPath, str]]:
    """What no field can say alone."""
    for table in found.start:
        if not is_identifier(table):
            yield ("start", table), "is not a table name"
    for name in found.memory:
        if name not in _MEMORY_FILES:
            yield ("memory", name), f"is not a memory file{did_you_mean(name, _MEMORY_FILES)}"
    for index, step in enumerate(found.steps):
        for path, message in _mistakes_of(step, scripted=found.model == "scripted"):
            yield ("steps", index, *path), message


def _mistakes_of(step: Step, *, scripted: bool) -> Iterable[tuple[FieldPath, str]]:
    if bool(step.say) == bool(step.tap):
        yield (), "needs either say (words) or tap (the label of a button)"
    if step.model and not scripted:
        yield ("model",), "a real model answers here: leave this out, or use model: scripted"
    for at, reply in enumerate(step.model):
        if reply.call and reply.calls:
            yield ("model", at), "has call and calls: put all of them into calls"
        elif reply.say is None and not reply.made:
            yield ("model", at), "needs say, call or calls"
        if reply.arguments and not reply.call:
            yield ("model", at, "arguments"), "belongs to call, which is missing"
    for at, pattern in enumerate(step.expect.reply_matches):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            yield ("expect", "reply_matches", at), f"is not a regular expression: {error}"
    for name in step.expect.memory:
        if name not in _MEMORY_FILES:
            hint = did_you_mean(name, _MEMORY_FILES)
            yield ("expect", "memory", name), f"is not a memory file{hint}"
    for at, rows in enumerate(step.expect.rows):
        if not is_identifier(rows.table):
            yield ("expect", "rows", at, "table"), "is not a table name"


def _problem(file: str, document: YamlMapping, detail: ErrorDetails) -> Problem:
    path = detail["loc"]
    return Problem(file, document.line_of(path), field_name(path), _in_words(detail))


def _in_words(detail: ErrorDetails) -> str:
    kind, path = detail["type"], detail["loc"]
    match kind:
        case "unexpected_keyword_argument":
            return f"unknown key{did_you_mean(str(path[-1]), _keys(_class_at(path[:-1])))}"
        case "missing":
            return "is required"
        case "tuple_type":
            return "must be a list"
        case "dataclass_type" | "mapping_type" | "dict_type":
            return "must be a mapping of keys to values"
        case "too_short":
            return "must not be empty"
        case _:
            message = detail["msg"]
            return f"{message[:1].lower()}{message[1:]}, not {detail['input']!r:.60}"


def _class_at(path: FieldPath) -> Any:
    """The dataclass whose keys stand at `path`."""
    here: Any = Eval
    for part in path:
        if isinstance(part, str) and dataclasses.is_dataclass(here):
            here = get_type_hints(cast("type", here)).get(part)
        here = _innermost(here)
    return here


def _innermost(hint: Any) -> Any:
    """What a list, or an optional list, is a list of."""
    while not isinstance(hint, type) and (inner := get_args(hint)):
        hint = inner[0]
    return hint


def _keys(of: Any) -> list[str]:
    known = [item.name for item in dataclasses.fields(of)] if dataclasses.is_dataclass(of) else []
    return [name for name in known if name not in ("file", "lines")]
