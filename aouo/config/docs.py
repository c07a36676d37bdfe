"""Reads the description of each configuration key from the docstring under its attribute.

pydantic could read them when the classes are made, but that costs every start of every command
30 ms, and only the schema needs them.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from types import ModuleType
from typing import Any

from aouo.config import sections, settings


def describe(schema: dict[str, Any]) -> None:
    """Put the descriptions into a JSON Schema of `settings.Settings`, in place."""
    for key in settings.AFTER_RESTART:
        _say(schema, key, " (Counts from the next start.)")
    for name, meanings in docstrings().items():
        section = schema["$defs"].get(name, schema if name == "Settings" else {})
        for key, field in section.get("properties", {}).items():
            if key in meanings:
                field["description"] = meanings[key] + field.get("description", "")


def _say(schema: dict[str, Any], key: str, words: str) -> None:
    """Add the words to the key, or to each key of that section."""
    section: dict[str, Any] = schema
    *parents, name = key.split(".")
    for parent in parents:
        section = _section(schema, section["properties"][parent])
    _mark(schema, section["properties"][name], words)


def _mark(schema: dict[str, Any], field: dict[str, Any], words: str) -> None:
    field["description"] = words
    for below in _section(schema, field).get("properties", {}).values():
        _mark(schema, below, words)


def _section(schema: dict[str, Any], field: dict[str, Any]) -> dict[str, Any]:
    name: str = field.get("$ref", "").rpartition("/")[2]
    return schema["$defs"].get(name, {})


@cache
def docstrings() -> dict[str, dict[str, str]]:
    """Return class → attribute → the docstring below it."""
    found: dict[str, dict[str, str]] = {}
    for node in [*_body(sections), *_body(settings)]:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {
                attribute.target.id: inspect.cleandoc(text.value.value)
                for attribute, text in zip(node.body, node.body[1:], strict=False)
                if isinstance(attribute, ast.AnnAssign)
                and isinstance(attribute.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            }
    return found


def _body(module: ModuleType) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(module)).body
