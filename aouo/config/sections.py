"""Declares the sections of the configuration: every key, its default and its meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from aouo.config import values
from aouo.facts.quiet_hours import AttentionRules, QuietHours, parse_time, span_s

_LISTEN = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):(?P<port>\d{1,5})")


def _a_minute_apart(value: str) -> str:
    if span_s(value) < 60:
        raise ValueError("give at least 1m")
    return value


class Section(BaseModel):
    """A group of keys; unknown ones are errors, and errors never quote what was written."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        coerce_numbers_to_str=True,
        allow_inf_nan=False,
    )


class Endpoint(NamedTuple):
    """Where an OpenAI-compatible server answers; `context_window` is in tokens, 0 = unknown."""

    base_url: str
    api_key: str
    context_window: int
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}


class Webhook(Section):
    url: str = ""
    """The public https address that Telegram calls."""
    listen: str = "127.0.0.1:8443"
    """Address and port we listen on, behind your TLS proxy."""
    secret_token: SecretStr = values.NO_SECRET
    """What Telegram has to send along; required for `transport: webhook`."""

    @property
    def address(self) -> tuple[str, int]:
        """Where to listen: host and port, ("", 0) if `listen` says neither."""
        found = _LISTEN.fullmatch(self.listen)
        return (found["host"].strip("[]"), int(found["port"])) if found else ("", 0)


class Telegram(Section):
    enabled: bool = True
    """Whether it is on Telegram; if not, it needs no token: talk to it on the local page."""
    bot_token: SecretStr = values.NO_SECRET
    """The token from @BotFather."""
    allowed_user_ids: tuple[int, ...] = ()
    """Who may talk to the bot, by numeric id; empty = nobody."""
    owner_id: int = 0
    """Who may approve, install and see everything; 0 = the first of `allowed_user_ids`."""
    message_batch_ms: values.CountOrNone = 0
    """Texts sent within this many milliseconds become one message; 0 = off."""
    api_base_url: str = "https://api.telegram.org"
    """Any Bot API server; files and how large they may be follow it."""
    transport: Literal["polling", "webhook"] = "polling"
    """How updates come in."""
    webhook: Webhook = Webhook()
    """Only for `transport: webhook`."""
    proxy: str = ""
    """An http(s) or socks5 proxy for Telegram."""
    streaming: Literal["edits", "draft", "off"] = "draft"
    """How an answer appears while it is written; `draft` is one of Telegram's in private chats, and
    edits elsewhere and where it is refused."""
    groups: Literal["mention", "all"] = "mention"
    """Which group messages outside a pack's topic are for us."""
    max_parts: values.Positive = 6
    """An answer of more messages than this is sent as a document."""
    resend_unknown: bool = False
    """Send an answer again when nobody knows whether it arrived."""

    @property
    def owner(self) -> int:
        """The owner's id, 0 when nobody is allowed at all."""
        return self.owner_id or next(iter(self.allowed_user_ids), 0)


class Fallback(Section):
    backend: values.Name
    """A backend as in `provider.backend`."""
    model: values.Name = ""
    """Empty = the backend's default."""


class Provider(Section):
    backend: values.Name = "none"
    """`none`, `openai`, `groq`, `gemini`, `deepseek` or a name under `providers`."""
    model: values.Name = ""
    """Empty = the backend's default."""
    max_tokens: values.Positive = 16384
    """The most a model may think and answer together; clamped to what its window leaves, and
    doubled once where an answer was cut off before its first word."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 = always the likeliest word; null = the model's own, for many refuse another one. One
    that the service refuses is left out, and logged."""
    effort: values.Name = ""
    """How much a model thinks, in its service's word (`none`, `low`, `high`, …); empty = the
    service's default. A word that the service refuses is left out, and logged."""
    max_retries: values.Count = 3
    """Tries after a passing error while no fallback is set."""
    vision: Literal["auto", "on", "off"] = "auto"
    """Whether the model sees pictures."""
    fallback: tuple[Fallback, ...] = ()
    """Models to try, in order, when this one fails."""
    request_timeout_s: values.Seconds = 300
    """How long a model may take to begin its answer."""
    stream_idle_timeout_s: values.Seconds = 300
    """How long an answer that began may pause."""


_Named = Literal["", "small"]
"""Which of `models` answers; empty = the usual one."""


class NamedModel(Section):
    backend: values.Name = ""
    """A backend as in `provider.backend`; empty = there is no such model."""
    model: values.Name = ""
    """Empty = the backend's default."""
    effort: values.Name = ""
    """As `provider.effort`; empty = as that says."""


class Models(Section):
    small: NamedModel = NamedModel()
    """A cheaper model, for what names it: `cron.model`, `heartbeat.model`, `memory.model` and
    `packs.models`. What is chosen by `/model` stands above it."""
    offered: tuple[Fallback, ...] = ()
    """More models that `/model` offers beside the configured ones and those of backends with a
    key."""
    chosen_by: Literal["owner", "everybody"] = "owner"
    """Who may choose with `/model` which model answers in a conversation."""


class Role(Section):
    packs: tuple[values.Name, ...] = ()
    """The packs that they may use; empty = every one."""
    files: tuple[str, ...] = ()
    """Absolute paths and globs outside a pack's own folder that its tools may touch for them, if
    the pack asks for them; empty = none."""
    daily_usd: values.Usd = 0
    """Each one's calls of a day; 0 = as `budgets.per_person_daily_usd` says."""


class Roles(Section):
    member: Role = Role()
    """On `telegram.allowed_user_ids`, or let in by the owner."""
    guest: Role = Role()
    """Let in for a day."""


class OpenAI(Section):
    api_key: SecretStr = values.NO_SECRET
    """Key of the service."""
    base_url: values.Address = "https://api.openai.com/v1"
    """Any compatible server."""


class Groq(Section):
    api_key: SecretStr = values.NO_SECRET
    """Key of the service."""
    base_url: values.Address = "https://api.groq.com"
    """Without `/openai/v1`, which is added."""


class Gemini(Section):
    api_key: SecretStr = values.NO_SECRET
    """Key of the service."""
    base_url: values.Address = "https://generativelanguage.googleapis.com"
    """Without `/v1beta`, which is added."""
    vision_model: values.Name = ""
    """Describes pictures for a chat model that cannot see; empty = off."""


class DeepSeek(Section):
    api_key: SecretStr = values.NO_SECRET
    """Key of the service."""
    base_url: values.Address = "https://api.deepseek.com"
    """Any compatible server."""


class Price(Section):
    """US dollars for a million tokens."""

    input: values.Usd
    """What the model reads."""
    cached: values.Usd
    """What it reads from the service's cache; absent = as `input`."""
    output: values.Usd
    """What it writes."""

    @model_validator(mode="before")
    @classmethod
    def _cached_costs_as_input(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        price = cast("dict[str, object]", value)
        return {"cached": price["input"], **price} if "input" in price else price


_SAID = frozenset(
    {"model", "messages", "input", "instructions", "tools", "stream", "stream_options", "store"}
)


class CustomProvider(Section):
    base_url: values.Address
    """Where the server answers, `/v1` included."""
    api_key: SecretStr = values.NO_SECRET
    """Empty for a server that asks for none."""
    context_window: values.Count = 0
    """The model's window in tokens; 0 = ask the server or assume a small one."""
    headers: dict[str, SecretStr] = {}
    """More headers of every request, such as a workspace's id; they are secrets."""
    body: dict[str, Any] = {}
    """More fields of every request, which stand above ours: OpenRouter's `provider`, for one."""
    prices: dict[str, Price] = {}
    """By model; as `budgets.prices`."""

    @field_validator("body")
    @classmethod
    def _leaves_the_conversation(cls, value: dict[str, Any]) -> dict[str, Any]:
        if said := sorted(_SAID & value.keys()):
            raise ValueError(f"{', '.join(said)}: that is what is asked, and cannot be set here")
        return value


class SpeechToText(Section):
    backend: Literal["groq", "openai", "local", "off"] = "groq"
    """Who writes down voice messages."""
    model: str = "whisper-large-v3-turbo"
    """The service's name for the model; with `local` a folder with Whisper for CTranslate2."""
    groq_api_key: SecretStr = values.NO_SECRET
    """Empty = `groq.api_key`."""
    show: Literal["never", "groups", "always"] = "never"
    """Where the words that were heard are shown, as a reply to the recording."""


class TextToSpeech(Section):
    backend: Literal["openai", "groq", "local", "off"] = "off"
    """Who speaks."""
    model: str = ""
    """Empty = the backend's default; with `local` a voice's file."""
    voice: str = ""
    """Empty = the backend's default."""


class WebSearch(Section):
    backend: Literal["tavily"] = "tavily"
    """Who searches."""
    api_key: SecretStr = values.NO_SECRET
    """Key of the service; empty = no web search."""
    max_results: Annotated[int, Field(ge=1, le=20)] = 5
    """Results of one search."""
    base_url: str = "https://api.tavily.com"
    """Any compatible server."""


class Tools(Section):
    enabled: tuple[values.Name, ...] = (
        "core",
        "files",
        "web",
        "documents",
        "voice",
        "schedule",
        "sessions",
        "db",
    )
    """Groups or tools that exist at all; a pack's permissions choose among them."""
    web_search: WebSearch = WebSearch()
    """The `web_search` tool."""


class McpServer(Section):
    """Either `command` (we start it) or `url` (it runs somewhere)."""

    command: str = ""
    """Program to start."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, SecretStr] = {}
    """Its environment, besides PATH and HOME."""
    url: str = ""
    """Where a server already runs."""
    headers: dict[str, SecretStr] = {}
    """Sent with every request to `url`."""
    words: Literal["others", "mine"] = "others"
    """Whose words it returns; `mine`: only you write there, so they make nobody ask."""
    hints: Literal["use", "ignore"] = "use"
    """What it says of its own tools; `ignore`: each of them may do anything."""

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> McpServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either `command` or `url`")
        return self


class Mcp(Section):
    servers: dict[str, McpServer] = {}
    """By name; their tools are `mcp__<server>__<tool>`."""


class Packs(Section):
    enabled: tuple[values.Name, ...] = ()
    """Names of the packs to load; empty = every installed pack."""
    scan_dirs: tuple[str, ...] = ()
    """More folders that hold packs."""
    default: values.Name = ""
    """The pack that answers where nobody has chosen one; empty = people are asked."""
    without_phrases: tuple[values.Name, ...] = ()
    """Names of packs whose phrases do nothing, `*` = no phrase does, not even the bot's own."""
    models: dict[str, Literal["small"]] = {}
    """Packs that `models.small` answers: name → `small`."""
    trusted_keys: dict[str, str] = {}
    """Public keys whose signatures you trust: a name you give → the line beginning with RW."""


class Judge(Section):
    backend: values.Name = ""
    """Backend of the model that judges tool calls; empty = no judge."""
    model: values.Name = ""
    """Empty = the backend's default."""
    daily: values.Count = 100
    """Judgements a day."""


class Approvals(Section):
    wait_s: values.Seconds = 300
    """How long a question to the owner stays open."""
    per_hour: values.Count = 10
    """Questions an hour; above it the answer is no."""


class Security(Section):
    allowed_paths: tuple[str, ...] = ()
    """What a tool may touch outside its pack's data folder; `~` is expanded."""
    fence_mode: Literal["ask", "deny", "allow"] = "deny"
    """What happens at any other path."""
    sandbox: Literal["auto", "require", "off"] = "auto"
    """How tools of packs are confined: `auto` as well as this machine can, `require` only by
    bubblewrap, `off` not at all."""
    policy: str = "default"
    """The guard's policy: `default`, `strict`, `permissive` or a YAML file in the home."""
    judge: Judge = Judge()
    """A model that may spare the owner questions about tool calls."""
    approvals: Approvals = Approvals()
    """Questions to the owner."""


WALLS = {"sandbox": "off", "fence_mode": "allow"}
"""Keys of `security`, and the value of each that takes a wall between packs and files down."""


class Cron(Section):
    enabled: bool = True
    """Whether schedules run."""
    tick_seconds: values.Positive = 60
    """The longest sleep; a due time is met to the second all the same."""
    timezone: values.Name = ""
    """An IANA zone such as `Europe/Berlin`; empty = the machine's."""
    default_chat_id: values.Name = ""
    """Where schedules without a chat answer; empty = the owner."""
    max_concurrent_runs: values.Positive = 1
    """Schedules that run at the same time."""
    model: _Named = ""
    """`small` = `models.small` answers schedules and watches."""

    @field_validator("timezone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        if value:
            from zoneinfo import ZoneInfo

            try:
                ZoneInfo(value)
            except (KeyError, ValueError, OSError):
                from aouo.plumbing.zones import known_zone

                raise ValueError(f"write it like {known_zone(value)}") from None
        return value


class Heartbeat(Section):
    enabled: bool = False
    """Whether the agent looks at `HEARTBEAT.md` by itself, if there is anything in it."""
    every: Annotated[values.Span, AfterValidator(_a_minute_apart)] = "30m"
    """How often."""
    quiet_hours: values.Hours = "22:00-08:00"
    """When it does not look; empty = it always does."""
    daily_tokens_max: values.Count = 50_000
    """Its own cap a day; 0 = off."""
    model: _Named = ""
    """`small` = `models.small` looks."""

    @property
    def every_s(self) -> int:
        return span_s(self.every)

    @property
    def quiet(self) -> QuietHours:
        return QuietHours.parse(self.quiet_hours)


class Attention(Section):
    daily_max: values.Count = 20
    """Messages a day to each person; 0 = no limit. What is over waits for the digest."""
    quiet_hours: values.Hours = ""
    """When none comes, but with the digest at their end; empty = never."""
    digest_at: values.TimeOfDay = "08:00"
    """When the digest of what was over comes, on the next day."""

    @property
    def rules(self) -> AttentionRules:
        quiet = QuietHours.parse(self.quiet_hours)
        return AttentionRules(self.daily_max, quiet, parse_time(self.digest_at))


class Consolidate(Section):
    enabled: bool = False
    """Whether the model works the journal's new lines into `MEMORY.md`."""
    every: values.Span = "24h"
    """How often."""

    @property
    def every_s(self) -> int:
        return span_s(self.every)


class Memory(Section):
    model: _Named = ""
    """`small` = `models.small` keeps the journal, gives titles and sums up at `/compact`."""
    journal: bool = False
    """Whether a shadow journal is kept of what was talked about."""
    daily_tokens_max: values.Count = 50_000
    """What the journal may take a day, and consolidation as much; 0 = off."""
    consolidate: Consolidate = Consolidate()
    """When the journal is worked into `MEMORY.md`."""


class Budgets(Section):
    daily_usd: values.Usd = 0
    """All calls of a day; 0 = off."""
    per_person_daily_usd: values.Usd = 0
    """Each person's calls of a day; 0 = off."""
    per_pack_daily_usd: dict[str, values.Usd] = {}
    """By pack."""
    prices: dict[str, Price] = {}
    """By model: `{"input": …, "cached": …, "output": …}` in USD for a million tokens."""
    prices_per_minute: dict[str, values.Usd] = {}
    """By model that listens: USD for a minute of sound."""
    prices_per_million_characters: dict[str, values.Usd] = {}
    """By model that speaks: USD for a million characters."""
    prices_per_call: dict[Literal["web_search"], values.Usd] = {}
    """By tool that asks a service: USD for one answer."""


class Dashboard(Section):
    enabled: bool = True
    """Whether the local web page is served."""
    host: str = "127.0.0.1"
    """Any other than loopback needs a `token`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9800
    """0 = any free one."""
    token: SecretStr = values.NO_SECRET
    """Empty = a random one per start, kept in `run/dashboard.token`."""


class Retention(Section):
    updates_days: values.Count = 7
    """Raw updates; 0 = keep."""
    deliveries_days: values.Count = 30
    """Records of what was sent; 0 = keep."""
    messages_days: values.Count = 0
    """What was said in conversations; 0 = keep."""
    media_days: values.Count = 30
    """Downloaded files; 0 = keep."""


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is written."""
    format: Literal["auto", "json", "text"] = "auto"
    """Of stderr; `auto` = JSON when it is not a terminal."""


class Advanced(Section):
    session_tokens_max: values.Count = 500_000
    """Near it a session goes on in a fresh one; no single answer takes more. 0 = off."""
    daily_tokens_max: values.Count = 2_000_000
    """Cap of a day, until local midnight; 0 = off."""
    max_react_loops: values.Positive = 25
    """Model calls of one turn."""
    context_window: values.Count = 0
    """In tokens; 0 = the model's."""
    compress_threshold: Annotated[float, Field(gt=0, le=1)] = 0.7
    """The share of the window at which older messages are summarised."""
    max_history_messages: values.Positive = 200
    """Messages of a session that are sent along at most; older ones get a summary, in blocks."""
    turn_timeout_s: values.Seconds = 900
    """How long a turn may take, waiting for people not counted."""


class Ui(Section):
    show_tool_calls: bool = True
    """Whether a chat shows which tool runs."""
