"""The pack that tests start from, and the type of the fixture that writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

MANIFEST = """\
name: {name}
version: 1.0.0
display_name: Test
provided_skills: [hello]
schema: {{owned_tables: [items]}}
"""
SCHEMA = """\
CREATE TABLE IF NOT EXISTS items (
  id INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  session_id TEXT,
  name TEXT NOT NULL UNIQUE,
  count INTEGER NOT NULL DEFAULT 0
);
"""
SKILL = "---\nname: hello\ndescription: Says hello\ncommand: true\n---\nSay hello.\n"

MakePack: TypeAlias = Callable[..., Path]
