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
from aouo.facts.languages import bundled
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import secrets_of

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
    fixes = bundled("aouo.cli.doctoring", "fixes.yml")
    kind = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in fixes), "")
    pause_s = error.retry_after_s if isinstance(error, errors.ProviderBusy) else 0.0
    if kind in ("ProviderBusy", "ProviderTimeout") and (pause_s > _SOON_S or not reached):
        kind = "pause" if pause_s > _SOON_S else "unreached"
    hours, minutes = divmod(math.ceil(pause_s / 60), 60)
    billed = " With Gemini an account with billing may be enough." if backend == "gemini" else ""
    owner = f"providers.{backend}" if backend in settings.providers else backend
    return fixes.get(kind, "").format(
        key=key, owner=owner, hours=hours, minutes=minutes, billed=billed
    )
