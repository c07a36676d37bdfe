"""Reads a tool's docstring: the paragraph that the model reads, and its arguments."""

from __future__ import annotations

import re

_ARGS = re.compile(r"\s*(Args|Arguments|Parameters):\s*$")
_SECTION = re.compile(r"\s*(Returns|Raises|Yields|Examples?|Notes?):\s*$")
_ARG = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
MAX_DESCRIPTION_CHARS = 1000
READS = "Reads only."


def docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what it says of the arguments by name."""
    first = text.replace(READS, "").strip().partition("\n\n")[0]
    lines = [line for line in first.splitlines() if not _ARGS.match(line)]
    description = " ".join(" ".join(lines).split())[:MAX_DESCRIPTION_CHARS]
    return description, _arguments(text)


def _arguments(text: str) -> dict[str, str]:
    """The section `Args:`; a deeper line goes on with what stands above it."""
    found: dict[str, str] = {}
    inside, name, depth = False, "", 0
    for line in text.splitlines():
        if _ARGS.match(line):
            inside, name = True, ""
        elif inside and (_SECTION.match(line) or (line.strip() and not line.startswith(" "))):
            inside = False
        elif inside and line.strip():
            indent = len(line) - len(line.lstrip())
            if (match := _ARG.match(line.strip())) and (not name or indent <= depth):
                name, depth = match[1], indent
                found[name] = match[2].strip()
            elif name:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return {name: said[:300] for name, said in found.items() if said}
