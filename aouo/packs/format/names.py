"""Lists the names that a pack may use: the runtime's own, its tools and groups, its platforms."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RESERVED_NAMES = frozenset(
    {"aouo", "state", "default", "core", "main", "store", "global", "mcp", "packs", "data", "temp"}
    | {"con", "prn", "aux", "nul"}  # no file can have these names on some machines
)
GROUP_TOOLS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "core": frozenset({"msg", "memory", "skill_view", "clarify", "persist", "db"}),
        "files": frozenset({"read_file", "write_file", "list_dir"}),
        "web": frozenset({"fetch", "web_search"}),
        "documents": frozenset({"read_document"}),
        "voice": frozenset({"tts"}),
        "schedule": frozenset({"cron"}),
        "sessions": frozenset({"sessions"}),
        "pack": frozenset(),
    }
)
"""What a group of `permissions.tools` stands for; `pack` is the pack's own."""
GROUPS = frozenset(GROUP_TOOLS)
PLATFORMS = frozenset({"tg", "cli", "web"})
TOOLS = frozenset(
    {"msg", "skill_view", "memory", "clarify", "persist", "db", "read_file", "write_file"}
    | {"list_dir", "fetch", "web_search", "read_document", "tts", "cron", "sessions", "shell"}
    | {"load_tools", "load_skills"}
)
DEFAULT_TOOLS = ("msg", "memory", "skill_view", "clarify", "persist", "db", "cron", "pack")
"""What a manifest without `permissions.tools` may use; `pack` is its own tools."""
