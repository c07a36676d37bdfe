"""The value of one finding of `aouo doctor`, and how a service is asked for one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from aouo.config.settings import Settings
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.web.session import secrets_of

_T = TypeVar("_T")

_Mark: TypeAlias = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: the part, its status with details, and how to mend it."""

    name: str
    status: _Mark
    detail: str
    fix: str = ""


def quietly(settings: Settings, work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` with a silent log: what it would say is in the findings."""
    with Logs(redactor=Redactor(secrets_of(settings.secrets())), quiet=True):
        return asyncio.run(work)
