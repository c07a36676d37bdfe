"""Recognises packs written for the original, whose parts that we cannot use are forgiven."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from aouo.packs.format.manifest_check import is_javascript


def is_of_original(manifest: Mapping[str, object]) -> bool:
    """Whether a manifest says something that only the original reads, and nothing only we do."""
    return any(_theirs(manifest)) and not any(_ours(manifest))


def _theirs(manifest: Mapping[str, object]) -> Iterator[bool]:
    memory = _mapping(manifest, "memory")
    yield "js" in _mapping(manifest, "runtime")
    yield "web_search" in _mapping(manifest, "permissions")
    yield "user" in memory or any(isinstance(value, str) for value in memory.values())
    yield _mapping(manifest, "context").get("memory_policy") == "summary_plus_query"
    tools = manifest.get("custom_tools")
    for tool in cast("list[object]", tools) if isinstance(tools, list) else ():
        path = _mapping({"tool": tool}, "tool").get("path")
        yield isinstance(path, str) and is_javascript(path)


def _ours(manifest: Mapping[str, object]) -> Iterator[bool]:
    yield "budget" in manifest
    yield "watches" in manifest
    yield "scope" in _mapping(manifest, "schema")
    yield "max_bytes" in _mapping(manifest, "memory")


def _mapping(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
