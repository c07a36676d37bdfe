"""The text of a `pack.yml` turned into a `Manifest`, or into every problem in it."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from aouo.packs.manifest import FILE, Manifest
from aouo.packs.manifest_check import Check, is_javascript
from aouo.packs.names import GROUPS, TOOLS
from aouo.packs.problems import Problem, Severity, did_you_mean
from aouo.packs.yaml_text import (
    FieldPath,
    YamlMapping,
    YamlRefused,
    YamlValue,
    field_name,
    read_mapping,
)

_PLACEHOLDERS = {"name": "nameless", "version": "0.0.0", "display_name": "nameless"}
_POLICY = "memory_policy"
_MEMORY_POLICIES = {"": "full", "summary_plus_query": "full"}  # the latter is the original's
_WRITTEN_SHORT = {"skills": "provided_skills", "cron": "cron_defaults"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a manifest says (None: it cannot be used), and every problem in it.

    `draft` is what could be read of it, for finding problems in the other files too.
    """

    manifest: Manifest | None
    problems: tuple[Problem, ...]
    draft: Manifest | None = None


def problems(text: str, *, file: str = FILE, strict: bool = False) -> tuple[Problem, ...]:
    """Return everything wrong with a manifest; `strict` makes unknown keys errors."""
    return parse(text, file=file, strict=strict).problems


def parse(text: str, *, file: str = FILE, strict: bool = False) -> Parsed:
    """Read a manifest and check all of it that needs no other file; never raises."""
    try:
        document = read_mapping(text)
    except YamlRefused as refused:
        return Parsed(None, (Problem(file, refused.line, refused.field, refused.message),))
    report = _Report(file, document, strict)
    manifest = report.validate(_normal(document.values))
    Check(report.add, "error" if strict else "warning").all(manifest)
    found = sorted(report.problems, key=lambda problem: problem.line)
    failed = any(problem.severity == "error" for problem in found)
    kept = _without_javascript(manifest)
    return Parsed(None if failed else kept, tuple(found), kept)


def _without_javascript(manifest: Manifest) -> Manifest:
    """What is left of the tools; those in JavaScript are said, and not there."""
    tools = tuple(tool for tool in manifest.custom_tools if not is_javascript(tool.path))
    return dataclasses.replace(manifest, custom_tools=tools)


@functools.cache
def _adapter() -> TypeAdapter[Manifest]:
    """Built at the first manifest: 15 ms that importing this should not cost."""
    return TypeAdapter(Manifest)


def _normal(values: dict[str, YamlValue]) -> dict[str, Any]:
    """Write the short forms out, as the documentation allows them."""
    known: dict[str, Any] = dict(values)
    for short, full in _WRITTEN_SHORT.items():
        if full not in known and isinstance(known.get(short), list):
            known[full] = known.pop(short)
    dependencies = known.get("depends_on")
    if isinstance(dependencies, list):
        items = cast("list[YamlValue]", dependencies)
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


def _mapping(values: dict[str, Any], key: str) -> dict[str, Any]:
    found = values.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class _Report:
    """Collects the problems of one manifest."""

    def __init__(self, file: str, document: YamlMapping, strict: bool) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._document = document
        self._strict: Severity = "error" if strict else "warning"

    def add(self, path: FieldPath, message: str, severity: Severity = "error") -> None:
        line = self._document.line_of(path) or 1
        self.problems.append(Problem(self._file, line, field_name(path), message, severity))

    def validate(self, values: dict[str, Any]) -> Manifest:
        """Build the manifest, leaving out and reporting what is unknown or wrong."""
        try:
            return _adapter().validate_python(values)
        except ValidationError as error:
            details = error.errors(include_url=False)
        dropped: set[str] = set()
        for detail in details:
            path = detail["loc"]
            if detail["type"] == _UNKNOWN_KEY:
                softly = "warning" if path[0] == "memory" else self._strict
                self.add(path, f"unknown key{_hint(path)}", softly)
                _remove(values, path)
            elif detail["input"] is None and path and isinstance(path[-1], str):
                _remove(values, path)  # an empty key is as good as an absent one
            else:
                self.add(path, _in_words(detail))
                dropped |= {str(path[0])} if path else set(values)
        if dropped & {"provided_skills", "permissions"}:  # what refers to them would look wrong
            dropped |= {"cron_defaults", "runtime"}
        kept = {key: value for key, value in values.items() if key not in dropped}
        return self.validate(_PLACEHOLDERS | kept if dropped else kept)


_UNKNOWN_KEY = "unexpected_keyword_argument"


def _remove(values: Any, path: FieldPath) -> None:
    for part in path[:-1]:
        values = values[part]
    del values[path[-1]]


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
    if path[0] == "permissions" and key in TOOLS | GROUPS:
        return f"; tools are listed as permissions.tools: [{key}]"
    return did_you_mean(key, _keys_at(path))


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
        case "string_pattern_mismatch":
            return f"is not written as it must be: {given}"
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
