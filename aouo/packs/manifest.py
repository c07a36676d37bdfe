"""The fields of `pack.yml`; pydantic builds these values from it (`manifest_text`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, ConfigDict, Field

FILE = "pack.yml"
RESERVED_NAMES = frozenset(
    {"aouo", "state", "default", "core", "main", "store", "global", "mcp", "packs", "data", "temp"}
    | {"con", "prn", "aux", "nul"}  # no file can have these names on some machines
)
GROUP_TOOLS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "core": frozenset({"msg", "memory", "skill_view", "clarify", "persist"}),
        "files": frozenset({"read_file", "write_file", "list_dir"}),
        "web": frozenset({"fetch", "web_search"}),
        "documents": frozenset({"read_document"}),
        "voice": frozenset({"tts"}),
        "schedule": frozenset({"cron"}),
        "sessions": frozenset({"sessions"}),
        "pack": frozenset(),
    }
)
"""What a group of `permissions.tools` stands for; `pack` is the pack's own."""
GROUPS = frozenset(GROUP_TOOLS)
PLATFORMS = frozenset({"tg", "cli"})
TOOLS = frozenset(
    {"msg", "skill_view", "memory", "clarify", "persist", "db", "read_file", "write_file"}
    | {"list_dir", "fetch", "web_search", "read_document", "tts", "cron", "sessions", "shell"}
    | {"load_tools", "load_skills"}
)
DEFAULT_TOOLS = ("msg", "memory", "skill_view", "clarify", "persist", "db", "cron", "pack")
"""What a manifest without `permissions.tools` may use; `pack` is its own tools."""

MEMORY_MAX_BYTES = 16 * 1024
MemoryPolicy: TypeAlias = Literal["none", "user", "full"]

_STRICT_KEYS: Any = ConfigDict(extra="forbid")

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _frozen(mapping: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    return MappingProxyType(dict(mapping))


Text = Annotated[str, Field(max_length=4000)]
Line = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\n]*$")]
Count = Annotated[int, Field(ge=0)]
Texts = tuple[Text, ...]
TextMap = Annotated[Mapping[str, str], AfterValidator(_frozen)]


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another pack that has to be installed."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    name: str
    inheritance: Literal["extends", "parallel"] = "parallel"
    version: str = ""


@dataclass(frozen=True, slots=True)
class FastPaths:
    """Files of what needs no model: menus and their translations."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    menu: str = ""
    i18n: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The pack's database: its file of SQL, and which tables `persist` may write."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    file: str = "schema.sql"
    owned_tables: Texts = ()
    shared_tables: Texts = ()
    extends_columns: Annotated[Mapping[str, TextMap], AfterValidator(_frozen)] = field(
        default_factory=dict[str, "TextMap"]
    )
    scope: Literal["shared", "person"] = "shared"


@dataclass(frozen=True, slots=True)
class PersistContract:
    """What a saved row must hold, wherever the table has such columns."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    skill_type_prefix: str = ""
    required_fields: Texts = ()
    optional_fields: Texts = ()
    subcap_keys: Texts = ()


@dataclass(frozen=True, slots=True)
class CronDefault:
    """A schedule the pack proposes; `skill` is one of its own."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    schedule: Line
    skill: str
    enabled_by_default: bool = True
    prompt: Text = ""


@dataclass(frozen=True, slots=True)
class CustomTool:
    """A Python tool of the pack, as a path inside it."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,47}$")]
    path: str


@dataclass(frozen=True, slots=True)
class ExternalTool:
    """A command that reads JSON and writes JSON."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,47}$")]
    command: Line
    input: Literal["json"] = "json"
    output: Literal["json"] = "json"
    permissions: Texts = ()
    description: Text = ""


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the pack asks for; anything not listed is denied."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    tools: Texts = DEFAULT_TOOLS
    files: Texts = ()
    network: Texts = ()
    platforms: Texts = ()
    cron: bool = False
    external_commands: Texts = ()


@dataclass(frozen=True, slots=True)
class JavaScript:
    """Kept for packs of the original; tools in JavaScript are refused."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    tools: bool = True


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the pack needs around it to run."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    js: JavaScript = field(default_factory=JavaScript)
    external_tools: tuple[ExternalTool, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """How much of the pack a prompt may hold; 0 leaves it to the runtime."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    skill_loading: Literal["lazy", "eager"] = "lazy"
    history_window: Count = 0
    memory_policy: MemoryPolicy = "full"
    max_tokens: Count = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory files beside USER.md and MEMORY.md, and how large each may become, in bytes."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    soul: bool = False
    state: bool = False
    max_bytes: Annotated[int, Field(ge=256, le=MEMORY_MAX_BYTES)] = MEMORY_MAX_BYTES


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings the pack sets for itself; 0 = none."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    daily_usd: Annotated[float, Field(ge=0)] = 0.0
    daily_tokens: Count = 0
    turn_tokens: Count = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """One pack as its author describes it."""

    __pydantic_config__: ClassVar[Any] = _STRICT_KEYS
    name: str
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+")]
    display_name: Line
    description: Text = ""
    requires_core: str = ""
    depends_on: tuple[Dependency, ...] = ()
    provided_skills: Texts = ()
    fast_paths: FastPaths = field(default_factory=FastPaths)
    schema: Schema = field(default_factory=Schema)
    persist_contract: PersistContract = field(default_factory=PersistContract)
    cron_defaults: tuple[CronDefault, ...] = ()
    custom_tools: tuple[CustomTool, ...] = ()
    permissions: Permissions = field(default_factory=Permissions)
    runtime: Runtime = field(default_factory=Runtime)
    context: ContextPolicy = field(default_factory=ContextPolicy)
    memory: Memory = field(default_factory=Memory)
    budget: Budget = field(default_factory=Budget)
