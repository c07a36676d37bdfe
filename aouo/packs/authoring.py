"""Helps an author: makes a pack to begin from, finds what is wrong with one, types its keys."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter

from aouo.facts import schedule
from aouo.facts.errors import PackError
from aouo.packs.actions import declared
from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import acted, selected
from aouo.packs.evals import cases as evals
from aouo.packs.format import fast_paths, manifest, menu
from aouo.packs.format import manifest as manifests
from aouo.packs.format.fast_paths import missing, unused
from aouo.packs.format.folder import list_inside, read_inside
from aouo.packs.format.manifest_text import parse
from aouo.packs.format.menu import Page
from aouo.packs.format.problems import GROUPS, RESERVED_NAMES, TOOLS, Problem, did_you_mean, errors
from aouo.packs.format.skills import skills_below
from aouo.packs.format.texts import field_name, nearest_line, read_json, read_mapping
from aouo.packs.load import LoadedPack, Pack, load_pack
from aouo.plumbing.trees import discard

TEMPLATES_FOLDER = Path(__file__).parent / "templates"
TEMPLATES = ("list", "tracker", "cards", "feed")
"""What a new pack may begin from."""


def make(name: str, parent: Path, template: str = "list") -> tuple[Path, list[str]]:
    """Make the folder `<parent>/<name>` with a pack that validates strictly; return it, and its
    files by their path in it. `template` is one of `TEMPLATES`.

    Raises:
        PackError: the name cannot be a pack's, or the folder is there or cannot be written.
    """
    texts = _texts(name, template)
    if found := errors(parse(texts["pack.yml"], strict=True).problems):
        raise PackError(f"{found[0].message}.", fix="Choose another name.")
    folder = parent / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise PackError(f"{folder} is there already.", fix="Choose another name.") from error
    except OSError as error:
        raise PackError(f"{folder} cannot be made: {error.strerror or error}.") from error
    try:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
    except BaseException:
        discard(folder)
        raise
    return folder, list(texts)


def _texts(name: str, template: str) -> dict[str, str]:
    title = " ".join(word for word in name.replace("_", "-").split("-") if word).capitalize()
    texts: dict[str, str] = {}
    for path in list_inside(TEMPLATES_FOLDER / template):
        text = (TEMPLATES_FOLDER / template / path).read_text("utf-8")
        own = (name, title) if path.endswith(".md") else (_plain(name), _plain(title))
        texts[path] = text.replace("{{name}}", own[0]).replace("{{title}}", own[1])
    return texts


def _plain(text: str) -> str:
    """A word in YAML: bare where it is one, else quoted, so that the check can name it."""
    return text if re.fullmatch(r"[A-Za-z][A-Za-z0-9 _-]*", text) else json.dumps(text)


_LAST_ZONE = timezone(-timedelta(hours=12))  # where a moment comes last


def validate(folder: Path, *, now: datetime | None = None) -> tuple[Problem, ...]:
    """Return every problem of the pack in `folder`; what loading forgives is an error here.

    `now` (aware) is for finding what lies in the past; None = that is not looked for.
    The schema runs in a throw-away database; nothing is written anywhere.
    """
    loaded = load_pack(folder, strict=True)
    found = list(loaded.problems)
    found += evals.load(folder)[1]
    found += _unused_skills(loaded)
    found += _past(loaded, now) if now else ()
    if loaded.draft is not None:
        found += _translations(loaded.draft)
        schema = loaded.draft.manifest.schema.file
        if not any(each.file == schema and not each.line for each in errors(found)):
            found += _listings(loaded.draft)
            found += _acting(loaded.draft)
            found += _watched(loaded)
    files = list(dict.fromkeys(problem.file for problem in found))
    return tuple(sorted(found, key=lambda problem: (files.index(problem.file), problem.line)))


def _unused_skills(loaded: LoadedPack) -> list[Problem]:
    """Name the folders below skills/ that provided_skills forgets."""
    pack = loaded.draft
    if pack is None or not loaded.parsed.sure("provided_skills"):
        return []
    line = loaded.parsed.line_of(("provided_skills",))
    message = '"{}" lies below skills/ and is not listed, so nobody can use it'
    return [
        Problem(manifests.FILE, line, "provided_skills", message.format(name), "warning")
        for name in skills_below(pack.folder)
        if name not in pack.manifest.provided_skills
    ]


def _past(loaded: LoadedPack, now: datetime) -> Iterator[Problem]:
    """Name the moments of cron_defaults that are over, wherever the owner is."""
    jobs = loaded.draft.manifest.cron_defaults if loaded.draft else ()
    for index, job in enumerate(jobs):
        with suppress(schedule.NotASchedule):
            match schedule.parse(job.schedule, now, _LAST_ZONE):
                case schedule.Once(at) if at < now:
                    field = f"cron_defaults[{index}].schedule"
                    message = f'"{job.schedule}" is in the past: it never comes'
                    found = Problem(manifests.FILE, 0, field, message, "warning")
                    yield from filter(None, [loaded.parsed.placed(found)])
                case _:
                    pass


def _listings(pack: Pack) -> list[Problem]:
    """Try the queries of the menu's pages, and find the columns that their rows show."""
    found: list[Problem] = []
    for page in pack.menu:
        if not page.sql:
            continue
        try:
            made = selected(pack.schema_sql, pack.manifest.schema.extends_columns, page.sql)
        except SchemaRefused as refused:
            found.append(_of_page(pack, page, "sql", refused.problem))
            continue
        for name in page.columns:
            if made is not None and name not in made:
                hint = did_you_mean(name, made)
                found.append(_of_page(pack, page, "row", f'sql has no column "{name}"{hint}'))
    return found


def _of_page(pack: Pack, page: Page, key: str, message: str) -> Problem:
    """What is wrong with a page that was read, where its author has it."""
    file = PurePosixPath(pack.manifest.fast_paths.menu or menu.FILE).as_posix()
    value, lines = read_json(read_inside(pack.folder, file))
    pages = value if isinstance(value, list) else []
    ids = [each.get("id") if isinstance(each, dict) else None for each in pages]
    path = (ids.index(page.id), key)
    line, field = nearest_line(lines, path), field_name(path)
    return Problem(file, line, field, f'the page "{page.id}": {message}')


def _acting(pack: Pack) -> Iterator[Problem]:
    """Try the statements of actions, and find what their texts name."""
    for index, job in enumerate(pack.manifest.cron_defaults):
        if job.do and job.do not in pack.declared.actions:
            near = did_you_mean(job.do, pack.declared.actions)
            message = f'there is no action "{job.do}"{near}'
            yield Problem(manifests.FILE, 0, f"cron_defaults[{index}].do", message)
    if not pack.declared.actions:
        return
    document = read_mapping(read_inside(pack.folder, declared.FILE))
    for name, action in pack.declared.actions.items():
        path = ("actions", name)
        names = (*action.values, *declared.GIVEN, *(["result"] if action.tool == "feeds" else []))
        key = "find"
        try:
            extends = pack.manifest.schema.extends_columns
            made = acted(pack.schema_sql, extends, action.sql, action.find, names)
            if action.tool == "reminders" and not pack.manifest.schema.reminders:
                line = document.line_of((*path, "tool"))
                message = "needs the table that schema.reminders of pack.yml names"
                yield Problem(declared.FILE, line, field_name((*path, "tool")), message)
            if action.picture:
                key = "picture"
                acted(pack.schema_sql, extends, (), action.picture.sql, names)
        except SchemaRefused as refused:
            key = "sql" if refused.line else key
            line = document.line_of((*path, key, refused.line - 1))
            yield Problem(declared.FILE, line, field_name((*path, key)), refused.problem)
            continue
        known = {*names, "changed", *(["result"] if action.tool else []), *(made or ())}
        for key, text in action.templates:
            for value in () if made is None else menu.columns_of(text):
                if value not in known:
                    line = document.line_of((*path, *key.split(".")))
                    message = f'there is no value "{value}"{did_you_mean(value, known)}'
                    yield Problem(declared.FILE, line, field_name((*path, key)), message)


def _watched(loaded: LoadedPack) -> Iterator[Problem]:
    """Try the queries of the watches."""
    pack = loaded.draft
    for index, watch in enumerate(pack.manifest.watches if pack else ()):
        if not pack or not watch.sql:
            continue
        try:
            selected(pack.schema_sql, pack.manifest.schema.extends_columns, watch.sql)
        except SchemaRefused as refused:
            problem = Problem(manifests.FILE, 0, f"watches[{index}].sql", refused.problem)
            yield from filter(None, [loaded.parsed.placed(problem)])


def _translations(pack: Pack) -> list[Problem]:
    """Name what a language says for nothing, and what it leaves as it stands."""
    manifest = pack.manifest
    texts = {manifest.display_name, manifest.description, manifest.tagline}
    for skill in pack.skills.values():
        texts |= {skill.display_name, skill.description}
    shown = {text for page in pack.menu for text in page.texts} | {*pack.declared.texts}
    found = (*unused(pack.translations, texts | shown), *missing(pack.translations, shown))
    folder = manifest.fast_paths.i18n or fast_paths.FOLDER
    files = {
        f"{fast_paths.FOLDER}/{fast_paths.normal(PurePosixPath(of).stem)}.json": f"{folder}/{of}"
        for of in list_inside(pack.folder, folder)
    }
    return [replace(each, file=files.get(each.file, each.file)) for each in found]


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12; it takes all that loading takes without a warning."""
    made = TypeAdapter(manifest.Manifest).json_schema()
    kinds: dict[str, dict[str, Any]] = {"Manifest": made, **made["$defs"]}
    for kind, field, text in _docstrings():
        kinds[kind]["properties"][field]["description"] = text
    fields = made["properties"]
    fields["name"] |= {
        "pattern": "^[a-z](?!.*__)[a-z0-9_-]{0,30}[a-z0-9-]$|^[a-z]$",
        "not": {"enum": sorted(RESERVED_NAMES)},
    }
    _allow_short_forms(fields, kinds)
    for properties in (kind.get("properties", {}) for kind in kinds.values()):
        for name, field in properties.items():
            if name not in ("name", "version", "display_name"):
                properties[name] = _or_empty(field)
    return {"$schema": _DIALECT, "$id": "aouo-pack.json", **made, "title": "pack.yml"}


def _allow_short_forms(fields: dict[str, Any], kinds: dict[str, dict[str, Any]]) -> None:
    """What `manifest_text` writes out before it checks."""
    fields["depends_on"]["items"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Dependency"}]}
    for short, full in (("skills", "provided_skills"), ("cron", "cron_defaults")):
        fields[short] = {**fields[full], "description": f"Another name of {full}."}
    tools = kinds["Permissions"]["properties"]["tools"]
    tools["items"] = {"anyOf": [{"enum": sorted(TOOLS | GROUPS)}, {"type": "string"}]}
    kinds["Memory"]["additionalProperties"] = True
    policy = kinds["ContextPolicy"]["properties"]["memory_policy"]
    policy["enum"] = [*policy["enum"], "", "summary_plus_query"]
    for name in ("soul", "state"):
        kinds["Memory"]["properties"][name]["type"] = ["boolean", "string"]


def _or_empty(field: dict[str, Any]) -> dict[str, Any]:
    """A key without a value is as good as an absent one."""
    outer = {key: field[key] for key in ("description", "default") if key in field}
    inner = {key: value for key, value in field.items() if key not in outer and key != "title"}
    return {**outer, "anyOf": [inner, {"type": "null"}]}


def _docstrings() -> Iterator[tuple[str, str, str]]:
    """Yield (class, field, text below it); the types keep no text at run time."""
    for kind in ast.parse(inspect.getsource(manifest)).body:
        if not isinstance(kind, ast.ClassDef):
            continue
        for field, below in zip(kind.body, kind.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                text, name = below.value, field.target
                if isinstance(text, ast.Constant) and isinstance(name, ast.Name):
                    yield kind.name, name.id, str(text.value)
