"""What the owner can configure: one frozen tree of all sections, and what it refuses."""

from __future__ import annotations

import os
import re
from typing import cast

from pydantic import BaseModel, SecretStr, field_validator

from aouo.config import sections
from aouo.facts.errors import SetupError
from aouo.plumbing.redact import secrets_in

BUILT_IN_BACKENDS = ("none", "openai", "groq", "gemini", "deepseek")


AFTER_RESTART = (
    *("telegram.enabled", "telegram.bot_token", "telegram.api_base_url", "telegram.proxy"),
    *("telegram.transport", "telegram.webhook", "dashboard", "log.format"),
)
"""Keys and sections that a running bot takes up with its next start only: what listens, and
what connects to Telegram, are opened once."""


def waits_for_restart(key: str) -> bool:
    """Whether a change of a dotted key has no effect before the next start."""
    return any(key == name or key.startswith(f"{name}.") for name in AFTER_RESTART)


class Settings(sections.Section):
    """The whole configuration. Built by `config.file.load_settings`, never from `os.environ`."""

    telegram: sections.Telegram = sections.Telegram()
    """The bot."""
    provider: sections.Provider = sections.Provider()
    """The model that answers."""
    models: sections.Models = sections.Models()
    """Which models people choose from."""
    roles: sections.Roles = sections.Roles()
    """What those may do who are let in; the owner may everything."""
    openai: sections.OpenAI = sections.OpenAI()
    """OpenAI or any compatible server."""
    groq: sections.Groq = sections.Groq()
    """Groq."""
    gemini: sections.Gemini = sections.Gemini()
    """Gemini."""
    deepseek: sections.DeepSeek = sections.DeepSeek()
    """DeepSeek."""
    providers: dict[str, sections.CustomProvider] = {}  # noqa: RUF012 - pydantic copies it
    """More OpenAI-compatible servers, by name."""
    stt: sections.SpeechToText = sections.SpeechToText()
    """Voice to text."""
    tts: sections.TextToSpeech = sections.TextToSpeech()
    """Text to voice."""
    tools: sections.Tools = sections.Tools()
    """What the model may call."""
    mcp: sections.Mcp = sections.Mcp()
    """Tool servers."""
    packs: sections.Packs = sections.Packs()
    """Which apps are loaded."""
    security: sections.Security = sections.Security()
    """The guard."""
    cron: sections.Cron = sections.Cron()
    """Schedules."""
    heartbeat: sections.Heartbeat = sections.Heartbeat()
    """Turns nobody asked for."""
    attention: sections.Attention = sections.Attention()
    """Messages that nobody asked for: of packs' schedules, of watches and of the heartbeat."""
    memory: sections.Memory = sections.Memory()
    """What is remembered."""
    budgets: sections.Budgets = sections.Budgets()
    """Ceilings in money."""
    dashboard: sections.Dashboard = sections.Dashboard()
    """The local web page."""
    retention: sections.Retention = sections.Retention()
    """How long things are kept."""
    log: sections.Log = sections.Log()
    """What is written down."""
    advanced: sections.Advanced = sections.Advanced()
    """Limits."""
    ui: sections.Ui = sections.Ui()
    """How chats look."""

    @field_validator("providers")
    @classmethod
    def _names_of_their_own(
        cls, value: dict[str, sections.CustomProvider]
    ) -> dict[str, sections.CustomProvider]:
        """Refuse the name of a built-in backend, which would be used in its place."""
        for name in value:
            if name in BUILT_IN_BACKENDS:
                raise ValueError(f"{name} is a backend of its own: choose another name")
        return value

    @property
    def backends(self) -> tuple[str, ...]:
        """All names that `provider.backend` may have."""
        return (*BUILT_IN_BACKENDS, *self.providers)

    def provider_endpoint(self, backend: str) -> sections.Endpoint:
        """Return the address of `backend`; that of `none` is "".

        Raises:
            SetupError: no backend of this name is configured.
        """
        match backend:
            case "openai":
                return sections.Endpoint(_bare(self.openai.base_url), _open(self.openai.api_key), 0)
            case "groq":
                url = _with_path(self.groq.base_url, "/openai/v1")
                return sections.Endpoint(url, _open(self.groq.api_key), 0)
            case "gemini":
                url = _with_path(self.gemini.base_url, "/v1beta/openai")
                return sections.Endpoint(url, _open(self.gemini.api_key), 0)
            case "deepseek":
                return sections.Endpoint(
                    _bare(self.deepseek.base_url), _open(self.deepseek.api_key), 0
                )
            case "none":
                return sections.Endpoint("", "", 0)
            case name if name in self.providers:
                custom = self.providers[name]
                url = _bare(custom.base_url)
                headers = {name: _open(value) for name, value in custom.headers.items()}
                return sections.Endpoint(
                    url, _open(custom.api_key), custom.context_window, headers, custom.body
                )
            case _:
                raise SetupError(
                    f"No model backend is called {backend!r}.",
                    fix=f"Choose one of {', '.join(self.backends)}.",
                )

    @property
    def stt_api_key(self) -> str:
        """The key of the service that transcribes voice messages."""
        match self.stt.backend:
            case "groq":
                return _open(self.stt.groq_api_key) or _open(self.groq.api_key)
            case "openai":
                return _open(self.openai.api_key)
            case "local" | "off":
                return ""

    def refusals(self) -> tuple[SetupError, ...]:
        """Return the reasons why `aouo start` may not run with these settings; empty = it may."""
        found: list[SetupError] = []
        if self.telegram.enabled and not _open(self.telegram.bot_token):
            found.append(
                SetupError(
                    "There is no bot token.",
                    fix="Set telegram.bot_token (from @BotFather), or telegram.enabled to false "
                    "and talk to it on the local page; `aouo try` needs neither.",
                )
            )
        if self.telegram.transport == "webhook":
            if not _open(self.telegram.webhook.secret_token):
                found.append(
                    SetupError(
                        "The webhook has no secret, so anybody could send updates.",
                        fix="Set telegram.webhook.secret_token to a long random text.",
                    )
                )
            elif not _WEBHOOK_SECRET.fullmatch(_open(self.telegram.webhook.secret_token)):
                found.append(
                    SetupError(
                        "Telegram takes no such secret for a webhook.",
                        fix="Make telegram.webhook.secret_token 1-256 of A-Z a-z 0-9 _ and -.",
                    )
                )
            if not self.telegram.webhook.address[0]:
                found.append(
                    SetupError(
                        f"Nothing can listen at {self.telegram.webhook.listen!r}.",
                        fix="Set telegram.webhook.listen to address and port: 127.0.0.1:8443",
                    )
                )
            if not self.telegram.webhook.url.startswith("https://"):
                found.append(
                    SetupError(
                        "The webhook has no https address that Telegram can call.",
                        fix="Set telegram.webhook.url.",
                    )
                )
        if self.telegram.proxy and not _PROXY.match(self.telegram.proxy):
            found.append(
                SetupError(
                    "telegram.proxy is no address of a proxy.",
                    fix="Begin telegram.proxy with http://, https:// or socks5://.",
                )
            )
        if not _is_loopback(self.dashboard.host) and not _open(self.dashboard.token):
            found.append(
                SetupError(
                    f"The dashboard would be open to the network at {self.dashboard.host}.",
                    fix="Set dashboard.token, or dashboard.host to 127.0.0.1.",
                )
            )
        return tuple(found)

    @property
    def walls_down(self) -> tuple[str, ...]:
        """The keys that take a wall down: what packs may do is confined by nothing else."""
        down = (
            key for key, value in sections.WALLS.items() if getattr(self.security, key) == value
        )
        return tuple(f"security.{key}" for key in down)

    def secrets(self) -> tuple[str, ...]:
        """Return every secret that is set, for the redactor."""
        found: set[str] = set()
        _collect_secrets(self, found)
        return tuple(sorted(found))


_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
"""Source: core.telegram.org/bots/api#setwebhook."""
_PROXY = re.compile(r"(https?|socks5h?)://[^/\s]+", re.IGNORECASE)


def _open(secret: SecretStr) -> str:
    return secret.get_secret_value()


def _is_loopback(host: str) -> bool:
    return host in {"localhost", "::1", "[::1]"} or host.startswith("127.")


def _bare(url: str) -> str:
    return url.rstrip("/")


def _with_path(url: str, path: str) -> str:
    url = _bare(url)
    return url if url.endswith(path) else url + path


def _is_place(text: str) -> bool:
    """Whether the text is an existing path, which is no secret.

    Redacting it would also redact other paths that begin with it.
    """
    return text.startswith("/") and os.path.exists(text)  # noqa: PTH110 - false for any text


def _collect_secrets(value: object, found: set[str]) -> None:
    match value:
        case SecretStr():
            found.add(_open(value))
        case sections.McpServer(env=env):
            found.update(text for text in map(_open, env.values()) if not _is_place(text))
            _collect_secrets(value.headers, found)
            _collect_secrets(value.url, found)
            _collect_secrets(value.args, found)
        case BaseModel():
            for name in type(value).model_fields:
                _collect_secrets(getattr(value, name), found)
        case dict():
            for item in cast("dict[str, object]", value).values():
                _collect_secrets(item, found)
        case tuple():
            for item in cast("tuple[object, ...]", value):
                _collect_secrets(item, found)
        case str():
            found.update(secrets_in(value))
        case _:
            pass
    found.discard("")
