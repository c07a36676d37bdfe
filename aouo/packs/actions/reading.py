"""Reads `actions.yml`: what is sound of it, and each mistake with its line."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from aouo.facts.letters import folded
from aouo.packs.actions.declared import (
    ACTIONS_MAX,
    FILE,
    GIVEN,
    OUR_TOOLS,
    PHRASES_MAX,
    Action,
    Argument,
    Declared,
    Document,
    Pattern,
    Spoken,
    Step,
)
from aouo.packs.actions.patterns import check, clashes, ways
from aouo.packs.format.problems import Problem, Severity, did_you_mean
from aouo.packs.format.texts import (
    FieldPath,
    PlainValue,
    TextRefused,
    YamlMapping,
    field_name,
    read_mapping,
)

_STEPS_MAX, _WAYS_MAX = 5, 40_000
_LOWER = re.compile(r"\blower\s*\(", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*", re.ASCII)
_M = TypeVar("_M", bound=BaseModel)


def names(text: str) -> tuple[str, ...]:
    """Return the names of the actions, be they sound or not; () = the file cannot be read."""
    try:
        found = read_mapping(text).values.get("actions")
    except TextRefused:
        return ()
    return tuple(found) if isinstance(found, dict) else ()


def parse(
    text: str,
    *,
    tools: Collection[str] = (),
    pages: Collection[str] = (),
    severity: Severity = "error",
) -> tuple[Declared, tuple[Problem, ...]]:
    """Read the file's text; an action with a problem is left out, and what names it.

    `tools` are the names of the pack's own tools, `pages` those of its menu.
    """
    try:
        document = read_mapping(text)
    except TextRefused as error:
        return Declared(), (Problem(FILE, error.line, error.field, str(error), severity),)
    reader = _Reader(document, severity, frozenset(tools), frozenset(pages))
    for fault in document.faults:
        reader.add((), str(fault), line=fault.line)
    return reader.declared(), tuple(sorted(reader.problems, key=lambda one: one.line))


class _Reader:
    """Collects what one file declares, and its problems."""

    def __init__(
        self,
        document: YamlMapping,
        severity: Severity,
        tools: frozenset[str],
        pages: frozenset[str],
    ) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._severity: Severity = severity
        self._tools, self._pages = tools, pages

    def add(self, path: FieldPath, message: str, *, line: int = 0) -> None:
        line = line or self._document.line_of(path)
        self.problems.append(Problem(FILE, line, field_name(path), message, self._severity))

    def declared(self) -> Declared:
        """Validate piece by piece, so that what is wrong leaves out that piece only."""
        values = self._document.values
        for key in values:
            if key not in Document.model_fields:
                self.add((key,), f"unknown key{did_you_mean(key, Document.model_fields)}")
        actions = {
            name: action
            for name, value in self._mapping("actions").items()
            if (action := self._model(Action, ("actions", name), value))
            and self._sound(name, action)
        }
        patterns = [
            pattern
            for index, value in enumerate(self._list("phrases"))
            if (phrase := self._model(Spoken, ("phrases", index), value))
            for pattern in self._patterns(index, phrase, actions)
        ]
        if ways(one.text for one in patterns) > _WAYS_MAX:
            self.add(("phrases",), f"can be read in more than {_WAYS_MAX:,} ways, all together")
            patterns = []
        self._clashes(patterns, actions)
        forms = {
            name: tuple(str(one) for one in value)
            for name, value in self._mapping("forms").items()
            if self._sound_form(name, value, actions) and isinstance(value, list)
        }
        tours = [self._tour(at, one, actions) for at, one in enumerate(self._list("tours"))]
        tours = [tour for tour in tours if tour]
        return Declared(actions, tuple(patterns), forms, tuple(tours))

    def _mapping(self, key: str) -> dict[str, PlainValue]:
        value = self._document.values.get(key)
        if isinstance(value, dict) and self._fits(key, len(value)):
            return value
        if value is not None and not isinstance(value, dict):
            self.add((key,), "must be a mapping")
        return {}

    def _list(self, key: str) -> list[PlainValue]:
        value = self._document.values.get(key)
        if isinstance(value, list) and self._fits(key, len(value)):
            return value
        if value is not None and not isinstance(value, list):
            self.add((key,), "must be a list")
        return []

    def _fits(self, key: str, entries: int) -> bool:
        most = ACTIONS_MAX if key == "actions" else PHRASES_MAX
        if entries > most:
            self.add((key,), f"has more than {most:,} entries")
        return entries <= most

    def _model(self, model: type[_M], path: FieldPath, value: PlainValue) -> _M | None:
        if path[0] == "actions" and not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", str(path[1])):
            self.add(path, "is no name: 1 to 32 of a-z 0-9 _, beginning with a letter")
            return None
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for one in error.errors(include_url=False, include_input=False):
                here = (*path, *(part for part in one["loc"] if part in _known(value, one["loc"])))
                self.add(here, _worded(one, model))
            return None

    def _sound(self, name: str, action: Action) -> bool:
        """Check what one action says of itself."""
        path: FieldPath = ("actions", name)
        if any(_LOWER.search(sql) for sql in action.statements):
            why = "lower() knows ASCII letters only: use fold(), and holds() to search"
            line = self._document.line_of(path)
            self.problems.append(Problem(FILE, line, field_name(path), why, "warning"))
        before = len(self.problems)
        if name in self._tools:
            self.add(path, "is the name of a tool of the pack, too: choose another")
        if not (action.sql or action.tool or action.find or action.page or action.picture):
            self.add(path, "does nothing: it needs sql, tool, find, page or picture")
        if action.given and action.tool not in OUR_TOOLS:
            self.add((*path, "with"), f"goes with a tool of the runtime: {', '.join(OUR_TOOLS)}")
        if action.tool and action.tool not in (*self._tools, *OUR_TOOLS):
            near = did_you_mean(action.tool, self._tools)
            self.add((*path, "tool"), f'the pack has no tool "{action.tool}"{near}')
        if action.page and action.page not in self._pages:
            near = did_you_mean(action.page, self._pages)
            self.add((*path, "page"), f'there is no page "{action.page}" in the menu{near}')
        says = action.answer or action.toast or action.row or action.page or action.picture
        if not (says or action.nothing):
            self.add(path, "says nothing of what it did: it needs answer, page or picture")
        for argument, takes in action.arguments.items():
            self._sound_argument((*path, "arguments", argument), argument, takes)
        for form in action.answer.keys() - {"zero", "one", "two", "few", "many", "other"}:
            self.add((*path, "answer", form), "is no plural form: zero one two few many other")
        for key, text in action.templates:
            self._template((*path, *key.split(".")), text)
        return len(self.problems) == before

    def _sound_argument(self, path: FieldPath, name: str, takes: Argument) -> None:
        if name in (*GIVEN, "result", "count"):
            self.add(path, f"{name} is given by the runtime: choose another name")
        if takes.kind == "choice" and not takes.choices:
            self.add(path, "a choice needs choices")
        if takes.kind == "row" and not takes.table:
            self.add(path, "a row needs the table it is in")

    def _template(self, path: FieldPath, text: str) -> None:
        try:
            parts = list(string.Formatter().parse(text))
        except ValueError as error:
            self.add(path, f"is no template: {error}")
            return
        for _, name, spec, conversion in parts:
            if name is not None and (not name.isidentifier() or spec or conversion):
                self.add(path, f"{{{name[:40]}}} is no value: write {{name}}, nothing else")

    def _patterns(
        self, index: int, phrase: Spoken, actions: Mapping[str, Action]
    ) -> Iterator[Pattern]:
        path: FieldPath = ("phrases", index)
        if not self._names(path, "action", phrase.action, actions):
            return
        action = actions[phrase.action]
        self._given((*path, "with"), phrase.given, action)
        if phrase.whole and action.kinds.get(phrase.whole) != "text":
            self.add((*path, "whole"), "must name an argument of the kind text")
            return
        for language, listed in phrase.languages.items():
            here = (*path, language)
            if not _LANGUAGE.fullmatch(language):
                self.add(here, "is neither a key nor a language: action, with, en, de …")
            elif not isinstance(listed, list):
                self.add(here, "must be a list of patterns")
            else:
                for number, text in enumerate(listed):
                    line = self._document.line_of((*here, number))
                    wrong = check(str(text), None if phrase.whole else action.kinds)
                    for why in wrong:
                        self.add((*here, number), f'"{str(text)[:60]}" {why}')
                    if wrong:
                        continue
                    only = frozenset(map(folded, phrase.only))
                    fixed = phrase.given, line, phrase.whole, only
                    yield Pattern(phrase.action, language, str(text), *fixed)

    def _clashes(self, patterns: Sequence[Pattern], actions: Mapping[str, Action]) -> None:
        """Tell which patterns say what another action's pattern says already."""
        alike = [
            (one.action, one.language, one.text, actions[one.action].kinds) for one in patterns
        ]
        for number, earlier in clashes(alike).items():
            said, other = patterns[number], patterns[earlier]
            why = f'"{said.text[:60]}" is said of {other.action} already, in line {other.line}'
            self.add(("phrases",), why, line=said.line)

    def _sound_form(self, name: str, value: PlainValue, actions: Mapping[str, Action]) -> bool:
        path: FieldPath = ("forms", name)
        if not self._names(path, "", name, actions):
            return False
        takes = actions[name].arguments
        if not isinstance(value, list) or any(str(one) not in takes for one in value):
            self.add(path, f"must list arguments of {name}: {', '.join(takes) or 'it takes none'}")
            return False
        return True

    def _tour(
        self, number: int, value: PlainValue, actions: Mapping[str, Action]
    ) -> tuple[Step, ...]:
        steps = value if isinstance(value, list) else []
        found = [self._step(number, at, one, actions) for at, one in enumerate(steps)]
        if not 1 <= len(steps) <= _STEPS_MAX:
            self.add(("tours", number), f"must be a list of 1 to {_STEPS_MAX} steps")
            return ()
        return tuple(step for step in found if step) if all(found) else ()

    def _step(
        self, tour: int, number: int, value: PlainValue, actions: Mapping[str, Action]
    ) -> Step | None:
        path: FieldPath = ("tours", tour, number)
        step = self._model(Step, path, value)
        if step is None or not self._names(path, "do", step.do, actions):
            return None
        self._given((*path, "with"), step.given, actions[step.do])
        return step

    def _names(self, path: FieldPath, key: str, name: str, actions: Mapping[str, Action]) -> bool:
        if name in actions:
            return True
        if name not in self._mapping("actions"):  # one with a problem was told of already
            here = (*path, key) if key else path
            self.add(here, f'there is no action "{name}"{did_you_mean(name, actions)}')
        return False

    def _given(self, path: FieldPath, given: Mapping[str, Any], action: Action) -> None:
        for name in given.keys() - action.arguments.keys():
            near = did_you_mean(name, action.arguments)
            self.add((*path, name), f'the action takes no "{name}"{near}')


def _known(value: PlainValue, loc: Sequence[str | int]) -> list[str | int]:
    """Return the parts of an error's place that stand in the file."""
    found: list[str | int] = []
    here: Any = value
    for part in loc:
        inner: Any = dict(enumerate(cast("list[Any]", here))) if isinstance(here, list) else here
        if isinstance(inner, dict) and part in cast("dict[Any, Any]", inner):
            here = cast("dict[Any, Any]", inner)[part]
            found.append(part)
    return found


def _worded(error: Mapping[str, Any], model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        fields = Argument.model_fields if "arguments" in error["loc"] else model.model_fields
        return f"unknown key{did_you_mean(str(error['loc'][-1]), fields)}"
    missing = f"{error['loc'][-1]} is required" if error["type"] == "missing" else ""
    said = str(error["msg"]).removeprefix("Value error, ")
    return missing or said[0].lower() + said[1:]
