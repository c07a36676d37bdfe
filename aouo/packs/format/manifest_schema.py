"""Makes the JSON Schema of `pack.yml` from its types, for editors to complete and check by."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from aouo.packs.format import manifest
from aouo.packs.format.names import GROUPS, RESERVED_NAMES, TOOLS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12; it takes all that loading takes without a warning."""
    made = TypeAdapter(manifest.Manifest).json_schema()
    kinds: dict[str, dict[str, Any]] = {"Manifest": made, **made["$defs"]}
    for kind, field, text in _docstrings():
        kinds[kind]["properties"][field]["description"] = text
    fields = made["properties"]
    fields["name"] |= {
        "pattern": "^[a-z](?!.*__)[a-z0-9_-]{0,30}[a-z0-9-]$|^[a-z]$",
        "not": {"enum": sorted(RESERVED_NAMES)},
    }
    _allow_short_forms(fields, kinds)
    for properties in (kind.get("properties", {}) for kind in kinds.values()):
        for name, field in properties.items():
            if name not in ("name", "version", "display_name"):
                properties[name] = _or_empty(field)
    return {"$schema": _DIALECT, "$id": "aouo-pack.json", **made, "title": "pack.yml"}


def _allow_short_forms(fields: dict[str, Any], kinds: dict[str, dict[str, Any]]) -> None:
    """What `manifest_text` writes out before it checks."""
    fields["depends_on"]["items"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/Dependency"}],
    }
    for short, full in (("skills", "provided_skills"), ("cron", "cron_defaults")):
        fields[short] = {**fields[full], "description": f"Another name of {full}."}
    tools = kinds["Permissions"]["properties"]["tools"]
    tools["items"] = {"anyOf": [{"enum": sorted(TOOLS | GROUPS)}, {"type": "string"}]}
    kinds["Memory"]["additionalProperties"] = True
    policy = kinds["ContextPolicy"]["properties"]["memory_policy"]
    policy["enum"] = [*policy["enum"], "", "summary_plus_query"]
    for name in ("soul", "state"):
        kinds["Memory"]["properties"][name]["type"] = ["boolean", "string"]


def _or_empty(field: dict[str, Any]) -> dict[str, Any]:
    """A key without a value is as good as an absent one."""
    outer = {key: field[key] for key in ("description", "default") if key in field}
    inner = {key: value for key, value in field.items() if key not in outer and key != "title"}
    return {**outer, "anyOf": [inner, {"type": "null"}]}


def _docstrings() -> Iterator[tuple[str, str, str]]:
    """Yield (class, field, text below it); the types keep no text at run time."""
    for kind in ast.parse(inspect.getsource(manifest)).body:
        if not isinstance(kind, ast.ClassDef):
            continue
        for field, below in zip(kind.body, kind.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                text, name = below.value, field.target
                if isinstance(text, ast.Constant) and isinstance(name, ast.Name):
                    yield kind.name, name.id, str(text.value)
