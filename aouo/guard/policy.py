"""Tier 0: the owner's policy, rules in YAML that deny, ask or allow, in this order; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from aouo.facts.errors import SetupError
from aouo.facts.events import Origin
from aouo.facts.records import Sink
from aouo.guard.prepared import PreparedCall
from aouo.guard.targets import addresses, as_link, flat, normal, values_of
from aouo.memory.files import NAMES

PRESETS = ("strict", "default", "permissive")
Decision: TypeAlias = Literal["deny", "verify", "allow"]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str | int) else value


_Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]
_PLACES = ("path", "host", "target")


class Rule(BaseModel):
    """One rule: it fits a call that fits all that it names; of a list one entry is enough. Texts
    are patterns with `*` and `?`, large letters count only in a path."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)
    name: str = ""
    tool: _Texts = ()
    sink: Annotated[tuple[Sink, ...], BeforeValidator(_listed)] = ()
    path: _Texts = ()
    host: _Texts = ()
    target: _Texts = ()
    pack: _Texts = ()
    person: _Texts = ()
    origin: Annotated[tuple[Origin, ...], BeforeValidator(_listed)] = ()
    label: _Texts = ()
    tier: Literal[2, 3] = 3
    """Who decides on `verify`: a judge, if there is one, or always the owner."""

    def fits(self, action: PreparedCall, *, whole: bool = False, wide: bool = False) -> bool:
        """Whether the rule is about a call; `whole`: about each place that it leads to; `wide`:
        also by what people call them, and by the hosts below one."""
        person = action.facts.person
        one: dict[str, tuple[str, ...]] = {
            "tool": (action.tool, *(action.tool.split("__", 2)[2:] if wide else ())),
            "sink": (action.sink,),
            "pack": (action.facts.pack,),
            "person": (person.id, person.name) if wide else (person.id,),
            "origin": (action.facts.origin,),
        }
        if any(
            wanted and not _any(wanted, values)
            for key, values in one.items()
            if (wanted := getattr(self, key))
        ):
            return False
        if self.label and not _any(self.label, action.labels):
            return False
        named = {key: wanted for key in _PLACES if (wanted := getattr(self, key))}
        covered = {
            key: {
                place
                for place in _places(action, key)
                if _any(_widened(key, wanted, wide), (place,))
            }
            for key, wanted in named.items()
        }
        if not whole:
            return all(covered.values())
        known = set[str]().union(*covered.values())
        places = [*_places(action, "path"), *_places(action, "target")]
        return bool(places) and all(one in known or _host(one) in known for one in places)

    def covers(self, other: Rule) -> bool:
        """Whether each call that `other` fits is one that this fits as well."""
        return all(
            not (wide := getattr(self, key))
            or (bool(narrow := getattr(other, key)) and all(_any(wide, (one,)) for one in narrow))
            for key in ("tool", "sink", *_PLACES, "pack", "person", "origin", "label")
        )


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid")
    preset: Literal["", "strict", "default", "permissive"] = ""
    deny: tuple[Rule, ...] = ()
    verify: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of each list, in order."""

    deny: tuple[Rule, ...] = ()
    verify: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    def decides(self, action: PreparedCall) -> tuple[Decision, Rule] | None:
        """Return the first rule that fits, None = none does."""
        for decision, rules in self._lists():
            for rule in rules:
                if rule.fits(action, wide=decision != "allow"):
                    return decision, rule
        return None

    def names(self, action: PreparedCall) -> Rule | None:
        """Return a rule that allows exactly where this call leads: each place of it."""
        named = (rule for rule in self.allow if any(getattr(rule, key) for key in _PLACES))
        return next((rule for rule in named if rule.fits(action, whole=True)), None)

    def hosts_of(self, tool: str) -> tuple[str, ...]:
        """Return the hosts that rules open to a tool which they name."""
        named = (rule for rule in self.allow if tool in rule.tool)
        return tuple(dict.fromkeys(host for rule in named for host in rule.host))

    def unreachable(self, known: Mapping[str, Collection[str]] | None = None) -> list[str]:
        """Say which rules never decide: one before each does, or none of the `known` names, by a
        rule's key, is what it names."""
        seen: list[tuple[str, Rule]] = []
        found: list[str] = []
        for decision, rules in self._lists():
            for number, rule in enumerate(rules, 1):
                where = f"{decision} {number} ({rule.name or 'no name'})"
                earlier = next((there for there, one in seen if one.covers(rule)), "")
                if earlier:
                    found.append(f"{where} never decides: {earlier} comes before it")
                seen.append((where, rule))
                for key, names in (known or {}).items():
                    nowhere = (text for text in getattr(rule, key) if not _any((text,), names))
                    found += (f"{where} names {key} {text}, which is not here" for text in nowhere)
        return found

    def _lists(self) -> Iterator[tuple[Decision, tuple[Rule, ...]]]:
        yield "deny", self.deny
        yield "verify", self.verify
        yield "allow", self.allow


def policy_of(wish: str, home: Path) -> Policy:
    """Return the policy that `security.policy` names: a preset, or a YAML file below the home.

    Raises:
        SetupError: it cannot be read; names the file, the place and what to write.
    """
    if wish in PRESETS:
        return _preset(wish)
    file = home / Path(wish).expanduser()
    try:
        return _read(file.read_text(encoding="utf-8"), wish)
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            f"security.policy: {wish} cannot be read: {error}.",
            fix=f"Name {', '.join(PRESETS)}, or a file in the home.",
        ) from error


@cache
def _preset(name: str) -> Policy:
    file = resources.files("aouo.guard") / "policies" / f"{name}.yml"
    return _read(file.read_text(encoding="utf-8"), name)


def _read(text: str, name: str) -> Policy:
    try:
        written = _Written.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise SetupError(f"The policy {name} is no YAML: {error}", fix="Correct it.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        keys = ", ".join(Rule.model_fields)
        raise SetupError(
            f"The policy {name}, {where}: {first['msg']}.", fix=f"A rule may have: {keys}."
        ) from error
    below = _preset(written.preset) if written.preset else Policy()
    return Policy(
        (*written.deny, *below.deny),
        (*written.verify, *below.verify),
        (*written.allow, *below.allow),
    )


def _any(patterns: Iterable[str], values: Collection[str]) -> bool:
    return any(
        fnmatchcase(value, pattern) or fnmatchcase(value.lower(), pattern.lower())
        for pattern in patterns
        for value in values
    )


def _widened(key: str, patterns: tuple[str, ...], wide: bool) -> tuple[str, ...]:
    """Return patterns that also mean the hosts below a host, at any port, and handles of a name."""
    if key == "host":
        hosts = [re.sub(r"\.?(?::\d+)?$", "", one) for one in patterns]
        return (*hosts, *(f"*.{one}" for one in hosts)) if wide else patterns
    if key == "target" and wide:
        return (*patterns, *(f"@{one}" for one in patterns))
    return patterns


def _places(action: PreparedCall, key: str) -> list[str]:
    """Return the paths, hosts or other targets that a call leads to."""
    if key == "path":
        of_memory = str(action.payload.get("target")) if action.tool == "memory" else ""
        files = [NAMES[of_memory]] if of_memory in NAMES else []
        return [*files, *(str(touched.path) for touched in action.paths)]
    if key == "target":
        values = values_of(action.targets)
        return [normal(one) for one in (*(v.shown for v in values.places.values()), *action.visits)]
    found = (*action.visits, *addresses(flat(action.payload)))
    return list(dict.fromkeys(host for one in found if (host := _host(one))))


def _host(address: str) -> str:
    if "@" in address and "://" not in address:
        return address.rpartition("@")[2].rstrip(".")
    if not as_link(address):
        return ""
    address = address.replace("\\", "/")
    host = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    return host.rstrip(".")
