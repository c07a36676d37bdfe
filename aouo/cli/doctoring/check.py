"""The value of one finding of `aouo doctor`, and what may mend a model that failed a test.

A proxy or a certificate on the way is told with its cure by `web.certificates.cure_of`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from aouo.config.settings import Settings
from aouo.facts import errors
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import secrets_of
from aouo.providers.failures import NotServed

_T = TypeVar("_T")

_Mark: TypeAlias = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: the part, its status with details, and how to mend it."""

    name: str
    status: _Mark
    detail: str
    fix: str = ""

    @property
    def line(self) -> str:
        """What the terminal shows of it."""
        fix = f"\n     → {self.fix}" if self.fix else ""
        return f"{self.status:<4} {self.name}: {self.detail}{fix}"


def quietly(settings: Settings, work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` with a silent log: what it would say is in the findings."""
    with Logs(redactor=Redactor(secrets_of(settings.secrets())), quiet=True):
        return asyncio.run(work)


_SOON_S = 60.0


def fix_of(error: errors.AouoError, settings: Settings, key: str, *, reached: bool) -> str:
    """What may mend it; `key` names the model in the configuration, and `reached` says whether
    anybody answers at its address."""
    backend = settings.provider.backend
    owner = f"providers.{backend}" if backend in settings.providers else backend
    match error:
        case errors.ProviderAuth():
            return f"Set {owner}.api_key."
        case errors.ProviderBilling():
            return "Put money on the account or raise its limit, or choose another model."
        case errors.ModelGone():
            return f"Set {key} to another one."
        case errors.ContentFiltered():
            return "The test was harmless: ask again, or look at the filters of the account."
        case errors.ProviderBusy() | errors.ProviderTimeout():
            return _waiting(error, reached=reached)
        case errors.RegionRefused():
            billed = " With Gemini an account with billing may be enough."
            return (
                "Run aouo in another country, go through a proxy there (HTTPS_PROXY), or use "
                f"another service.{billed if backend == 'gemini' else ''}"
            )
        case errors.NoModelService():
            return (
                f"Look at {owner}.base_url (most end in /v1), and whether a login page of this "
                "network stands before it."
            )
        case errors.ProviderBroke():
            return (
                "Load the model there, if it is not. If it needs more memory than there is: end "
                "other programs there, give it a smaller window (OLLAMA_CONTEXT_LENGTH), or set "
                f"{key} to a smaller one. The server's own log knows more."
            )
        case NotServed():
            return (
                f"Look at {owner}.base_url (most end in /v1), or set {key} to a model that takes "
                "tools, as packs need."
            )
        case errors.ToolsRefused():
            return (
                f"Set {key} to a model that takes tools, as packs need; a server of your own may "
                "have to be started with them."
            )
        case errors.PromptTooLong():
            return "Give the model a larger window where it runs: this test is short."
        case errors.ProviderRejected():
            return f"Mend what it names, or set {key} to a model that takes tools, as packs need."
        case _:
            return ""


def _waiting(error: errors.ProviderBusy | errors.ProviderTimeout, *, reached: bool) -> str:
    match error:
        case errors.QuotaUsedUp():
            return (
                "Wait for its next day, take a larger plan, or let another step in: "
                "provider.fallback."
            )
        case errors.PlanTooSmall():
            return "Take a larger plan or another model: a conversation takes more than this test."
        case errors.Stumbled():
            return "Ask again; packs need a model that calls tools well."
        case errors.ProviderBusy(retry_after_s=asked_s) if asked_s > _SOON_S:
            hours, minutes = divmod(math.ceil(asked_s / 60), 60)
            return (
                f"It asks for a pause of {hours:,} h {minutes} min; until then another model can "
                "step in: provider.fallback."
            )
        case _ if not reached:
            return "Check the address, the network and the proxy, if there is one."
        case _:
            return (
                "Ask again in a minute; if it stays so, the service's own log or status page "
                "knows more."
            )
