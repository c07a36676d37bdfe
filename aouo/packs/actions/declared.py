"""`actions.yml`: what a pack can do, and what reaches it without a model.

actions:
  add:
    title: Keep a note
    arguments: {text: text}
    sql: INSERT INTO entries (text) VALUES (:text)
    find: SELECT count(*) AS count FROM entries
    answer: "Saved: “{text}”. {count} notes now."
phrases:
  - {action: add, en: ["note: {text}"], de: ["notiz: {text}"]}
forms: {add: [text, tags]}
tours: [[{say: Keep your first note, do: add, with: {text: Buy milk}}]]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from aouo.packs.format.texts import PlainValue

FILE = "actions.yml"
ACTIONS_MAX, PHRASES_MAX = 100, 5_000
Kind: TypeAlias = Literal[
    "text", "int", "number", "money", "date", "datetime", "duration", "recurrence", "address",
    "when", "new-time", "days", "choice", "row", "person", "file",
]  # fmt: skip
GIVEN = ("now", "today", "person", "name", "language")
OUR_TOOLS = ("cron", "reminders", "feeds")
"""What SQL and answers have besides the arguments: the time in UTC, the day where the person is,
their id, and what they are called."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _kinded(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


def _plural(value: Any) -> Any:
    return {"other": value} if isinstance(value, str) else value


_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
_Line = Annotated[str, Field(max_length=1_000)]
_Label = Annotated[str, Field(max_length=64)]
_Sql = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=20)]
_Plural = Annotated[Mapping[str, _Line], BeforeValidator(_plural)]
_Fixed: TypeAlias = Mapping[str, str | int | float]


class Argument(_Strict):
    """One value that an action takes; `text: text` is short for `text: {kind: text}`."""

    kind: Kind
    ask: _Line = ""
    """What a form asks for it."""
    default: str | int | float | None = None
    optional: bool = False
    choices: tuple[str, ...] = ()
    """Of a choice: what may be said."""
    table: str = ""
    """Of a row: the table it is in."""
    label: str = ""
    """Of a row: the column by which people name it."""
    prefer: Literal["future", "past"] = "future"
    """Of a date or days: whether "on Friday" is the next one or the last."""
    min: float | None = None
    max: float | None = None

    @property
    def slot(self) -> str:
        """The kind by which words are read."""
        past = self.kind in ("date", "days") and self.prefer == "past"
        return f"past-{self.kind}" if past else self.kind

    @property
    def needed(self) -> bool:
        return self.default is None and not self.optional


class Chart(_Strict):
    """A picture of what a SELECT finds: a label, then numbers, a row each; of a calendar a day."""

    kind: Literal["bars", "lines", "parts", "calendar", "table", "csv"]
    sql: str
    title: _Line = ""
    unit: _Label = ""
    columns: tuple[str, ...] = ()
    """Names of the numbers, or of a table's columns."""
    dark: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.title, *self.columns)))


class Action(_Strict):
    """One thing that a pack can do."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True
    )

    title: Annotated[str, Field(min_length=1, max_length=120)]
    """What it does, in plain words: on the card, for a model, in the menu of commands."""
    arguments: Mapping[_Name, Annotated[Argument, BeforeValidator(_kinded)]] = {}
    sql: _Sql = ()
    """One statement or several over the pack's own tables; `:text` is an argument."""
    tool: str = ""
    """A tool of the pack that gets the arguments; what it returns is `{result}`. `cron`,
    `reminders` and `feeds` are the runtime's: they come before `sql`, and get what is in `with`."""
    given: Mapping[str, _Line] = Field(default={}, alias="with")
    """What one of the runtime's tools gets: templates of the arguments."""
    find: str = ""
    """A SELECT whose first row the answer may name, read after the effect."""
    answer: _Plural = {}
    """What is said of the effect: a text, or one for each plural form, chosen by `{count}`."""
    row: _Line = ""
    """Each row of `find` as a line below the answer, twenty at most; else only the first counts."""
    nothing: _Line = ""
    """What is said if no row was changed, or none was found; "" = nothing is said."""
    page: str = ""
    """The page of the menu that is shown; a tap edits its message in place."""
    toast: Annotated[str, Field(max_length=200)] = ""
    """A few words above the page, where there is no `answer`."""
    confirm: _Line = ""
    """Asked before it is done, with a yes and a no."""
    command: Annotated[str, Field(pattern=r"^([a-z0-9_]{1,32})?$")] = ""
    picture: Chart | None = None
    """A chart: `{kind: bars, sql: SELECT …, title: …}`."""
    model: bool = True
    """Whether a model may call it, too."""
    search: bool = False
    """Whether its one argument is words that what the pack keeps is searched for."""
    undo: bool = True
    """Whether what it changed can be put back; false of what only notes that it was looked at."""

    @property
    def kinds(self) -> dict[str, str]:
        """Return the kind of each argument."""
        return {name: takes.slot for name, takes in self.arguments.items()}

    @property
    def rows(self) -> dict[str, Argument]:
        """Return the arguments that are rows."""
        return {name: takes for name, takes in self.arguments.items() if takes.kind == "row"}

    @property
    def values(self) -> tuple[str, ...]:
        """Return what statements may name: the arguments, each amount's currency, and the last of
        days."""
        also = {"money": "currency", "days": "end", "past-days": "end"}
        kinds = self.kinds.items()
        return (*self.arguments, *(f"{name}_{also[k]}" for name, k in kinds if k in also))

    @property
    def writes(self) -> bool:
        return bool(self.sql or self.tool in OUR_TOOLS)

    @property
    def texts(self) -> tuple[str, ...]:
        """All that people read of it, and a translation may name."""
        asked = (one.ask for one in self.arguments.values())
        choices = (choice for one in self.arguments.values() for choice in one.choices)
        own = (self.title, *self.answer.values(), self.row, self.nothing, self.toast, self.confirm)
        drawn = self.picture.texts if self.picture else ()
        return tuple(filter(None, (*own, *asked, *choices, *drawn)))

    @property
    def templates(self) -> tuple[tuple[str, str], ...]:
        """Key and text of all that names values in braces."""
        forms = ((f"answer.{form}", text) for form, text in self.answer.items())
        own = (
            ("row", self.row),
            ("nothing", self.nothing),
            ("toast", self.toast),
            ("confirm", self.confirm),
        )
        passed = ((f"with.{name}", text) for name, text in self.given.items())
        return (*forms, *own, *passed)

    @property
    def statements(self) -> tuple[str, ...]:
        return (*self.sql, *([self.find] if self.find else ()))


class Spoken(BaseModel):
    """Ways to say an action; every other key is a language with its patterns."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
    action: str
    given: _Fixed = Field(default={}, alias="with")
    whole: str = ""
    """The argument that the whole message is; the slots then only say what it looks like."""
    only: tuple[str, ...] = ()
    """Words of which one is in the slots for text; an amount beside it needs no currency."""

    @property
    def languages(self) -> dict[str, PlainValue]:
        return self.model_extra or {}


class Step(_Strict):
    """One tap of a tour."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    say: _Line
    do: str
    button: _Label = ""
    given: _Fixed = Field(default={}, alias="with")


class Document(_Strict):
    actions: Mapping[_Name, Action] = Field(default={}, max_length=ACTIONS_MAX)
    phrases: tuple[Spoken, ...] = Field(default=(), max_length=PHRASES_MAX)
    forms: Mapping[str, tuple[str, ...]] = {}
    """By action, the arguments that are asked for, in this order; else those it needs."""
    tours: tuple[Annotated[tuple[Step, ...], Field(min_length=1, max_length=5)], ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say an action in one language; `given` are arguments that it fixes, `whole` is the
    one that takes the whole message; of the words in `only` one is in its free slots."""

    action: str
    language: str
    text: str
    given: Mapping[str, str | int | float]
    line: int = 0
    whole: str = ""
    only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Declared:
    """What `actions.yml` holds."""

    actions: Mapping[str, Action] = field(default_factory=dict[str, Action])
    patterns: tuple[Pattern, ...] = ()
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tours: tuple[tuple[Step, ...], ...] = ()

    def asked(self, action: str) -> tuple[str, ...]:
        """Return the arguments that a form of this action asks for, in order."""
        takes = self.actions[action].arguments
        return self.forms.get(action) or tuple(n for n, one in takes.items() if one.needed)

    @property
    def texts(self) -> tuple[str, ...]:
        told = (text for step in self.tours for one in step for text in (one.say, one.button))
        own = (text for action in self.actions.values() for text in action.texts)
        return (*own, *filter(None, told))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file."""
    return Document.model_json_schema()
