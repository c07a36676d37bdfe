"""The pack that `aouo pack new` makes: one table, one skill, a menu in two languages, one eval."""

from __future__ import annotations

import json
import re
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.packs.format.manifest_text import parse
from aouo.packs.format.problems import errors
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
