"""Checks what concerns several fields of a manifest: names, references, paths, JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from aouo import __version__
from aouo.facts import schedule
from aouo.packs.format.manifest import Manifest, Schema
from aouo.packs.format.names import GROUPS, PLATFORMS, RESERVED_NAMES, TOOLS
from aouo.packs.format.problems import Add, Severity, did_you_mean
from aouo.packs.format.versions import accepts
from aouo.packs.format.watch_check import check_watches
from aouo.packs.format.yaml_text import FieldPath
from aouo.web.addresses import is_public, literal

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_UNHASHED = frozenset({"aouo.sig", "__pycache__"})
"""Beside hidden files, what `archive.content_hash` leaves out: nobody agrees to what is in it."""
_NAME_BYTES = 200
_HOSTS = "use example.com, *.example.com or *"
_HOST_MAX = 260  # a name of 253 and a port
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_COLUMN_TYPE = re.compile(
    r"(TEXT|INTEGER|REAL|BLOB|NUMERIC)( NOT NULL)?"
    r"( DEFAULT (NULL|[-+]?[0-9]+(\.[0-9]+)?|'([^']|'')*'))?",
    re.IGNORECASE,
)
# Source: unicode.org/reports/tr36, 2.6, bidirectional text spoofing.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HOST = re.compile(
    r"(\*|(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+"
    r"|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f.]*)(:[0-9]{1,5})?",
    re.ASCII | re.IGNORECASE,
)
_HOST_OF = re.compile(
    r"([a-z][a-z0-9+.-]*://)?([^/?#]*@)?(?P<host>[^/?#@]+)", re.ASCII | re.IGNORECASE
)
_JAVASCRIPT = frozenset({".ts", ".js", ".mjs", ".cjs", ".tsx", ".jsx"})


class Check:
    """All checks of one manifest; what loading forgives is reported as `softly`."""

    def __init__(self, add: Add, sure: Callable[..., bool], softly: Severity) -> None:
        """`sure` says whether all that was written at a path (its keys) could be taken."""
        self._add = add
        self._sure = sure
        self._softly: Severity = softly

    def all(self, manifest: Manifest) -> None:
        self._check_name(manifest.name)
        self._check_wording(manifest)
        self._check_versions(manifest)
        self._check_skills(manifest)
        self._check_tools(manifest)
        self._check_schema(manifest.schema)
        self._check_paths(manifest)

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            message = "1 to 32 of a-z, 0-9, _ and -, beginning with a letter"
            self._add(("name",), f"{name[:40]!r} is not a pack name: use {message}")
        elif "__" in name or name.endswith("_"):
            message = "a tool of it is called <pack>__<tool>: no __ in it, and no _ at its end"
            self._add(("name",), f"{name!r} is not a pack name; {message}")
        if name in RESERVED_NAMES:
            self._add(("name",), f'"{name}" is reserved for the runtime; choose another name')

    def _check_wording(self, manifest: Manifest) -> None:
        """What people read before they trust a pack must not look like something else."""
        for key in ("display_name", "description"):
            text: str = getattr(manifest, key)
            if odd := [letter for letter in text if _turns_text_around(letter)]:
                self._add((key,), f"holds the invisible sign U+{ord(odd[0]):04X}; take it out")

    def _check_versions(self, manifest: Manifest) -> None:
        """Which versions of us and of other packs it works with; the others' are the library's."""
        rules: dict[FieldPath, str] = {("requires_core",): manifest.requires_core}
        for index, needed in enumerate(manifest.depends_on):
            rules["depends_on", index, "version"] = needed.version
            if needed.name == manifest.name:
                self._add(("depends_on", index), "a pack cannot depend on itself")
        for path, rule in rules.items():
            try:
                accepted = not rule or accepts(rule, __version__)
            except ValueError as error:
                self._add(path, str(error))
                continue
            if path == ("requires_core",) and not accepted:
                self._add(path, f"the pack needs aouo {rule}, and this is {__version__}")

    def _check_skills(self, manifest: Manifest) -> None:
        skills = manifest.provided_skills
        for index, skill in enumerate(skills):
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", skill):
                self._add(("provided_skills", index), f"{skill[:40]!r} is not a folder name")
            elif skill.lower() in [name.lower() for name in skills[:index]]:
                self._add(("provided_skills", index), f'"{skill}" is listed twice')
        self._check_schedules(manifest)
        check_watches(manifest, self._add, self._sure, self._softly)

    def _check_schedules(self, manifest: Manifest) -> None:
        skills = manifest.provided_skills
        ids = [job.id for job in manifest.cron_defaults]
        for index, job in enumerate(manifest.cron_defaults):
            if job.id in ids[:index]:
                self._add(("cron_defaults", index, "id"), f'"{job.id}" is used twice')
            try:
                schedule.check(job.schedule)
            except schedule.NotASchedule as error:
                self._add(("cron_defaults", index, "schedule"), str(error), self._softly)
            own = job.skill.removeprefix(f"{manifest.name}:")
            if own not in skills and self._sure("provided_skills"):
                hint = did_you_mean(own, skills)
                message = f'"{job.skill}" is not in provided_skills{hint}'
                self._add(("cron_defaults", index, "skill"), message)
        allowed = manifest.permissions.cron or not self._sure("permissions", "cron")
        if manifest.cron_defaults and not allowed:
            message = "has schedules: set permissions.cron to true, or they stay off"
            self._add(("cron_defaults",), message, self._softly)

    def _check_tools(self, manifest: Manifest) -> None:
        own = {f"{manifest.name}__{tool.name}" for tool in manifest.custom_tools}
        own |= {f"{manifest.name}__{tool.name}" for tool in manifest.runtime.external_tools}
        known = TOOLS | GROUPS | own
        for index, name in enumerate(manifest.permissions.tools):
            if name not in known and not name.startswith(("mcp:", "mcp__")):
                hint = did_you_mean(name, known)
                message = f'no tool or group is named "{name}"{hint}'
                self._add(("permissions", "tools", index), message, "warning")
        for index, platform in enumerate(manifest.permissions.platforms):
            if platform not in PLATFORMS | {"telegram"}:
                message = f'no platform is called "{platform[:40]}": use tg or cli'
                self._add(("permissions", "platforms", index), message, self._softly)
        self._check_hosts(manifest.permissions.network)
        names: list[str] = []
        for key, tools in (
            (("custom_tools",), manifest.custom_tools),
            (("runtime", "external_tools"), manifest.runtime.external_tools),
        ):
            for index, tool in enumerate(tools):
                if tool.name.lower() in names:
                    self._add((*key, index, "name"), f'two tools are named "{tool.name}"')
                names.append(tool.name.lower())
        for index, tool in enumerate(manifest.custom_tools):
            self._check_tool_path(("custom_tools", index, "path"), tool.path)
        listed = self._sure("permissions", "external_commands")
        for index, external in enumerate(manifest.runtime.external_tools):
            if listed and external.name not in manifest.permissions.external_commands:
                message = f'add "{external.name}" to permissions.external_commands'
                self._add(("runtime", "external_tools", index, "name"), message, self._softly)

    def _check_hosts(self, hosts: tuple[str, ...]) -> None:
        """A card shows them as they are written, so each is written in the one plain form."""
        for index, host in enumerate(hosts):
            if len(host) > _HOST_MAX or not _HOST.fullmatch(host):
                found = _HOST_OF.match(host[:_HOST_MAX])
                meant = found["host"] if found and found["host"] != host else ""
                write = f'write "{meant}"' if _HOST.fullmatch(meant) else _HOSTS
                message = f"{host[:40]!r} is no host: {write}"
                self._add(("permissions", "network", index), message, self._softly)
            elif _is_nearby(host):
                message = f"{host[:40]!r} is no place on the internet, and a pack reaches no other"
                self._add(("permissions", "network", index), message, "warning")

    def _check_tool_path(self, path: FieldPath, text: str) -> None:
        tool = PurePosixPath(text)
        if is_javascript(text):
            python = tool.with_suffix(".py")
            message = f"JavaScript tools do not run here: port it to Python as {python}"
            self._add(path, f"{message} and name that file", self._softly)
        elif tool.suffix != ".py":
            self._add(path, "a tool is a Python file: tools/<name>.py")
        if not _is_inside(text) or tool.parts[:1] != ("tools",):
            self._add(path, "must be a relative path below tools/, without ..")
        elif any(part.startswith(".") or part in _UNHASHED for part in tool.parts):
            self._add(path, "is no part of a pack that is shared: give it another name")

    def _check_schema(self, schema: Schema) -> None:
        for key, tables in (
            ("owned_tables", schema.owned_tables),
            ("shared_tables", schema.shared_tables),
        ):
            for index, table in enumerate(tables):
                if not is_identifier(table):
                    self._add(("schema", key, index), f"{table[:40]!r} is not a table name")
        for table, columns in schema.extends_columns.items():
            here = ("schema", "extends_columns", table)
            if not is_identifier(table):
                self._add(here, f"{table[:40]!r} is not a table name")
            for column, kind in columns.items():
                if not is_identifier(column):
                    self._add((*here, column), f"{column[:40]!r} is not a column name")
                if not is_column_type(kind):
                    self._add(
                        (*here, column),
                        "use TEXT, INTEGER, REAL, BLOB or NUMERIC, then "
                        "NOT NULL and DEFAULT <number, 'text' or NULL> as you need them",
                    )

    def _check_paths(self, manifest: Manifest) -> None:
        paths = {
            ("schema", "file"): manifest.schema.file,
            ("fast_paths", "menu"): manifest.fast_paths.menu,
            ("fast_paths", "i18n"): manifest.fast_paths.i18n,
        }
        for path, text in paths.items():
            if text and not _is_inside(text):
                self._add(path, "must be a relative path inside the pack, without ..")
            elif any(part.startswith(".") or part in _UNHASHED for part in _parts(text)):
                self._add(path, "is no part of a pack that is shared: give it another name")


def _parts(text: str) -> tuple[str, ...]:
    return PurePosixPath(text).parts


def is_javascript(path: str) -> bool:
    """Whether a tool is written for the original's runtime."""
    return PurePosixPath(path).suffix in _JAVASCRIPT


def _turns_text_around(letter: str) -> bool:
    """Control signs, and those that change the direction of what follows."""
    return (ord(letter) < 32 and letter not in "\n\t") or letter in _DIRECTIONS


def is_identifier(text: str) -> bool:
    """Say whether `text` is a plain SQL name that is not one of ours."""
    return bool(_IDENTIFIER.fullmatch(text)) and not text.lower().startswith(("sqlite_", "_aouo"))


def is_column_type(text: str) -> bool:
    """Say whether a column with this after its name can be added."""
    return bool(_COLUMN_TYPE.fullmatch(text))


def _is_inside(text: str) -> bool:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or set(text) & set("\\\0"):
        return False
    return all(len(part.encode()) <= _NAME_BYTES for part in path.parts)


def _is_nearby(host: str) -> bool:
    """Whether a host, perhaps with its port, is a number that nothing on the internet has."""
    if host.startswith("["):
        bare = host.partition("]")[0] + "]"
    else:
        bare = host.partition(":")[0] if host.count(":") == 1 else host
    try:
        address = literal(bare)
    except ValueError:
        return True
    return address is not None and not is_public(address)
