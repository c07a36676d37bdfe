#!/usr/bin/env python3
"""Compares what the reader of times makes of our phrases with what Duckling makes of them.

    scripts/times_oracle.py [language …]

Needs the package pyduckling-native-phihos, which has wheels for x86_64 only and is in no
requirements file: `pip install --target FOLDER` it, and set PYTHONPATH=FOLDER. It prints, for each
language, how many phrases are right, at another moment, and asked or refused; then each phrase on
which the two differ.
"""

from __future__ import annotations

import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
FORM = "%Y-%m-%d %H:%M"


def main(languages: list[str]) -> int:
    try:
        duckling: Any = import_module("duckling")
    except ImportError:
        print("Duckling is not installed: pip install pyduckling-native-phihos", file=sys.stderr)
        return 1
    duckling.init()
    zones = duckling.load_time_zones("/usr/share/zoneinfo")
    for file in sorted((ROOT / "tests/facts/times").glob("*.yml")):
        if not languages or file.stem in languages:
            _compare(file, duckling, zones)
    duckling.stop()
    return 0


def _compare(file: Path, duckling: Any, zones: Any) -> None:
    document = yaml.safe_load(file.read_text("utf-8"))
    zone = ZoneInfo(document["zone"])
    now = datetime.fromisoformat(str(document["now"])).replace(tzinfo=zone)
    locale = duckling.default_locale_lang(duckling.parse_lang(file.stem.upper()))
    clock = duckling.parse_ref_time(zones, document["zone"], int(now.timestamp()))
    context = duckling.Context(clock, locale)
    counts = {"ours": [0, 0, 0], "oracle": [0, 0, 0]}
    differing: list[str] = []
    groups: list[Any] = [group for group in document.values() if isinstance(group, dict)]
    cases: list[tuple[Any, Any]] = [case for group in groups for case in group.items()]
    for text, value in cases:
        right = str(value)
        if len(right) != len("2026-11-27 08:00") or not right.startswith("20"):
            continue
        answers = {
            "ours": _ours(str(text), now, zone, file.stem),
            "oracle": _oracle(str(text), right, context, zone, duckling),
        }
        for name, answer in answers.items():
            counts[name][0 if answer == right else 1 if answer else 2] += 1
        if answers["ours"] != answers["oracle"]:
            differing.append(f"  {text}: {right} · ours {answers['ours']} · {answers['oracle']}")
    for name, (right, other, asked) in counts.items():
        print(f"{file.stem} {name}: {right} right, {other} at another moment, {asked} asked")
    print("\n".join(differing))


def _ours(text: str, now: datetime, zone: ZoneInfo, language: str) -> str:
    from aouo.facts import times

    try:
        value = times.read(text, now, zone, language)
    except times.TimeRefused:
        return ""
    return value.astimezone(zone).strftime(FORM) if isinstance(value, datetime) else ""


def _oracle(text: str, right: str, context: Any, zone: ZoneInfo, duckling: Any) -> str:
    """Return the moment of the one time that covers the text, "" = there is none; a day, which has
    no time of its own there, at that which is right."""
    dimensions = duckling.parse_dimensions(["time"])
    for found in duckling.parse(text, context, dimensions, False):
        value = found["value"] if "value" in found["value"] else found["value"].get("from")
        if value and (found["start"], found["end"]) == (0, len(text)):
            at = datetime.fromisoformat(value["value"]).astimezone(zone).strftime(FORM)
            return at if value["grain"] in ("hour", "minute", "second") else at[:11] + right[11:]
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
