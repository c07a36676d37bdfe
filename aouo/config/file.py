"""Reads and writes `config.json`; reports all problems at once, each with its path and advice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from aouo.config.keys import Tree, get, join, plain, put, unknown
from aouo.config.settings import BUILT_IN_BACKENDS, Settings
from aouo.facts.errors import SetupError
from aouo.plumbing.changes import Look, look_of
from aouo.plumbing.home import write_atomically

FILE = "config.json"
LAST_GOOD = "config.last-good.json"

# Keys of the original system that have no meaning here; they are ignored, so its files load.
_UNUSED = (
    "version",
    "azure",
    "cron.default_platform",
    "tts.rate",
    "advanced.log_level",
)
# The first variable that is set fills the key when the file leaves it empty.
_USUAL_NAMES = {
    "telegram.bot_token": ("TELEGRAM_BOT_TOKEN",),
    "openai.api_key": ("OPENAI_API_KEY",),
    "groq.api_key": ("GROQ_API_KEY",),
    "gemini.api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_PREFIX = "AOUO_"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTAINERS = ("{", "[")


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
    file = home / FILE
    look = look_of(file)
    try:
        text = read_text(file)
        loaded = parse(text, environ, file)
    except ConfigBroken as broken:
        try:
            good = home / LAST_GOOD
            before = parse(good.read_text("utf-8"), environ, good)
        except (ConfigBroken, OSError, UnicodeDecodeError):
            raise broken from None
        return replace(before, from_last_good=True, problems=broken.problems, look=look)
    if file.exists():
        remember(home, text)
    return replace(loaded, look=look)


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
    known = {str(one) for one in then.settings.refusals()}
    if news := tuple(str(one) for one in loaded.settings.refusals() if str(one) not in known):
        raise ConfigBroken(news, file)
    return text, replace(loaded, look=look)


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
    tree = cast("Tree", _expand(tree, environ, "", problems))
    overrides = _overlay(tree, environ, problems)
    for path, names in _USUAL_NAMES.items():
        value = next((environ[name] for name in names if environ.get(name)), "")
        if value and get(tree, path) in (None, ""):
            put(tree, path, value)
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
    return cast("Tree", tree)


def read_text(file: Path) -> str:
    """Return the file's text, "" when there is no file.

    Raises:
        ConfigBroken: it cannot be read.
    """
    try:
        return file.read_text("utf-8-sig")
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
    file = home / LAST_GOOD
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


def _expand(value: object, environ: Mapping[str, str], path: str, problems: list[str]) -> object:
    """Replace every `${NAME}` in `value` from the environment; an unset name is a problem."""

    def look_up(match: re.Match[str]) -> str:
        if match[1] not in environ:
            problems.append(f"{path}: the environment variable {match[1]} is not set")
        return environ.get(match[1], "")

    match value:
        case str():
            return _REFERENCE.sub(look_up, value) if "${" in value else value
        case list():
            items = enumerate(cast("list[object]", value))
            return [_expand(item, environ, join(path, n), problems) for n, item in items]
        case dict():
            fields = cast("Tree", value).items()
            return {
                name: _expand(item, environ, join(path, name), problems) for name, item in fields
            }
        case _:
            return value


def _overlay(tree: Tree, environ: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """Override the file's values by each `AOUO_SECTION__FIELD`; lists are JSON or `a,b`.

    Returns the variable of each overridden path.
    """
    defaults = plain(Settings())
    overrides: dict[str, str] = {}
    for variable in sorted(environ):
        section, nested, rest = variable.removeprefix(_PREFIX).partition("__")
        if not variable.startswith(_PREFIX) or not nested:
            continue
        path = ".".join((section, *rest.split("__"))).lower()
        value = environ[variable]
        overrides[path] = variable
        if value.lstrip().startswith(_CONTAINERS):
            try:
                put(tree, path, json.loads(value))
            except json.JSONDecodeError as error:
                problems.append(f"{path}: not JSON: {error.msg}")
            except RecursionError:
                problems.append(f"{path}: not JSON: nested too deep")
        elif isinstance(get(defaults, path), list):
            put(tree, path, [part.strip() for part in value.split(",") if part.strip()])
        else:
            put(tree, path, value)
    return overrides


def _with_source(problem: str, overrides: Mapping[str, str]) -> str:
    """Return the problem, with the environment variable that caused it, if one did."""
    path = problem.partition(":")[0]
    variable = next((overrides[key] for key in overrides if f"{path}.".startswith(f"{key}.")), "")
    return f"{problem} (set by {variable})" if variable else problem


def _backend_problems(tree: Tree) -> list[str]:
    """Return a problem for each backend that is not configured; checked here to name its path."""
    custom = tree.get("providers")
    names = [*BUILT_IN_BACKENDS, *(cast("Tree", custom) if isinstance(custom, dict) else ())]
    paths: dict[str, object] = {
        "provider.backend": get(tree, "provider.backend"),
        "security.judge.backend": get(tree, "security.judge.backend") or None,
    }
    fallback = get(tree, "provider.fallback")
    if isinstance(fallback, list):
        for number, entry in enumerate(cast("list[object]", fallback)):
            if isinstance(entry, dict):
                paths[f"provider.fallback.{number}.backend"] = cast("Tree", entry).get("backend")
    return [
        f"{path}: no such backend; choose one of {', '.join(names)} or add it under providers"
        for path, name in paths.items()
        if isinstance(name, str) and name not in names
    ]


def _describe(detail: ErrorDetails) -> Iterable[str]:
    """Yield one pydantic error in our words, without its input, which may be a secret."""
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        yield unknown(path)
    else:
        message = detail["msg"].removeprefix("Value error, ")
        yield f"{path}: {message[:1].lower()}{message[1:]}"
