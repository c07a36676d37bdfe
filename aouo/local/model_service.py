"""Runs a local model service instead of a real one, and gives the settings that point to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

_SERVICES_OWN = ("AOUO_PROVIDER__", "AOUO_PROVIDERS__")


@asynccontextmanager
async def local_service(
    name: str, tell: Callable[[str], None]
) -> AsyncGenerator[Mapping[str, Any]]:
    """Run a model service like `name`, and yield the settings for it; none if `name` is "".

    Raises:
        SetupError: there is no service profile of that name.
    """
    if not name:
        yield {}
        return
    from aouo.emulator.models.loading import profile
    from aouo.emulator.models.people import SaysBack, note
    from aouo.emulator.models.service import ModelService

    found = profile(name)
    tell(note(found))
    async with ModelService(found, SaysBack(found), keep=False) as service:
        yield service.settings()


def without_services(environ: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment without variables that would point the trial to a real service."""
    real = (*_SERVICES_OWN, *(f"AOUO_{section.upper()}__" for section in settings))
    return {
        key: value
        for key, value in environ.items()
        if not settings or not (key.startswith(real) or key.endswith("_API_KEY"))
    }
