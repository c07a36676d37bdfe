"""What tools there are: a spec for the model, a handler that only the door may reach.

Arguments are pydantic models, because they are foreign bytes; the JSON Schema that a model
reads is made from them and kept short, since it is sent with every request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from aouo.errors import ToolFailed
from aouo.ports import TurnView
from aouo.settings import Settings
from aouo.transcript import ToolSpec


class Asker(Protocol):
    """Puts a question to the person of this turn and waits for the answer, however long."""

    async def ask(self, call_id: str, question: str, options: Sequence[str]) -> str: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of its turn; never changes inside one.

    `owner` is whose data it is: the person in a private chat, else the conversation.
    """

    adapter: TurnView
    config: Settings
    session_id: str
    session_key: str
    pack: str
    asker: Asker
    owner: str


class Arguments(BaseModel):
    """The base of all arguments. Models send "" for what they mean to leave out."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `again`: the same call id may run twice with one effect, or without any."""

    name: str
    description: str
    arguments: type[BaseModel]
    handler: Callable[[Any, ToolContext, str], Awaitable[str]]
    group: str = "core"
    again: bool = True
    effect: bool = False
    timeout_s: float | None = 30.0

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, _compact(self.arguments.model_json_schema()))


def tool(
    name: str,
    description: str,
    arguments: type[A],
    handler: Callable[[A, ToolContext, str], Awaitable[str]],
    **how: Any,
) -> Tool:
    """A `Tool` whose handler takes what its arguments say."""
    return Tool(name, description, arguments, handler, **how)


class Registry:
    """All tools by name; hands out specs, never handlers."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {item.name: item for item in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools share a name")
        self._specs = {item.name: item.spec() for item in tools}

    def allowed(self, permitted: Sequence[str], enabled: Sequence[str]) -> tuple[str, ...]:
        """Names that a pack permits (names or groups) and the owner has not switched off."""

        def listed(item: Tool, names: Sequence[str]) -> bool:
            return item.name in names or item.group in names

        return tuple(
            name
            for name, item in self._tools.items()
            if listed(item, permitted) and (not enabled or listed(item, enabled))
        )

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(self._specs[name] for name in names)

    def may_run_again(self, name: str) -> bool:
        """An unknown tool may: it is refused again."""
        found = self._tools.get(name)
        return found is None or found.again

    def bind(self, name: str, context: ToolContext) -> Bound | None:
        """The runner for the guard; None = there is no such tool."""
        found = self._tools.get(name)
        return Bound(found, context) if found else None


class Bound:
    """One tool in one turn; see `guard.chain.Runner`."""

    def __init__(self, found: Tool, context: ToolContext) -> None:
        self._tool = found
        self._context = context

    @property
    def timeout_s(self) -> float | None:
        return self._tool.timeout_s

    @property
    def effect(self) -> bool:
        return self._tool.effect

    def check(self, payload: Mapping[str, Any]) -> None:
        self._parsed(payload)

    async def run(self, payload: Mapping[str, Any], call_id: str) -> str:
        return await self._tool.handler(self._parsed(payload), self._context, call_id)

    def _parsed(self, payload: Mapping[str, Any]) -> BaseModel:
        given = {key: value for key, value in payload.items() if value not in ("", None)}
        required = self._tool.arguments.model_fields
        kept = {k: v for k, v in payload.items() if k in given or _needs(required, k)}
        try:
            return self._tool.arguments.model_validate(kept)
        except ValidationError as error:
            raise ToolFailed(_in_words(self._tool.name, error)) from error


def _needs(fields: Mapping[str, Any], name: str) -> bool:
    return name in fields and fields[name].is_required()


def _in_words(name: str, error: ValidationError) -> str:
    """Every wrong argument at once, so that one more call can be right."""
    found = "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    )
    return f"Wrong arguments for {name}: {found}."


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
