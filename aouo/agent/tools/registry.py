"""Defines tools, and turns a model's call of one into an action that the guard judges.

Arguments are pydantic models, because they are foreign bytes; the JSON Schema that a model
reads is made from them and kept short, since it is sent with every request.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from aouo.facts.errors import ToolFailed
from aouo.facts.ports import TurnView
from aouo.facts.records import Sink
from aouo.facts.transcript import Image, ToolCall, ToolSpec
from aouo.facts.work import Facts
from aouo.guard.prepared import UNCHECKED, Blocked, PreparedCall, digest, dumped
from aouo.plumbing.logs import log

_NAMED = "shell"
"""The group that is off unless the owner names it."""
Load: TypeAlias = Callable[[Sequence[str]], Awaitable[str]]
"""Brings tools or skills of these names into a turn; returns text for the model."""


class ChosenOption(str):
    """An answer that is one of the options, and not a person's own words."""

    __slots__ = ()


Ask: TypeAlias = Callable[[str, str, Sequence[str]], Awaitable[str]]
"""Puts a question of a call, by its id, with options to the turn's person and waits for the answer,
however long: a `ChosenOption`, or their words."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of its turn; it does not change within one.

    `spend` takes a usage row for a service that a tool has called: scope, provider, model,
    milliseconds, USD (None = nobody knows). `paid_for` takes the id and the tool of a call that a
    service answered which may cost money.
    """

    facts: Facts
    adapter: TurnView
    ask: Ask
    load_tools: Load
    load_skills: Load
    spend: Callable[[str, str, str, int, float | None], None] = (
        lambda scope, provider, model, ms, usd: None
    )
    paid_for: Callable[[str, str], None] = lambda call_id, tool: None
    sources: Callable[[], tuple[str, ...]] = tuple
    """Whose words, besides the person's own, the turn has read: they mark what it leaves behind."""
    picture: Callable[[Image], Awaitable[str]] | None = None
    """Keeps a picture that a tool returned for `msg`, and shows it to a model that sees; returns
    its path, "" = it was not kept."""


class Arguments(BaseModel):
    """The base of all arguments. Models send "" for what they mean to leave out."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


_A = TypeVar("_A", bound=BaseModel)
Of: TypeAlias = bool | Callable[[Any], bool]
"""True of every call of a tool, or of those whose arguments say so."""
Does: TypeAlias = Sink | Callable[[Any], Sink]
"""What every call of a tool does, or what its arguments say that it does."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    `idempotent`: the same call id may run twice with at most one effect. `mutates`: a call that
    succeeded changed something outside its turn. `read_only`: it only looks, so it may run at the
    same time as other such calls, and off the record; a call that mutates never is. A call that
    waits for a person is neither. `sink` is what it does to the world. `visits` gives the addresses
    that a call has somebody fetch: one that nobody has said or read before tells them something.
    `targets` gives what of the arguments may lead somewhere, None = all of them.
    `pack`: only turns of this pack may call it, "" = all may.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    handler: Callable[[Any, ToolContext, str], Awaitable[str]]
    group: str = "core"
    idempotent: bool = True
    mutates: Of = False
    read_only: Of = False
    timeout_s: float | None = 30.0
    pack: str = ""
    sink: Does | None = None
    visits: Callable[[Any], Sequence[str]] = lambda wish: ()
    targets: Callable[[Any], Mapping[str, Any]] | None = None

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, _schema(self.arguments))

    def parse(self, payload: Mapping[str, Any]) -> BaseModel:
        """Validate the arguments of a call.

        Raises:
            ToolFailed: names everything that is wrong with them.
        """
        fields = self.arguments.model_fields
        kept = {k: v for k, v in payload.items() if v not in ("", None) or _needs(fields, k)}
        kept = payload if _is_raw(self.arguments) else kept
        try:
            return self.arguments.model_validate(kept)
        except ValidationError as error:
            raise ToolFailed(_in_words(self, error)) from error

    def is_mutating(self, arguments: BaseModel) -> bool:
        """Whether a call with these arguments changes something."""
        return _holds(self.mutates, arguments)

    def is_read_only(self, arguments: BaseModel) -> bool:
        """Whether a call with these arguments only looks."""
        return _holds(self.read_only, arguments) and not self.is_mutating(arguments)

    def sink_of(self, arguments: BaseModel, *, mutates: bool) -> Sink:
        """What a call with these arguments does; the worst, if the tool does not say."""
        if self.sink is None:
            return "destroy" if mutates else "look"
        return self.sink(arguments) if callable(self.sink) else self.sink


def tool(
    name: str,
    description: str,
    arguments: type[_A],
    handler: Callable[[_A, ToolContext, str], Awaitable[str]],
    *,
    sink: Sink | Callable[[_A], Sink] | None = None,
    group: str = "core",
    idempotent: bool = True,
    mutates: bool | Callable[[_A], bool] = False,
    read_only: bool | Callable[[_A], bool] = False,
    timeout_s: float | None = 30.0,
    visits: Callable[[_A], Sequence[str]] = lambda wish: (),
    targets: Callable[[_A], Mapping[str, Any]] | None = None,
) -> Tool:
    """Make a `Tool`; its handler and predicates are typed by its arguments."""
    return Tool(
        name,
        description,
        arguments,
        handler,
        group,
        idempotent,
        mutates,
        read_only,
        timeout_s,
        sink=sink,
        visits=visits,
        targets=targets,
    )


class Source(Protocol):
    """Tools of one group that come from elsewhere: late, or not there at all."""

    @property
    def group(self) -> str: ...
    @property
    def summary(self) -> str:
        """What the source is for, in a few words that a model chooses by."""
        ...

    def owns(self, name: str) -> bool:
        """Whether a tool of this name would belong to the source."""
        ...

    async def tools(self) -> Sequence[Tool]:
        """Return the source's tools, connecting if needed.

        Raises:
            ToolFailed: the source cannot be reached; says why.
        """
        ...


class Registry:
    """All tools by name; hands out specs, never handlers."""

    def __init__(self, tools: Sequence[Tool], sources: Sequence[Source] = ()) -> None:
        self._tools = {item.name: item for item in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools share a name")
        self._specs = {item.name: item.spec() for item in tools}
        self.sources = tuple(sources)

    def allowed(
        self, permitted: Sequence[str], enabled: Sequence[str], pack: str = ""
    ) -> tuple[Tool, ...]:
        """Return the tools that a pack permits and, of the built-in ones, the owner has `enabled`.

        Both lists hold names and groups; an empty `enabled` enables all but the shell, which has to
        be named, and may be named alone.
        """
        chosen = [name for name in enabled if name != _NAMED]

        def listed(item: Tool, names: Sequence[str]) -> bool:
            return item.name in names or item.group in names

        return tuple(
            item
            for item in self._tools.values()
            if item.pack in ("", pack)
            and listed(item, permitted)
            and (item.pack or not chosen or listed(item, enabled))
            and (item.group != _NAMED or _NAMED in enabled)
        )

    def spec(self, item: Tool) -> ToolSpec:
        """Return a tool's spec; that of a registered tool is made once."""
        return self._specs.get(item.name) or item.spec()


def _holds(of: Of, arguments: BaseModel) -> bool:
    return of if isinstance(of, bool) else of(arguments)


@lru_cache(maxsize=256)  # bounded, since the classes of packs and servers come and go
def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the schema that a model reads; shared by all generations, so never changed."""
    schema = arguments.model_json_schema()
    return schema if _is_raw(arguments) else _compact(schema)


def _is_raw(arguments: type[BaseModel]) -> bool:
    """Whether a tool brings a schema of its own, which we do not shorten, nor drop its values."""
    return arguments.model_config.get("extra") == "allow"


def _needs(fields: Mapping[str, Any], name: str) -> bool:
    """Whether "" is kept as a value: for a required field, and for one that is text or None."""
    return name in fields and (fields[name].is_required() or fields[name].annotation == str | None)


def _in_words(item: Tool, error: ValidationError) -> str:
    """Name every wrong argument at once, so that the next call can be right."""
    wrong = error.errors(include_url=False, include_input=False)
    found = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in wrong)
    extra = any(e["type"] == "extra_forbidden" and len(e["loc"]) == 1 for e in wrong)
    names = item.spec().parameters.get("properties", ())
    known = f" It takes: {', '.join(names)}." if extra else ""
    return f"Wrong arguments for {item.name}: {found}.{known}"


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a schema what a model does not need: titles, nulls, unset defaults."""
    kept = {
        key: value
        for key, value in schema.items()
        if key not in ("title", "additionalProperties", "default") and value != []
    }
    if schema.get("description", "") == (BaseModel.__doc__ or "") or "properties" in schema:
        kept.pop("description", None)
    properties = cast("dict[str, dict[str, Any]]", kept.get("properties", {}))
    if properties:
        kept["properties"] = {name: _compact_property(item) for name, item in properties.items()}
    return kept


def _compact_property(item: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in item.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        item = {key: value for key, value in item.items() if key != "anyOf"} | options[0]
    elif options:
        types = [option.get("type") for option in options]
        item = {key: value for key, value in item.items() if key != "anyOf"} | {"type": types}
    return {
        key: value
        for key, value in item.items()
        if key not in ("title", "default", "additionalProperties", "items")
        or (key == "items" and value != {})
    }


MAX_NAME_CHARS = 64
"""A tool name is cut to this length, the limit of every model service."""
_NO_TOOL = "unknown"
"""Recorded in the place of a name that a model made up off the record."""
_WRONG = "wrong arguments"
_MAX_DEPTH = 64
_TOO_DEEP = f"The arguments are nested more than {_MAX_DEPTH} deep. Send something flatter."
_OFF_RECORD = (
    "This conversation is off the record: tools may look, and change nothing. "
    "Tell the person that /otr ends it."
)


def prepare(call: ToolCall, tool: Tool | Blocked, facts: Facts) -> PreparedCall:
    """Make a call of this turn an action; `tool` is the one it names, or why there is none.

    It never raises: a wrong call gets a refusal that tells the model how to correct it.
    """
    missing = isinstance(tool, Blocked)
    name = _NO_TOOL if missing and facts.off_record else call.name[:MAX_NAME_CHARS]
    problem, payload = _read(call.arguments)
    action = PreparedCall(
        call=call,
        tool=name,
        payload=payload,
        facts=facts,
        digest=digest(name, call.arguments if problem else payload),
    )
    if missing:
        return replace(action, refusal=tool)
    action = replace(action, idempotent=tool.idempotent, timeout_s=tool.timeout_s)
    return action.refused(problem, _WRONG) if problem else _with_arguments(action, tool)


def _with_arguments(action: PreparedCall, tool: Tool) -> PreparedCall:
    """Add the parsed arguments and what follows from them; a foreign schema may fail here."""
    try:
        arguments = tool.parse(action.payload)
        mutates = tool.is_mutating(arguments)
        action = replace(
            action,
            arguments=arguments,
            seal=digest(action.tool, dumped(arguments)),
            read_only=tool.is_read_only(arguments),
            mutates=mutates,
            sink=tool.sink_of(arguments, mutates=mutates),
            visits=tuple(tool.visits(arguments)),
            targets=action.payload if tool.targets is None else tool.targets(arguments),
        )
    except ToolFailed as error:
        return action.refused(str(error), _WRONG)
    except Exception as error:
        log.exception("judge_failed", tool=action.tool, error=repr(error))
        return action.refused(UNCHECKED, _WRONG)
    if action.facts.off_record and not action.read_only:
        return action.refused(_OFF_RECORD, "off the record", "tools")
    return action


def _read(arguments: str) -> tuple[str, dict[str, Any]]:
    """Parse the arguments: (what is wrong, "" = nothing, and an object that can be stored)."""
    try:
        payload = json.loads(arguments or "{}")
    except RecursionError:
        return _TOO_DEEP, {}
    except ValueError as error:
        return f"The arguments are not complete JSON ({error}). Send the whole call again.", {}
    if not isinstance(payload, dict):
        return "The arguments have to be one JSON object.", {}
    payload = cast("dict[str, Any]", payload)
    if _is_deep(payload):
        return _TOO_DEEP, {}
    try:
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "The arguments hold half of a character; send it whole, as UTF-8.", {}
    except ValueError:
        return "The arguments hold NaN or infinity, which JSON has not: send a number or null.", {}
    return "", payload


def _is_deep(payload: dict[str, Any]) -> bool:
    level: list[Any] = [payload]
    for _ in range(_MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
