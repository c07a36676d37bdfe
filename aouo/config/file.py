"""Reads and writes `config.json`; reports all problems at once, each with its path and advice."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from aouo.config.environment import overlay
from aouo.config.keys import Tree, expanded, get, overriding, put, unknown, usual, variable_of
from aouo.config.settings import BUILT_IN_BACKENDS, Settings
from aouo.facts.errors import SetupError
from aouo.plumbing.home import write_atomically
from aouo.plumbing.waiting import Look, look_of

FILE = "config.json"
_LAST_GOOD = "config.last-good.json"
_DEEPEST = 100
"""Levels of objects and lists within each other; no key needs more than six."""

# Keys of the original system, and of ours, that have no meaning any more; files with them load.
_UNUSED = (
    "version",
    "azure",
    "cron.default_platform",
    "tts.rate",
    "advanced.log_level",
    "store",
    "local",
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, and where they come from.

    `notes` are harmless (keys without use). With `from_last_good` the file has the `problems`,
    and the last good one is in force instead. `environ` is what it was read with, and `look` how
    the file looked before that.
    """

    settings: Settings
    notes: tuple[str, ...] = ()
    from_last_good: bool = False
    problems: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    look: Look = None


class ConfigBroken(SetupError):
    """`config.json` cannot be used; `problems` lists why, one line each."""

    def __init__(self, problems: tuple[str, ...], file: Path) -> None:
        one = len(problems) == 1
        head = f"{file.name} has {'a problem' if one else f'{len(problems)} problems'}: "
        super().__init__(head + "; ".join(problems) + ".", fix=f"Edit {file}.")
        self.problems = problems


def load_settings(home: Path, environ: Mapping[str, str]) -> Loaded:
    """Read `config.json` of `home`, or the last good copy when it is broken.

    A file that loads is copied to `config.last-good.json`; no file means the defaults.

    Raises:
        ConfigBroken: the file is broken, and there is no good copy.
    """
    text, loaded = _read(home, environ)
    if loaded.look and not loaded.from_last_good:
        remember(home, text)
    return loaded


def look_at(home: Path, environ: Mapping[str, str]) -> Loaded:
    """Read the configuration as a start would, and write nothing. Raises: ConfigBroken."""
    return _read(home, environ)[1]


def _read(home: Path, environ: Mapping[str, str]) -> tuple[str, Loaded]:
    """Return the text that the settings come from, and these."""
    file = home / FILE
    look = look_of(file)
    try:
        text = read_text(file)
        return text, replace(parse(text, environ, file), look=look)
    except ConfigBroken as broken:
        try:
            good = home / _LAST_GOOD
            text = good.read_text("utf-8")
            before = parse(text, environ, good)
        except (ConfigBroken, OSError, UnicodeDecodeError):
            raise broken from None
        return text, replace(before, from_last_good=True, problems=broken.problems, look=look)


def reread(home: Path, then: Loaded) -> tuple[str, Loaded]:
    """Read `config.json` of `home` for a bot that runs on `then`; return its text, too.

    Raises:
        ConfigBroken: it is gone, empty or broken, or no bot could start with it.
    """
    file = home / FILE
    look = look_of(file)
    text = read_text(file)
    if not text.strip() and then.look:
        raise ConfigBroken(("it is empty" if look else "it is gone",), file)
    loaded = parse(text, then.environ, file)
    check_start(then.settings, loaded.settings, file)
    return text, replace(loaded, look=look)


def check_start(then: Settings, now: Settings, file: Path = Path(FILE)) -> None:
    """Check that a bot which runs on `then` could start with `now`.

    Raises:
        ConfigBroken: it would be refused for another reason than before.
    """
    known = {str(one) for one in then.refusals()}
    if news := tuple(str(one) for one in now.refusals() if str(one) not in known):
        raise ConfigBroken(news, file)


def parse(text: str, environ: Mapping[str, str], file: Path = Path(FILE)) -> Loaded:
    """Build the settings from the file's `text` and the environment.

    Raises:
        ConfigBroken: lists all problems.
    """
    try:
        tree = parse_json(text)
    except ValueError as error:
        raise ConfigBroken((str(error),), file) from None
    problems: list[str] = []
    notes = _drop_unused(tree)
    tree = expanded(tree, environ, problems)
    problems += overlay(tree, environ)
    overrides = overriding(environ)
    for path, variable in usual(environ).items():
        if get(tree, path) in (None, ""):
            put(tree, path, environ[variable])
    notes += _without_local(tree)
    problems += _backend_problems(tree)
    try:
        settings = Settings(**tree)
    except ValidationError as error:
        problems += [
            line for detail in error.errors(include_url=False) for line in _describe(detail)
        ]
    else:
        if not problems:
            return Loaded(settings, notes, environ=environ)
    problems = [_with_source(problem, overrides) for problem in problems]
    raise ConfigBroken(tuple(dict.fromkeys(problems)), file)


def _without_local(tree: Tree) -> tuple[str, ...]:
    """Read the backend `local`, the embedded model of earlier times, as `none`."""
    if get(tree, "providers.local") is not None:
        return ()
    found: list[str] = []
    if get(tree, "provider.backend") == "local":
        put(tree, "provider.backend", "none")
        found.append("provider.backend: there is no embedded model any more; it reads as none")
    listed = get(tree, "provider.fallback")
    if isinstance(listed, list) and {"backend": "local"} in listed:
        kept = [one for one in cast("list[object]", listed) if one != {"backend": "local"}]
        put(tree, "provider.fallback", kept)
        found.append("provider.fallback: local is left out, there is no embedded model any more")
    return tuple(found)


def parse_json(text: str) -> Tree:
    """Parse one JSON object; "" counts as an empty one.

    Raises:
        ValueError: names line and column, or the duplicate key; quotes no value.
    """
    if not text.strip():
        return {}
    try:
        tree = json.loads(text, object_pairs_hook=_no_key_twice)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {error.lineno} column {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise ValueError("line 1 column 1: nested too deep") from None
    if not isinstance(tree, dict):
        raise ValueError("line 1 column 1: not a JSON object")
    if _is_too_deep(cast("Tree", tree)):
        raise ValueError("line 1 column 1: nested too deep")
    return cast("Tree", tree)


def _is_too_deep(tree: Tree) -> bool:
    """Whether values lie so deep that what walks through them would not come back."""
    level: list[object] = [tree]
    for _ in range(_DEEPEST):
        level = [each for one in level for each in _within(one)]
        if not level:
            return False
    return True


def _within(value: object) -> Iterable[object]:
    match value:
        case dict():
            return cast("Tree", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def read_text(file: Path) -> str:
    """Return the file's text, "" when there is no file.

    Raises:
        ConfigBroken: it cannot be read.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8-sig") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe would never end
                raise ConfigBroken(("it is no file",), file)
            return opened.read()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ConfigBroken(("it is not UTF-8 text",), file) from None
    except OSError as error:
        raise ConfigBroken((f"it cannot be read: {error.strerror}",), file) from None


def save(home: Path, tree: Tree, environ: Mapping[str, str]) -> Loaded:
    """Validate `tree`, then replace `config.json` by it in one step.

    Raises:
        ConfigBroken: `tree` has problems; the file is unchanged.
    """
    text = dump(tree)
    loaded = parse(text, environ, home / FILE)
    write_atomically(home / FILE, text)
    return loaded


def dump(tree: Tree) -> str:
    """Return the JSON text of a configuration file."""
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def remember(home: Path, text: str) -> None:
    """Keep the text as the last good copy; a home that cannot be written is ignored."""
    file = home / _LAST_GOOD
    try:
        if not file.exists() or file.read_text("utf-8") != text:
            write_atomically(file, text)
    except (OSError, UnicodeDecodeError):
        return


def _no_key_twice(pairs: list[tuple[str, object]]) -> Tree:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice in the same object")
    return tree


def _drop_unused(tree: Tree) -> tuple[str, ...]:
    dropped: list[str] = []
    for path in _UNUSED:
        section, _, name = path.rpartition(".")
        parent = get(tree, section) if section else tree
        if isinstance(parent, dict) and name in parent:
            del parent[name]
            dropped.append(path)
    return (f"keys without use here: {', '.join(dropped)}",) if dropped else ()


def _with_source(problem: str, overrides: Mapping[str, str]) -> str:
    """Return the problem, with the environment variable that caused it, if one did."""
    variable = variable_of(problem.partition(":")[0], overrides)
    return f"{problem} (set by {variable})" if variable else problem


def _backend_problems(tree: Tree) -> list[str]:
    """Return a problem for each backend that is not configured; checked here to name its path."""
    custom = tree.get("providers")
    names = [*BUILT_IN_BACKENDS, *(cast("Tree", custom) if isinstance(custom, dict) else ())]
    paths: dict[str, object] = {
        "provider.backend": get(tree, "provider.backend"),
        "security.judge.backend": get(tree, "security.judge.backend") or None,
        "models.small.backend": get(tree, "models.small.backend") or None,
    }
    fallback = get(tree, "provider.fallback")
    if isinstance(fallback, list):
        for number, entry in enumerate(cast("list[object]", fallback)):
            if isinstance(entry, dict):
                paths[f"provider.fallback.{number}.backend"] = cast("Tree", entry).get("backend")
    return [
        f"{path}: no such backend; choose one of {', '.join(names)} or add it under providers"
        for path, name in paths.items()
        if isinstance(name, str | int | float) and str(name) not in names
    ]


def _describe(detail: ErrorDetails) -> Iterable[str]:
    """Yield one pydantic error in our words, without its input, which may be a secret."""
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        yield unknown(path)
    else:
        message = detail["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        yield f"{path}: {message[:1].lower()}{message[1:]}"
