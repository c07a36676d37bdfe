"""Holds the tools that one turn may call, and decides which of them the model is told of.

The core tools are shown from the start; the others that the pack permits stay out of the prompt
until the model asks for them with `load_tools`, or simply calls them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from aouo.agent.tools.actions import GROUP as ACTIONS
from aouo.agent.tools.conversation import GROUP as ONBOARDING
from aouo.agent.tools.memory import NAME as MEMORY
from aouo.agent.tools.memory import with_targets
from aouo.agent.tools.registry import MAX_NAME_CHARS, Registry, Source, Tool, ToolContext
from aouo.agent.tools.undo import UNDO
from aouo.facts.errors import ToolFailed, ToolsNotReady
from aouo.facts.people import RESERVED
from aouo.facts.transcript import ToolSpec
from aouo.guard.chain import Run
from aouo.guard.prepared import Blocked

_DEFINITIONS_WITHIN_S = 10.0
_SHOWN_GROUPS = ("core", "pack", ONBOARDING)
_OWN_GROUPS = ("load", "results", ACTIONS, UNDO)
"""Groups that need no permission, since they open nothing that is not permitted."""
LOAD_TOOLS, _LOAD_SKILLS = "load_tools", "load_skills"


class Toolbox:
    """One turn's tools; tools themselves may call only its `load_tools` and `load_skills`.

    `skill` returns a skill's text by name and raises `ToolFailed` for one that is not there.
    `off_record` shows only tools that can be read-only; with `onboarding` the turn may end a
    pack's first conversation. `memory_targets` are the files that the `memory` tool may name,
    () = those that it always may. The turn has exactly the tools of `only`, whatever its pack
    permits (None = those that it permits), and never those of `without`.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        permitted: Sequence[str],
        enabled: Sequence[str] = (),
        skills: Sequence[str] = (),
        skill: Callable[[str], str] = str,
        off_record: bool = False,
        pack: str = "",
        onboarding: bool = False,
        memory_targets: Sequence[str] = (),
        only: Sequence[str] | None = None,
        without: Sequence[str] = (),
    ) -> None:
        self._registry = registry
        self._skills = tuple(skills)
        self._skill = skill
        self._off_record = off_record
        self._memory_targets = list(memory_targets)
        self._permitted = frozenset(permitted)
        sources = registry.sources if only is None else ()
        self._sources = {s.group: s for s in sources if self._wants(s)}
        self._down: dict[str, str] = {}
        tools = {item.name: item for item in registry.allowed(permitted, enabled, pack)}
        tools |= {item.name: item for item in registry.allowed(_OWN_GROUPS, (), pack)}
        if onboarding:
            tools |= {item.name: item for item in registry.allowed((ONBOARDING,), ())}
        if "skill_view" not in tools or not self._skills:
            tools.pop(_LOAD_SKILLS, None)
        if only is None:
            without = (*without, *RESERVED)
        else:
            found = registry.allowed(only, ())
            tools = {item.name: item for item in found if item.name in only}
        self._tools = {name: item for name, item in tools.items() if name not in without}
        self._revealed: set[str] = set(only or ())
        self.shown: tuple[ToolSpec, ...] = ()
        """The tools that the model is told of now."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools that may be called, shown or not."""
        return tuple(self._tools)

    async def open(self, revealed: Sequence[str] = ()) -> None:
        """Show the tools that a turn begins with, and those that it had `revealed` before a crash.

        Raises:
            ToolsNotReady: the definitions did not arrive in time.
        """
        try:
            async with asyncio.timeout(_DEFINITIONS_WITHIN_S):
                for name in revealed:
                    with suppress(ToolFailed):
                        self._revealed.update(await self._members(name))
        except TimeoutError:
            raise ToolsNotReady(f"no tool definitions within {_DEFINITIONS_WITHIN_S:g} s") from None
        self.reveal(())

    async def find(self, name: str) -> Tool | None:
        """Return the tool of this name if the turn may call it; connect its source if need be."""
        if name not in self._tools:
            for source in self._sources.values():
                if source.owns(name) and self._permits(source, name):
                    try:
                        await self._connect(source)
                    except ToolFailed as error:
                        self._down[name] = str(error)
                        break
        return self._tools.get(name)

    def named(self, name: str) -> Tool | Blocked:
        """Return the tool of this name, or why the turn has none; call `find` before."""
        if found := self._tools.get(name):
            return found
        if problem := self._down.get(name):
            return Blocked(f"{problem} Go on without it.", "not there now", "tools")
        problem = f"There is no tool {name[:MAX_NAME_CHARS]!r} here."
        return Blocked(f"{problem} Tools: {', '.join(self.names)}.", "no such tool", "tools")

    def runner(self, name: str, context: ToolContext) -> Run | None:
        """Return what runs this tool, for the guard only; None = there is no such tool."""
        if (found := self._tools.get(name)) is None:
            return None
        return lambda arguments, call_id: found.handler(arguments, context, call_id)

    async def load_tools(self, names: Sequence[str]) -> str:
        """Show these tools or groups from the next model call on; return a report for the model.

        Raises:
            ToolFailed: none of them could be shown.
        """
        came: list[str] = []
        not_there: list[str] = []
        for name in names:
            try:
                came += await self._members(name)
            except ToolFailed as error:
                not_there.append(f"{name}: {str(error).rstrip('.')}")
        self.reveal(came)
        told = [f"Ready: {', '.join(came)}."] if came else []
        told += [f"Not available: {'; '.join(not_there)}."] if not_there else []
        if not came:
            raise ToolFailed(" ".join(told) or f"Name at least one of: {self._hidden_in_words()}")
        return " ".join(told)

    async def load_skills(self, names: Sequence[str]) -> str:
        """Return the texts of these skills; in the place of a missing one stands why it is.

        Raises:
            ToolFailed: all of them are missing.
        """
        texts: list[str] = []
        failed = 0
        for name in names:
            try:
                texts.append(self._skill(name))
            except ToolFailed as error:
                failed += 1
                texts.append(str(error))
        if failed == len(texts):
            raise ToolFailed("\n".join(texts) or f"Name at least one of: {', '.join(self._skills)}")
        return "\n\n".join(texts)

    async def _members(self, name: str) -> list[str]:
        """The tools that a name or a group stands for.

        Raises:
            ToolFailed: there is none, or its source cannot be reached.
        """
        if name in self._sources:
            return await self._connect(self._sources[name])
        if members := [item.name for item in self._tools.values() if item.group == name]:
            return members
        if await self.find(name):
            return [name]
        raise ToolFailed("there is no such tool or group here")

    async def _connect(self, source: Source) -> list[str]:
        names: list[str] = []
        for item in await source.tools():
            if self._permits(source, item.name):
                names.append(item.name)
                self._tools.setdefault(item.name, item)
        return names

    def _wants(self, source: Source) -> bool:
        """Whether all of a source is permitted, or a tool of it by its name."""
        return source.group in self._permitted or any(map(source.owns, self._permitted))

    def _permits(self, source: Source, name: str) -> bool:
        return source.group in self._permitted or name in self._permitted

    def reveal(self, names: Iterable[str]) -> None:
        """Show these tools from the next model call on."""
        self._revealed.update(names)
        self.shown = tuple(
            self._spec(item) for item in self._tools.values() if self._is_shown(item)
        )

    def _is_shown(self, item: Tool) -> bool:
        if self._off_record and item.read_only is False:
            return False
        if item.name == LOAD_TOOLS:
            return bool(self._hidden())
        shown = item.name == _LOAD_SKILLS or item.group in _SHOWN_GROUPS
        return shown or item.name in self._revealed

    def _spec(self, item: Tool) -> ToolSpec:
        spec = self._registry.spec(item)
        if item.name == LOAD_TOOLS:
            return replace(spec, description=f"{spec.description} {self._hidden_in_words()}")
        if item.name == MEMORY and self._memory_targets:
            return replace(spec, parameters=with_targets(spec.parameters, self._memory_targets))
        return spec

    def _hidden(self) -> dict[str, list[str]]:
        """Return the groups and their tools that could be brought in: group → names.

        A source that is not connected has only the names that are permitted one by one.
        """
        groups: dict[str, list[str]] = {}
        for item in self._tools.values():
            own = item.group in (*_SHOWN_GROUPS, *_OWN_GROUPS) and item.group != ACTIONS
            if own or item.name in self._revealed:
                continue
            if not (self._off_record and item.read_only is False):
                groups.setdefault(item.group, []).append(item.name)
        shown = {item.group for item in self._tools.values() if item.name in self._revealed}
        for group, source in self._sources.items():
            if group not in shown and group not in groups:
                named = filter(source.owns, sorted(self._permitted))
                groups[group] = [] if group in self._permitted else list(named)
        return groups

    def _hidden_in_words(self) -> str:
        """Name what could be brought in; of an action also what it does."""

        def named(name: str) -> str:
            item = self._tools.get(name)
            return f"{name} ({item.description})" if item and item.group == ACTIONS else name

        return "; ".join(
            f"{group}: {', '.join(map(named, names)) or self._sources[group].summary}"
            for group, names in self._hidden().items()
        )
