"""Turns the tools of an MCP server into ours: names, schemas, argument checks, text results."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from aouo.agent.tools.registry import Tool, ToolContext
from aouo.facts.errors import ToolFailed
from aouo.facts.records import Sink
from aouo.facts.transcript import Image
from aouo.guard.chain import CEILING_CHARS
from aouo.guard.targets import as_link, values_of
from aouo.packs.format.tool_types import is_sound
from aouo.plumbing.logs import log
from aouo.plumbing.web.envelope import untrusted

_MAX_DESCRIPTION_CHARS = 1_000
_MAX_SCHEMA_CHARS = 12_000
MAX_TOOLS = 128
_CALL_S = 30.0
_MAX_NAME_CHARS = 64
_MAX_SERVER_CHARS = 24
_MAX_FIELD_DESCRIPTION_CHARS = 300
_MAX_DEPTH = 20
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool as a server describes it; the hints are its own claims."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = True
    open_world: bool = True

    @property
    def digest(self) -> str:
        """The same for a tool that says the same of itself."""
        said = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def unhinted(self) -> Offered:
        """The same tool, of which nothing is believed."""
        return Offered(self.name, self.description, self.schema)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered to a call, as text, and its pictures."""

    text: str
    failed: bool = False
    pictures: tuple[Image, ...] = ()


Words: TypeAlias = Literal["others", "mine"]
Call = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]
"""Calls a tool by the server's own name for it. Raises `ToolFailed`, also as `OutcomeUnknown`."""

_PART = re.compile(r"[/=&#%\\]|^\?|\d")


def prefix(server: str) -> str:
    """Return how the names of a server's tools begin; no prefix begins with another one."""
    plain = re.sub(r"_+", "_", _safe(server)).strip("_") or "_"
    if plain != server or len(plain) > _MAX_SERVER_CHARS:
        plain = f"{plain[: _MAX_SERVER_CHARS - 7]}_{_mark(server)}"
    return f"mcp__{plain}__"


def tools_of(
    server: str, offered: Sequence[Offered], call: Call, *, words: Words = "others"
) -> tuple[Tool, ...]:
    """Make our tools for those that a server offers, except where the schema is wrong or too long.

    A model's service refuses the whole request for one wrong schema. `words` is whose words the
    server returns: the owner's own come without marks.
    """
    made: dict[str, Tool] = {}
    for item in offered[:MAX_TOOLS]:
        schema = _bounded(item.schema)
        why = "" if is_sound(schema) else "schema is wrong"
        if not why and len(json.dumps(schema)) > _MAX_SCHEMA_CHARS:
            why = "schema is too long"
        if why:
            log.warning("mcp_tool_left_out", server=server, tool=item.name[:80], why=why)
            continue
        name = _name(server, item.name, made)
        made[name] = Tool(
            name=name,
            description=item.description.strip()[:_MAX_DESCRIPTION_CHARS] or item.name[:100],
            arguments=_arguments(schema),
            handler=_handler(server, item.name, call, words),
            sink=_sink(item),
            visits=links_in if item.read_only and item.open_world else lambda wish: (),
            group=f"mcp:{server}",
            idempotent=item.idempotent or item.read_only,
            mutates=not item.read_only,
            read_only=item.read_only,
            timeout_s=_CALL_S,
        )
    if len(offered) > MAX_TOOLS:
        log.warning("mcp_tools_left_out", server=server, count=len(offered) - MAX_TOOLS)
    return tuple(made.values())


def problems(
    schema: Mapping[str, Any], given: Mapping[str, Any], *, inside: bool = False
) -> list[str]:
    """Return what is plainly wrong with `given`: missing or unknown names, wrong types or values.

    Only the top level is checked, and the server judges the rest; `inside`: also lists and
    objects in it, for a sound schema of ours.
    """
    properties = cast("dict[str, Any]", schema.get("properties") or {})
    found = [f"{name} is missing" for name in schema.get("required") or () if name not in given]
    for name, value in given.items():
        field = properties.get(name)
        if field is None and schema.get("additionalProperties") is False:
            found.append(f"{name} is unknown; there is {', '.join(properties) or 'nothing'}")
        if not isinstance(field, dict):
            continue
        kinds = _kinds(cast("dict[str, Any]", field))
        if kinds and not any(_is(value, kind) for kind in kinds):
            found.append(f"{name} has to be of type {' or '.join(kinds)}")
        values = cast("dict[str, Any]", field).get("enum")
        if isinstance(values, list) and value not in cast("list[Any]", values):
            shown = ", ".join(json.dumps(item) for item in cast("list[Any]", values)[:20])
            found.append(f"{name} has to be one of {shown}")
        if inside:
            found += _inside(name, cast("dict[str, Any]", field), value)
    return found


def _inside(name: str, field: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong in a list or an object."""
    items = field.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        each = {f"{name}[{n}]": item for n, item in enumerate(cast("list[Any]", value))}
        return problems(
            {"properties": dict.fromkeys(each, cast("dict[str, Any]", items))}, each, inside=True
        )
    if isinstance(value, dict) and field.get("properties"):
        wrong = problems(field, cast("dict[str, Any]", value), inside=True)
        return [f"{name}: {problem}" for problem in wrong]
    return []


class RawArguments(BaseModel):
    """Arguments held to a JSON Schema that came from elsewhere; kept exactly as they were given."""

    model_config = ConfigDict(frozen=True, extra="allow")
    raw_schema: ClassVar[Mapping[str, Any]] = {}
    look_inside: ClassVar[bool] = False

    @classmethod
    def model_json_schema(cls, *args: Any, **how: Any) -> dict[str, Any]:
        del args, how
        return dict(cls.raw_schema)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, given: Any) -> Any:
        if found := problems(cls.raw_schema, given, inside=cls.look_inside):
            raise PydanticCustomError("schema", "{found}", {"found": ", ".join(found)})
        return given


def _arguments(schema: Mapping[str, Any]) -> type[RawArguments]:
    return type("McpArguments", (RawArguments,), {"raw_schema": schema, "__module__": __name__})


def _handler(
    server: str, name: str, call: Call, words: Words
) -> Callable[[RawArguments, ToolContext, str], Awaitable[str]]:
    async def _run(wish: RawArguments, context: ToolContext, call_id: str) -> str:
        del call_id
        answer = await call(name, wish.model_extra or {})
        text = answer.text[:CEILING_CHARS] or "(no text)"
        text = text if words == "mine" else untrusted(text, f"mcp:{server}")
        if answer.failed:
            raise ToolFailed(text)
        kept = [await context.picture(one) for one in answer.pictures] if context.picture else []
        paths = ", ".join(filter(None, kept))
        return f"{text}\n[kept as {paths}: msg, type photo, that url sends it]" if paths else text

    return _run


def _sink(item: Offered) -> Sink:
    """Return what a tool does by its hints; what is not declared is the protocol's worst case.

    Source: modelcontextprotocol.io, schema, ToolAnnotations.
    """
    if item.read_only:
        return "look"
    if item.destructive:
        return "destroy"
    return "tell" if item.open_world else "own"


def links_in(wish: RawArguments) -> list[str]:
    """Return the values that are addresses, which whoever gets them may fetch; however nested.

    Beside an address, a path, a query or anything else with digits is a part of what is fetched.
    """
    values = values_of(wish.model_extra or {})
    texts = [*(place.shown for place in values.places.values()), *values.texts]
    links = list(filter(as_link, texts))
    parts = [text for text in texts if _PART.search(text) and text not in links] if links else []
    return [*links, *parts]


def _name(server: str, name: str, taken: Mapping[str, object]) -> str:
    """Return a name that every model service accepts and no other tool has."""
    start = prefix(server)
    plain = start + _safe(name)
    if len(plain) <= _MAX_NAME_CHARS and plain not in taken and _safe(name) == name:
        return plain
    return f"{plain[: _MAX_NAME_CHARS - 7]}_{_mark(name)}"


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def _safe(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text) or "_"


def _kinds(field: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types in a field's own `type`; () = it has none, so any value may pass."""
    kinds: Any = field.get("type")
    named = cast("list[Any]", kinds) if isinstance(kinds, list) else [kinds]
    return tuple(kind for kind in named if kind in _TYPES) if None not in named else ()


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema as that of an object, its descriptions cut to what a prompt may hold."""
    whole = cast("dict[str, Any]", _cut(dict(schema), 0))
    for noise in ("$schema", "title", "description"):
        whole.pop(noise, None)
    return {**whole, "type": "object", "properties": whole.get("properties") or {}}


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return (
            {}
            if depth > _MAX_DEPTH
            else {
                key: item[:_MAX_FIELD_DESCRIPTION_CHARS]
                if key == "description" and isinstance(item, str)
                else _cut(item, depth + 1)
                for key, item in cast("dict[str, Any]", value).items()
                if key != "title" or not isinstance(item, str)
            }
        )
    if isinstance(value, list):
        return (
            []
            if depth > 2 * _MAX_DEPTH
            else [_cut(item, depth + 1) for item in cast("list[Any]", value)]
        )
    return value
