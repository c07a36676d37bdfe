"""Checks what concerns several fields of a manifest: names, references, paths, watches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from aouo import __version__
from aouo.facts import schedule
from aouo.facts.errors import ToolFailed
from aouo.facts.quiet_hours import span_s
from aouo.packs.format import problems
from aouo.packs.format.manifest import Manifest, Schema, Watch
from aouo.packs.format.texts import FieldPath
from aouo.plumbing.web.addresses import Permits, is_public, literal, target

_LEAST_S, _MOST_S = 60, 366 * 86_400


def _check_watches(
    manifest: Manifest, sure: Callable[..., bool], softly: problems.Severity
) -> Iterator[problems.Finding]:
    """Yield what is wrong with each watch; a missing permission keeps them off, told `softly`."""
    if not manifest.watches:
        return
    if not manifest.permissions.cron and sure("permissions", "cron"):
        message = "has watches, which begin by themselves: set permissions.cron to true, or they "
        yield (("watches",), f"{message}stay off", softly)
    ids = [watch.id for watch in manifest.watches]
    for index, watch in enumerate(manifest.watches):
        here = ("watches", index)
        if watch.id in ids[:index]:
            yield ((*here, "id"), f'"{watch.id}" is used twice')
        if why := _unreadable(watch.every):
            yield ((*here, "every"), why)
        sources = [name for name in ("sql", "file", "url") if getattr(watch, name).strip()]
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            yield (here, f"looks at one thing: give one of sql, file and url, not {found}")
        elif why := _closed(manifest, watch, sure):
            yield ((*here, sources[0]), why)
        own = watch.skill.removeprefix(f"{manifest.name}:")
        if not own and not watch.prompt.strip():
            yield (here, "says nothing to do: give a skill, a prompt, or both")
        elif own and own not in manifest.provided_skills and sure("provided_skills"):
            hint = problems.did_you_mean(own, manifest.provided_skills)
            yield ((*here, "skill"), f'"{watch.skill}" is not in provided_skills{hint}')


def _unreadable(every: str) -> str:
    """Return why this says not how often, "" = it does."""
    try:
        seconds = span_s(every)
    except ValueError as error:
        return str(error)
    return "" if _LEAST_S <= seconds <= _MOST_S else "give between 1m and 366d"


def _closed(manifest: Manifest, watch: Watch, sure: Callable[..., bool]) -> str:
    """Return why the pack may not look there, as far as its manifest says; "" = it may."""
    if watch.url and sure("permissions", "network"):
        try:
            target(watch.url, Permits(manifest.name, manifest.permissions.network))
        except ToolFailed as error:
            return str(error)
    if watch.file:
        if not watch.file.startswith(("/", "~/")):
            return "give a whole path, which begins with / or ~/"
        if sure("permissions", "files") and not _listed(watch.file, manifest.permissions.files):
            return "is not among permissions.files: name it there"
    return ""


def _listed(path: str, listed: Sequence[str]) -> bool:
    """Whether a list opens a path as far as their words say: what a pattern covers is seen when
    it is looked at, with links followed."""
    for text in (text.strip() for text in listed):
        if text[:1] != path[:1]:  # only one of them says ~
            return True
        parts = PurePosixPath(text).parts
        plain = itertools.takewhile(lambda part: not set(part) & set("*?["), parts)
        if PurePosixPath(path).is_relative_to(PurePosixPath(*plain)):
            return True
    return False


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


def check(
    manifest: Manifest, sure: Callable[..., bool], softly: problems.Severity
) -> Iterator[problems.Finding]:
    """Yield all that is wrong with a manifest; what loading forgives is reported as `softly`.

    `sure` says whether all that was written at a path (its keys) could be taken.
    """
    yield from _check_name(manifest.name)
    yield from _check_wording(manifest)
    yield from _check_versions(manifest)
    yield from _check_skills(manifest.provided_skills)
    yield from _check_schedules(manifest, sure, softly)
    yield from _check_watches(manifest, sure, softly)
    yield from _check_tools(manifest, sure, softly)
    yield from _check_schema(manifest.schema)
    yield from _check_paths(manifest)


def _check_name(name: str) -> Iterator[problems.Finding]:
    if not _NAME.fullmatch(name):
        message = "1 to 32 of a-z, 0-9, _ and -, beginning with a letter"
        yield (("name",), f"{name[:40]!r} is not a pack name: use {message}")
    elif "__" in name or name.endswith("_"):
        message = "a tool of it is called <pack>__<tool>: no __ in it, and no _ at its end"
        yield (("name",), f"{name!r} is not a pack name; {message}")
    if name in problems.RESERVED_NAMES:
        yield (("name",), f'"{name}" is reserved for the runtime; choose another name')


def _check_wording(manifest: Manifest) -> Iterator[problems.Finding]:
    """What people read before they trust a pack must not look like something else."""
    for key in ("display_name", "description"):
        text: str = getattr(manifest, key)
        if odd := [letter for letter in text if _turns_text_around(letter)]:
            yield ((key,), f"holds the invisible sign U+{ord(odd[0]):04X}; take it out")


def _check_versions(manifest: Manifest) -> Iterator[problems.Finding]:
    """Which versions of us and of other packs it works with; the others' are the library's."""
    rules: dict[FieldPath, str] = {("requires_core",): manifest.requires_core}
    for index, needed in enumerate(manifest.depends_on):
        rules["depends_on", index, "version"] = needed.version
        if needed.name == manifest.name:
            yield (("depends_on", index), "a pack cannot depend on itself")
    for path, rule in rules.items():
        try:
            accepted = not rule or problems.accepts(rule, __version__)
        except ValueError as error:
            yield (path, str(error))
            continue
        if path == ("requires_core",) and not accepted:
            yield (path, f"the pack needs aouo {rule}, and this is {__version__}")


def _check_skills(skills: tuple[str, ...]) -> Iterator[problems.Finding]:
    for index, skill in enumerate(skills):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", skill):
            yield (("provided_skills", index), f"{skill[:40]!r} is not a folder name")
        elif skill.lower() in [name.lower() for name in skills[:index]]:
            yield (("provided_skills", index), f'"{skill}" is listed twice')


def _check_schedules(
    manifest: Manifest, sure: Callable[..., bool], softly: problems.Severity
) -> Iterator[problems.Finding]:
    skills = manifest.provided_skills
    ids = [job.id for job in manifest.cron_defaults]
    for index, job in enumerate(manifest.cron_defaults):
        if job.id in ids[:index]:
            yield (("cron_defaults", index, "id"), f'"{job.id}" is used twice')
        try:
            schedule.check(job.schedule)
        except schedule.NotASchedule as error:
            yield (("cron_defaults", index, "schedule"), str(error), softly)
        if sum(map(bool, (job.skill, job.say, job.do))) != 1:
            yield (("cron_defaults", index), "needs one of skill, say and do")
            continue
        own = job.skill.removeprefix(f"{manifest.name}:")
        if own and own not in skills and sure("provided_skills"):
            hint = problems.did_you_mean(own, skills)
            message = f'"{job.skill}" is not in provided_skills{hint}'
            yield (("cron_defaults", index, "skill"), message)
    allowed = manifest.permissions.cron or not sure("permissions", "cron")
    if manifest.cron_defaults and not allowed:
        message = "has schedules: set permissions.cron to true, or they stay off"
        yield (("cron_defaults",), message, softly)


def _check_tools(
    manifest: Manifest, sure: Callable[..., bool], softly: problems.Severity
) -> Iterator[problems.Finding]:
    own = {f"{manifest.name}__{tool.name}" for tool in manifest.custom_tools}
    own |= {f"{manifest.name}__{tool.name}" for tool in manifest.runtime.external_tools}
    known = problems.TOOLS | problems.GROUPS | own
    for index, name in enumerate(manifest.permissions.tools):
        if name not in known and not name.startswith(("mcp:", "mcp__")):
            hint = problems.did_you_mean(name, known)
            message = f'no tool or group is named "{name}"{hint}'
            yield (("permissions", "tools", index), message, "warning")
    for index, platform in enumerate(manifest.permissions.platforms):
        if platform not in problems.PLATFORMS | {"telegram"}:
            message = f'no platform is called "{platform[:40]}": use tg or cli'
            yield (("permissions", "platforms", index), message, softly)
    yield from _check_hosts(manifest.permissions.network, softly)
    network = manifest.permissions.network
    for name, secret in manifest.secrets.items():
        for host in () if "*" in network else secret.hosts:
            if host not in network:
                message = f'"{host[:60]}" is not among permissions.network: name it there'
                yield (("secrets", name, "hosts"), message, softly)
    names: list[str] = []
    for key, tools in (
        (("custom_tools",), manifest.custom_tools),
        (("runtime", "external_tools"), manifest.runtime.external_tools),
    ):
        for index, tool in enumerate(tools):
            if tool.name.lower() in names:
                yield ((*key, index, "name"), f'two tools are named "{tool.name}"')
            names.append(tool.name.lower())
    for index, tool in enumerate(manifest.custom_tools):
        yield from _check_tool_path(("custom_tools", index, "path"), tool.path, softly)
    listed = sure("permissions", "external_commands")
    for index, external in enumerate(manifest.runtime.external_tools):
        if listed and external.name not in manifest.permissions.external_commands:
            message = f'add "{external.name}" to permissions.external_commands'
            yield (("runtime", "external_tools", index, "name"), message, softly)


def _check_hosts(hosts: tuple[str, ...], softly: problems.Severity) -> Iterator[problems.Finding]:
    """A card shows them as they are written, so each is written in the one plain form."""
    for index, host in enumerate(hosts):
        if len(host) > _HOST_MAX or not _HOST.fullmatch(host):
            found = _HOST_OF.match(host[:_HOST_MAX])
            meant = found["host"] if found and found["host"] != host else ""
            write = f'write "{meant}"' if _HOST.fullmatch(meant) else _HOSTS
            message = f"{host[:40]!r} is no host: {write}"
            yield (("permissions", "network", index), message, softly)
        elif _is_nearby(host):
            message = f"{host[:40]!r} is no place on the internet, and a pack reaches no other"
            yield (("permissions", "network", index), message, "warning")


def _check_tool_path(
    path: FieldPath, text: str, softly: problems.Severity
) -> Iterator[problems.Finding]:
    tool = PurePosixPath(text)
    if is_javascript(text):
        python = tool.with_suffix(".py")
        message = f"JavaScript tools do not run here: port it to Python as {python}"
        yield (path, f"{message} and name that file", softly)
    elif tool.suffix != ".py":
        yield (path, "a tool is a Python file: tools/<name>.py")
    if not _is_inside(text) or tool.parts[:1] != ("tools",):
        yield (path, "must be a relative path below tools/, without ..")
    elif any(part.startswith(".") or part in _UNHASHED for part in tool.parts):
        yield (path, "is no part of a pack that is shared: give it another name")


def _check_schema(schema: Schema) -> Iterator[problems.Finding]:
    for key, tables in (
        ("owned_tables", schema.owned_tables),
        ("shared_tables", schema.shared_tables),
    ):
        for index, table in enumerate(tables):
            if not is_identifier(table):
                yield (("schema", key, index), f"{table[:40]!r} is not a table name")
    for table, columns in schema.extends_columns.items():
        here = ("schema", "extends_columns", table)
        if not is_identifier(table):
            yield (here, f"{table[:40]!r} is not a table name")
        for column, kind in columns.items():
            if not is_identifier(column):
                yield ((*here, column), f"{column[:40]!r} is not a column name")
            if not is_column_type(kind):
                yield (
                    (*here, column),
                    "use TEXT, INTEGER, REAL, BLOB or NUMERIC, then "
                    "NOT NULL and DEFAULT <number, 'text' or NULL> as you need them",
                )


def _check_paths(manifest: Manifest) -> Iterator[problems.Finding]:
    paths = {
        ("schema", "file"): manifest.schema.file,
        ("fast_paths", "menu"): manifest.fast_paths.menu,
        ("fast_paths", "i18n"): manifest.fast_paths.i18n,
    }
    for path, text in paths.items():
        if text and not _is_inside(text):
            yield (path, "must be a relative path inside the pack, without ..")
        elif any(part.startswith(".") or part in _UNHASHED for part in _parts(text)):
            yield (path, "is no part of a pack that is shared: give it another name")


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
