"""Turns the text of a `pack.yml` into a `Manifest`, or into every problem and its line."""

from __future__ import annotations

import bisect
import copy
import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from aouo.packs.format import problems
from aouo.packs.format.manifest import FILE, Manifest
from aouo.packs.format.manifest_check import check, is_javascript
from aouo.packs.format.texts import (
    FieldPath,
    PlainValue,
    TextRefused,
    YamlMapping,
    field_name,
    read_mapping,
)

_WRITTEN_SHORT = {"provided_skills": "skills", "cron_defaults": "cron"}


class Parsed:
    """What a manifest says (None: it cannot be used), every problem in it, and its lines.

    `draft` is what could be read of it, for finding problems in the other files too; `unread` are
    the places whose value could not be taken. `of_original`: it was written for the original.
    """

    def __init__(self, document: YamlMapping | None) -> None:
        """None: it could not be read at all."""
        self.manifest: Manifest | None = None
        self.draft: Manifest | None = None
        self.of_original = False
        faults = document.faults if document else ()
        self.problems = tuple(
            problems.Problem(FILE, one.line, one.field, one.message) for one in faults
        )
        self.unread: set[FieldPath] = set(document.lost) if document else {()}
        self._document = document or YamlMapping({}, {})
        self._gone: dict[FieldPath, list[int]] = {}

    def add(self, path: FieldPath, message: str, severity: problems.Severity = "error") -> None:
        """Report a finding, unless the value at `path` is one that we put there."""
        written = self.as_written(path)
        if not self.is_unread(written):
            line = self.line_of(written) or 1
            found = problems.Problem(FILE, line, field_name(written), message, severity)
            self.problems = (*self.problems, found)

    def leave_out(self, path: FieldPath, index: int) -> None:
        """Note that an item of the list at `path` is gone; its index is the one of the moment."""
        *around, written = self.as_written((*path, index))
        assert isinstance(written, int)
        bisect.insort(self._gone.setdefault(tuple(around), []), written)

    def as_written(self, path: FieldPath) -> FieldPath:
        """Return where the author has what is at `path` now."""
        found: FieldPath = ()
        for part in path:
            if isinstance(part, int):
                for gone in self._gone.get(found, ()):
                    part += gone <= part
            found = (*found, part)
        return found

    def is_unread(self, written: FieldPath) -> bool:
        """Whether the value there, or one around it, is not the author's."""
        return any(written[: len(path)] == path for path in self.unread)

    def sure(self, *path: str) -> bool:
        """Whether what is there is the author's, but for single items of a list."""
        return not self.is_unread(path)

    def line_of(self, written: FieldPath) -> int:
        """Return the line of a place, or of what is around it, or 0."""
        short = _WRITTEN_SHORT.get(str(written[0])) if written else None
        if short and written[:1] not in self._document.lines:
            written = (short, *written[1:])
        return self._document.line_of(written)

    def placed(self, problem: problems.Problem) -> problems.Problem | None:
        """Give a later finding its line; None = it is about a value that is not the author's."""
        written = self.as_written(_path_of(problem.field))
        if self.is_unread(written):
            return None
        line = problem.line or self.line_of(written)
        return replace(problem, line=line, field=field_name(written))


def _path_of(field: str) -> FieldPath:
    """Read `cron_defaults[0].skill` as `field_name` writes it."""
    parts = re.findall(r"[^.\[\]]+|(?<=\[)[0-9]+(?=\])", field)
    return tuple(int(part) if part.isdigit() else part for part in parts)


def without(values: dict[str, PlainValue], wrong: Iterable[FieldPath]) -> dict[str, PlainValue]:
    """Return a copy that lacks the keys at `wrong`, or around them: no item of a list moves."""
    rest = copy.deepcopy(values)
    for path in wrong:
        _take_out(rest, [*path])
    return rest


def _take_out(rest: dict[str, PlainValue], path: list[str | int]) -> None:
    while path and isinstance(path[-1], int):  # the whole list
        path.pop()
    here: Any = rest
    for part in path[:-1]:
        try:
            here = here[part]
        except (LookupError, TypeError):  # it went with what is around it
            return
    if path and isinstance(here, dict):
        cast("dict[object, object]", here).pop(path[-1], None)


def _is_of_original(manifest: Mapping[str, object]) -> bool:
    """Whether a manifest says something that only the original reads, and nothing only we do."""
    return any(_theirs(manifest)) and not any(_ours(manifest))


def _theirs(manifest: Mapping[str, object]) -> Iterator[bool]:
    memory = _original_mapping(manifest, "memory")
    yield "js" in _original_mapping(manifest, "runtime")
    yield "web_search" in _original_mapping(manifest, "permissions")
    yield "user" in memory or any(isinstance(value, str) for value in memory.values())
    yield _original_mapping(manifest, "context").get("memory_policy") == "summary_plus_query"
    tools = manifest.get("custom_tools")
    for tool in cast("list[object]", tools) if isinstance(tools, list) else ():
        path = _original_mapping({"tool": tool}, "tool").get("path")
        yield isinstance(path, str) and is_javascript(path)


def _ours(manifest: Mapping[str, object]) -> Iterator[bool]:
    yield "budget" in manifest
    yield "watches" in manifest
    yield "scope" in _original_mapping(manifest, "schema")
    yield "max_bytes" in _original_mapping(manifest, "memory")


def _original_mapping(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


_PLACEHOLDERS = {"name": "nameless", "version": "0.0.0", "display_name": "nameless"}
_POLICY = "memory_policy"
_SEARCH = "web_search"
_MEMORY_POLICIES = {"": "full", "summary_plus_query": "full"}  # the latter is the original's
_URL = re.compile(r"https?://([a-z0-9_.-]+(?::[0-9]{1,5})?)/?", re.ASCII | re.IGNORECASE)
_NOT_READ = frozenset({"context", "memory"})
"""What the original read nothing of: a wrong value is a warning at load, and the default counts."""
_REQUIRED = frozenset({"name", "id", "schedule", "skill", "every", "path", "command"})
"""Of what stands in a list."""


def parse(text: str, *, strict: bool = False) -> Parsed:
    """Read a manifest and check all of it that needs no other file; never raises.

    `strict` makes unknown keys errors.
    """
    try:
        document = read_mapping(text)
    except TextRefused as refused:
        parsed = Parsed(None)
        parsed.problems = (problems.Problem(FILE, refused.line, refused.field, refused.message),)
        return parsed
    parsed = Parsed(document)
    softly: problems.Severity = "error" if strict else "warning"
    parsed.of_original = _is_of_original(document.values)
    manifest = _validated(_normal(document.values), parsed, softly)
    for path, message, *severity in check(manifest, parsed.sure, softly):
        parsed.add(path, message, *severity)
    parsed.problems = tuple(sorted(parsed.problems, key=lambda problem: problem.line))
    parsed.draft = _without_javascript(manifest)
    parsed.manifest = None if problems.errors(parsed.problems) else parsed.draft
    return parsed


def _without_javascript(manifest: Manifest) -> Manifest:
    """What is left of the tools; those in JavaScript are said, and not there."""
    tools = tuple(tool for tool in manifest.custom_tools if not is_javascript(tool.path))
    return dataclasses.replace(manifest, custom_tools=tools)


@functools.cache
def _adapter() -> TypeAdapter[Manifest]:
    """Built at the first manifest: 15 ms that importing this should not cost."""
    return TypeAdapter(Manifest)


def _normal(values: dict[str, PlainValue]) -> dict[str, Any]:
    """Write the short forms out, as the documentation allows them."""
    known: dict[str, Any] = dict(values)
    for full, short in _WRITTEN_SHORT.items():
        if full not in known and isinstance(known.get(short), list):
            known[full] = known.pop(short)
    dependencies = known.get("depends_on")
    if isinstance(dependencies, list):
        items = cast("list[PlainValue]", dependencies)
        known["depends_on"] = [{"name": x} if isinstance(x, str) else x for x in items]
    _understand(known)
    return known


def _understand(known: dict[str, Any]) -> None:
    """Take what the original's documentation writes in another way."""
    context = _mapping(known, "context")
    if policy := _MEMORY_POLICIES.get(str(context.get(_POLICY))):
        context[_POLICY] = policy
    memory = _mapping(known, "memory")
    for name in ("soul", "state"):
        if str(memory.get(name)).endswith(".md"):
            memory[name] = True  # it names a path there
    permissions = _mapping(known, "permissions")
    if isinstance(searches := permissions.get(_SEARCH), bool):
        del permissions[_SEARCH]
        tools = permissions.get("tools", list(problems.DEFAULT_TOOLS))
        if searches and isinstance(tools, list) and _SEARCH not in tools:
            permissions["tools"] = [*cast("list[PlainValue]", tools), _SEARCH]
    hosts = permissions.get("network")
    if isinstance(hosts, list):
        permissions["network"] = [_host_of(host) for host in cast("list[PlainValue]", hosts)]


def _host_of(host: PlainValue) -> PlainValue:
    """Take the host of a URL that says nothing else; any other is left to the check."""
    found = _URL.fullmatch(host) if isinstance(host, str) else None
    return found[1] if found else host


def _mapping(values: dict[str, Any], key: str) -> dict[str, Any]:
    found = values.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _validated(values: dict[str, Any], parsed: Parsed, softly: problems.Severity) -> Manifest:
    """Build the manifest, leaving out and reporting what is unknown or wrong."""
    try:
        return _adapter().validate_python(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
    for detail in details:
        _tell(detail, parsed, softly)
    # From the end, so that no index moves before its turn.
    for detail in sorted(details, key=_order, reverse=True):
        _leave_out(values, detail, parsed)
    return _validated(values, parsed, softly)


def _tell(detail: ErrorDetails, parsed: Parsed, softly: problems.Severity) -> None:
    path = detail["loc"]
    if detail["type"] == _UNKNOWN_KEY:
        softly = "warning" if path[0] == "memory" else softly
        parsed.add(path, f"unknown key{_hint(path)}", softly)
    elif not _is_empty(detail):  # an empty key is as good as an absent one
        parsed.add(path, _in_words(detail), softly if path[0] in _NOT_READ else "error")
        parsed.unread.add(parsed.as_written(path))


def _leave_out(values: Any, detail: ErrorDetails, parsed: Parsed) -> None:
    """Take out the smallest thing that is wrong; what has to be there gets a value of ours."""
    *around, last = path = detail["loc"]
    for part in around:
        values = values[part]
    if _is_required(path) and detail["type"] != _UNKNOWN_KEY and not _is_empty(detail):
        values[last] = _PLACEHOLDERS.get(str(last), "nameless")
    elif isinstance(last, int):
        parsed.leave_out(tuple(around), last)
        del values[last]
    else:
        values.pop(last, None)


_UNKNOWN_KEY = "unexpected_keyword_argument"


def _is_empty(detail: ErrorDetails) -> bool:
    return detail["input"] is None and isinstance(detail["loc"][-1], str)


def _is_required(path: FieldPath) -> bool:
    if len(path) == 1:
        return path[0] in _PLACEHOLDERS
    return isinstance(path[-2], int) and path[-1] in _REQUIRED


def _order(detail: ErrorDetails) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in detail["loc"]]


def _keys_at(path: FieldPath) -> list[str]:
    """Return the keys our format knows beside the last part of `path`."""
    here: Any = Manifest
    for part in path[:-1]:
        if isinstance(part, str):
            here = get_type_hints(here)[part]
        if not isinstance(part, int) and get_args(here):  # tuple[X, ...] holds X
            here = get_args(here)[0]
    return [item.name for item in dataclasses.fields(here)]


def _hint(path: FieldPath) -> str:
    key = str(path[-1])
    if key == "<<":
        return "; YAML 1.2 merges no keys: write them out"
    if path[0] == "permissions" and key in problems.TOOLS | problems.GROUPS:
        return f"; tools are listed as permissions.tools: [{key}]"
    return problems.did_you_mean(key, _keys_at(path))


def _in_words(detail: ErrorDetails) -> str:
    """Say one finding of pydantic as a person would."""
    kind, given = detail["type"], repr(detail["input"])[:60]
    match kind:
        case "bool_parsing" | "bool_type":
            return f"must be true or false, not {given}"
        case "missing":
            return "is required"
        case "string_type":
            return f"must be text (in quotes if it looks like a number), not {given}"
        case "string_pattern_mismatch" if detail["loc"] == ("version",):
            return f'must begin with three numbers such as "1.0.0", not {given}'
        case "string_pattern_mismatch" if detail["loc"][-1] == "name":
            signs = "a-z A-Z 0-9 _" if detail["loc"][0] == "custom_tools" else "a-z A-Z 0-9 _ -"
            return f"is no name of a tool: at most 48 of {signs}, a letter first, not {given}"
        case "string_pattern_mismatch" if detail["loc"][-1] == "id":
            signs = "a-z A-Z 0-9 _ -"
            return f"must be at most 64 of {signs}, a letter or digit first, not {given}"
        case "string_pattern_mismatch":
            return f"must be one line, not {given}"
        case "literal_error":
            return f"must be {_expected(detail)}, not {given}"
        case "tuple_type":
            return f"must be a list, not {given}"
        case "dataclass_type" | "mapping_type" | "dict_type":
            return f"must be a mapping of keys to values, not {given}"
        case _:
            return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, not {given}"


def _expected(detail: ErrorDetails) -> str:
    return str(detail.get("ctx", {}).get("expected", "something else"))
