"""Defines the fields of `pack.yml`; pydantic builds these values from it (`manifest_text`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias, TypeVar, dataclass_transform

from pydantic import AfterValidator, ConfigDict, Field, with_config

from aouo.packs.format.problems import DEFAULT_TOOLS

FILE = "pack.yml"
_MEMORY_MAX_BYTES = 16 * 1024
MemoryPolicy: TypeAlias = Literal["none", "user", "full"]

_Kind = TypeVar("_Kind")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_keys(kind: type[_Kind]) -> type[_Kind]:
    """Make a frozen dataclass of a class, for which pydantic takes no key that is no field."""
    with_config(ConfigDict(extra="forbid"))(kind)
    return dataclass(frozen=True, slots=True)(kind)


def _frozen(mapping: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    return MappingProxyType(dict(mapping))


_Text = Annotated[str, Field(max_length=4000)]
_Line = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\n]*$")]
_Count = Annotated[int, Field(ge=0)]
_Texts = tuple[_Text, ...]
_TextMap = Annotated[Mapping[str, str], AfterValidator(_frozen)]


@strict_keys
class Dependency:
    """Another pack that has to be installed."""

    name: str
    """The name of that pack."""
    inheritance: Literal["extends", "parallel"] = "parallel"
    """`extends` or `parallel`; loading is the same."""
    version: str = ""
    """Which versions of it will do, such as ">=1.2,<2"."""


@strict_keys
class FastPaths:
    """Files of what needs no model: menus and their translations."""

    menu: str = ""
    """The file of pages and buttons; absent: menu.json."""
    i18n: str = ""
    """The folder of translations, <language>.json each; absent: i18n."""


@strict_keys
class Schema:
    """The pack's database: its file of SQL, and which tables `persist` may write."""

    file: str = "schema.sql"
    """The file of CREATE TABLE statements; it may run again."""
    owned_tables: _Texts = ()
    """Tables that `persist` may write; the first is the default."""
    shared_tables: _Texts = ()
    """Tables of it that other packs know about."""
    extends_columns: Annotated[Mapping[str, _TextMap], AfterValidator(_frozen)] = field(
        default_factory=dict[str, "_TextMap"]
    )
    """Columns to add: table → column → type, such as "REAL NOT NULL DEFAULT 0"."""
    reminders: str = ""
    """A table that holds the reminders of whoever looks: id, text, due, comes, every, state."""
    feeds: bool = False
    """Whether feeds and calendars are read into its tables `sources` and `entries`."""
    scope: Literal["shared", "person"] = "shared"
    """`shared`: one database for everybody. `person`: one for each person, or group."""


@strict_keys
class PersistContract:
    """What a saved row must hold, wherever the table has such columns."""

    skill_type_prefix: str = ""
    """What the column skill_type has to begin with."""
    required_fields: _Texts = ()
    """Columns that a saved row has to fill."""
    optional_fields: _Texts = ()
    """Columns that it may fill."""
    subcap_keys: _Texts = ()
    """The keys that the column subcap_scores may have."""


@strict_keys
class CronDefault:
    """A schedule the pack proposes; it has a skill of its own, words to say, or an action to do."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    """Its name, once in a pack."""
    schedule: _Line
    """Such as "every 2h", "0 8 * * *", "2026-12-01T09:00" or "30m"."""
    skill: str = ""
    """The skill that runs: a model's turn."""
    enabled_by_default: bool = True
    """Whether it is on from the start."""
    prompt: _Text = ""
    """What the model is told besides the skill."""
    say: _Text = ""
    """Instead of a skill: these words come, and no model is asked."""
    do: str = ""
    """Instead of a skill: an action of the pack, which may find nothing to say."""


@strict_keys
class Watch:
    """What the pack looks at by itself: one of `sql`, `file` and `url`. A change begins a turn."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    """Its name, once in a pack."""
    every: _Line
    """How often it looks: "5m", "2h" or "1d", at least 1m."""
    sql: _Text = ""
    """One SELECT on the pack's own tables."""
    file: str = ""
    """A file or folder that permissions.files names; ~ is allowed."""
    url: str = ""
    """An address at a host that permissions.network names."""
    skill: str = ""
    """The skill that runs when it has changed."""
    prompt: _Text = ""
    """What the model is told then, besides the skill and what has changed."""
    quiet: bool = False
    """Whether what comes of it always waits for the digest."""


@strict_keys
class CustomTool:
    """A Python tool of the pack, as a path inside it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,47}$")]
    """The function; the model sees <pack>__<name>."""
    path: str
    """tools/<file>.py."""


@strict_keys
class ExternalTool:
    """A command that reads JSON and writes JSON."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,47}$")]
    """The model sees <pack>__<name>; list it in permissions.external_commands."""
    command: _Line
    """The command and its arguments; no shell reads it."""
    input: Literal["json"] = "json"
    """What it reads."""
    output: Literal["json"] = "json"
    """What it writes."""
    permissions: _Texts = ()
    """What it says it needs; information only."""
    description: _Text = ""
    """What the model reads of it."""
    parameters: Annotated[Mapping[str, object], AfterValidator(_frozen)] = field(
        default_factory=dict[str, object]
    )
    """The JSON Schema of its arguments; without it the model passes an object `input`."""


@strict_keys
class Permissions:
    """What the pack asks for; anything not listed is denied."""

    tools: _Texts = DEFAULT_TOOLS
    """Names, or groups: core files web documents voice schedule sessions mcp:<server> pack."""
    files: _Texts = ()
    """Paths or globs outside the own data folder; ~ is allowed."""
    network: _Texts = ()
    """Hosts: example.com, *.example.com, or * for any public one."""
    platforms: _Texts = ()
    """Where it answers: tg, cli; absent: everywhere."""
    cron: bool = False
    """Whether it may have schedules and watches."""
    external_commands: _Texts = ()
    """Names of external tools that may run."""


@strict_keys
class JavaScript:
    """Kept for packs of the original; tools in JavaScript are refused."""

    tools: bool = True
    """Accepted and not used."""


@strict_keys
class Runtime:
    """What the pack needs around it to run."""

    js: JavaScript = field(default_factory=JavaScript)
    """Accepted and not used."""
    external_tools: tuple[ExternalTool, ...] = ()
    """Commands that the model may call as tools."""


@strict_keys
class ContextPolicy:
    """How much of the pack a prompt may hold; 0 leaves it to the runtime."""

    skill_loading: Literal["lazy", "eager"] = "lazy"
    """`lazy`: the model reads a skill when it needs it. `eager`: all are in every prompt."""
    history_window: _Count = 0
    """How many messages of its history a turn reads."""
    memory_policy: MemoryPolicy = "full"
    """Which memory files are in the prompt: none, user (USER.md only) or full."""
    max_tokens: _Count = 0
    """How large the pack's part of the prompt may be."""


@strict_keys
class Memory:
    """Memory files beside USER.md and MEMORY.md, and how large each may become, in bytes."""

    soul: bool = False
    """Whether there is a SOUL.md for each person."""
    state: bool = False
    """Whether there is a STATE.md."""
    max_bytes: Annotated[int, Field(ge=256, le=_MEMORY_MAX_BYTES)] = _MEMORY_MAX_BYTES
    """How large each file may become."""


@strict_keys
class Budget:
    """Ceilings the pack sets for itself; 0 = none."""

    daily_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """US dollars a day, all people together."""
    daily_tokens: _Count = 0
    """Tokens a day, all people together."""
    turn_tokens: _Count = 0
    """Tokens of one turn."""


@strict_keys
class Setting:
    """One thing that the owner may set for the pack; its tools read it."""

    kind: Literal[
        "text", "int", "number", "money", "date", "datetime", "duration", "recurrence", "choice"
    ] = "text"
    """What it takes."""
    title: _Text = ""
    """What it is, in plain words."""
    help: _Text = ""
    """What to put there."""
    default: str | int | float = ""
    """What counts until somebody sets it."""
    choices: _Texts = ()
    """Of a choice: what may be set."""


@strict_keys
class Secret:
    """A key or password that the owner gives to the pack; no model and no file shows it."""

    title: _Text = ""
    """What it is, in plain words."""
    help: _Text = ""
    """Where to get it."""
    hosts: _Texts = ()
    """Hosts to which `aouo_pack.fetch` may send it, tools do not see it then; absent: tools that
    name it get it."""


@strict_keys
class Manifest:
    """One pack as its author describes it."""

    name: str
    """1 to 32 of a-z, 0-9, _ and -, beginning with a letter; unique among the installed packs."""
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+", max_length=64)]
    """Begins with three numbers, such as "1.0.0"."""
    display_name: _Line
    """What people read."""
    description: _Text = ""
    """What it is for, in a sentence or two."""
    requires_core: str = ""
    """Which versions of aouo it works with, such as ">=0.1,<2"."""
    depends_on: tuple[Dependency, ...] = ()
    """Packs that have to be installed."""
    provided_skills: _Texts = ()
    """Folders below skills/, each with a SKILL.md."""
    fast_paths: FastPaths = field(default_factory=FastPaths)
    """Menus and translations."""
    schema: Schema = field(default_factory=Schema)
    """The database."""
    persist_contract: PersistContract = field(default_factory=PersistContract)
    """What a saved row has to hold."""
    cron_defaults: tuple[CronDefault, ...] = ()
    """Schedules that it proposes."""
    watches: tuple[Watch, ...] = ()
    """What it looks at by itself."""
    custom_tools: tuple[CustomTool, ...] = ()
    """Python tools by name; absent: every public function in tools/*.py."""
    permissions: Permissions = field(default_factory=Permissions)
    """What it asks for; the rest is denied."""
    runtime: Runtime = field(default_factory=Runtime)
    """What runs beside it."""
    context: ContextPolicy = field(default_factory=ContextPolicy)
    """How much of it is in a prompt."""
    memory: Memory = field(default_factory=Memory)
    """Its memory files."""
    budget: Budget = field(default_factory=Budget)
    """Ceilings it sets for itself."""
    settings: Annotated[Mapping[str, Setting], AfterValidator(_frozen)] = field(
        default_factory=dict[str, Setting]
    )
    """What its owner may set: name → setting."""
    secrets: Annotated[Mapping[str, Secret], AfterValidator(_frozen)] = field(
        default_factory=dict[str, Secret]
    )
    """Keys and passwords that it needs: name → secret."""
    icon: Annotated[str, Field(max_length=16)] = ""
    """One emoji."""
    tagline: Annotated[str, Field(max_length=120, pattern=r"^[^\n]*$")] = ""
    """What it does for a person, in a line."""
    author: Annotated[str, Field(max_length=200)] = ""
    """Who made it."""
    homepage: Annotated[str, Field(max_length=500, pattern=r"^(https://\S*)?$")] = ""
    """An https address."""
    license: Annotated[str, Field(max_length=100)] = ""
    """Such as Apache-2.0."""
    categories: _Texts = ()
    """Such as money, health, learning."""
    topic_icon: Annotated[str, Field(max_length=64)] = ""
    """The emoji of its topic in a forum, where Telegram has it."""
