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
from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import selected
from aouo.packs.evals import cases as evals
from aouo.packs.format import fast_paths, manifest, menu
from aouo.packs.format import manifest as manifests
from aouo.packs.format.fast_paths import missing, unused
from aouo.packs.format.folder import list_inside, read_inside
from aouo.packs.format.manifest_text import parse
from aouo.packs.format.menu import Page
from aouo.packs.format.problems import GROUPS, RESERVED_NAMES, TOOLS, Problem, did_you_mean, errors
from aouo.packs.format.skills import skills_below
from aouo.packs.format.texts import field_name, nearest_line, read_json
from aouo.packs.load import LoadedPack, Pack, load_pack
from aouo.plumbing.trees import discard

_MANIFEST = """\
# What this pack is and may do. `aouo pack validate .` says what is wrong with it,
# docs/packs.md what else there is.
name: {name}
version: 0.1.0
display_name: {title}
description: Keeps a list and shows it

provided_skills: [keep]

fast_paths:
  menu: menu.json         # buttons that need no model; `menu` opens the first page
  i18n: i18n              # what they say in other languages

schema:
  file: schema.sql
  scope: person           # everybody keeps a list of their own; `shared`: one for all
  owned_tables: [items]

permissions:              # whatever is not listed is closed
  tools: [msg, skill_view, clarify, persist]
"""
_SCHEMA = """\
-- Runs again after each change: new columns are added, nothing is dropped.
CREATE TABLE IF NOT EXISTS items (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  text       TEXT NOT NULL,
  done       INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1))
);
"""
_SKILL = """\
---
name: keep
display_name: Keep something
description: Put something on the list, tick it off, or show the list
command: true
---

# The list

Put on the list what they name, in their words:
`persist(action="save", table="items", data={"text": "<what they said>"})`

Show it, one line an item, what is open first:
`persist(action="query", sql="SELECT id, text, done FROM items ORDER BY done, id LIMIT 30")`

Tick something off; the id is in the list:
`persist(action="update", table="items", where={"id": <id>}, data={"done": 1})`

Answer in their language, in one or two sentences. Say what is kept only after the tool said so.
"""
_MENU: list[dict[str, object]] = [
    {
        "id": "list",
        "title": "Your list",
        "sql": "SELECT text FROM items WHERE done = 0 ORDER BY id DESC",
        "row": "• {text}",
        "empty": "Nothing is on the list. Tell me what to keep.",
        "rows": [
            [{"text": "Done", "callback": "nav:done"}, {"text": "Add", "callback": "skill:keep"}]
        ],
    },
    {
        "id": "done",
        "title": "Done",
        "sql": "SELECT text FROM items WHERE done = 1 ORDER BY id DESC",
        "row": "✓ {text}",
        "empty": "Nothing is ticked off yet.",
        "rows": [[{"text": "Back", "callback": "nav:list"}]],
    },
]
_GERMAN = {
    "Keeps a list and shows it": "Führt eine Liste und zeigt sie",
    "Keep something": "Etwas merken",
    "Put something on the list, tick it off, or show the list": (
        "Etwas auf die Liste setzen, abhaken oder die Liste zeigen"
    ),
    "Your list": "Deine Liste",
    "Nothing is on the list. Tell me what to keep.": (
        "Nichts steht auf der Liste. Sag mir, was ich mir merken soll."
    ),
    "Done": "Erledigt",
    "Add": "Hinzufügen",
    "Nothing is ticked off yet.": "Noch ist nichts abgehakt.",
    "Back": "Zurück",
}
_RULES = """\
Whatever they want to remember goes on the list with `persist`. Keep their words.
"""
_EXAMPLES = """\
# What people say, and the call it means: the embedded model chooses by these.
examples:
  - say: "put apples on the list"
    tool: persist
    arguments: {action: save, data: {text: apples}}
    answer: "On the list: “{text}”."
  - say: "add milk to the list"
    tool: persist
    arguments: {action: save, data: {text: milk}}
  - say: "what is on the list?"
    tool: persist
    arguments: {action: recent, limit: 10}
    answer: "{text}"
  - say: "show me the list"
    tool: persist
    arguments: {action: recent, limit: 10}
"""
_EVAL = """\
# A conversation that has to go well: `aouo pack test .` plays it. The model is scripted, all
# else is real.
name: something is put on the list
steps:
  - say: "put apples on the list"
    model:
      - call: persist
        arguments: {action: save, table: items, data: {text: apples}}
      - say: "Apples are on the list."
    expect:
      reply: Apples
      rows: [{table: items, where: {text: apples, done: 0}, count: 1}]
      model_calls: 2
"""
_README = """\
# {title}

Keeps a list for each person and shows it.

- `pack.yml`: what it is and may do · `schema.sql`: what it keeps
- `skills/keep/SKILL.md`: what the model does · `rules-additions.md`: what it always has in mind
- `menu.json`, `i18n/de.json`: buttons without a model, in two languages
- `evals/`: conversations that have to go well · `examples.yml`: for the embedded model

`aouo pack validate .` · `aouo dev .` · `aouo pack test .` · `aouo pack export .`
"""


def make(name: str, parent: Path) -> tuple[Path, list[str]]:
    """Make the folder `<parent>/<name>` with a pack that validates strictly; return it, and its
    files by their path in it.

    Raises:
        PackError: the name cannot be a pack's, or the folder is there or cannot be written.
    """
    texts = _texts(name)
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


def _texts(name: str) -> dict[str, str]:
    title = " ".join(word for word in name.replace("_", "-").split("-") if word).capitalize()
    return {
        "pack.yml": _MANIFEST.format(name=_plain(name), title=_plain(title)),
        "schema.sql": _SCHEMA,
        "skills/keep/SKILL.md": _SKILL,
        "rules-additions.md": _RULES,
        "menu.json": json.dumps(_MENU, ensure_ascii=False, indent=2) + "\n",
        "i18n/de.json": json.dumps(_GERMAN, ensure_ascii=False, indent=2) + "\n",
        "examples.yml": _EXAMPLES,
        "evals/keep.yml": _EVAL,
        "README.md": _README.format(title=title),
    }


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
    texts = {manifest.display_name, manifest.description}
    for skill in pack.skills.values():
        texts |= {skill.display_name, skill.description}
    shown = {text for page in pack.menu for text in page.texts}
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
    fields["depends_on"]["items"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/Dependency"}],
    }
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
