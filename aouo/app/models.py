"""Which model answers, made from the settings, and which ones step in for it."""

from __future__ import annotations

from contextlib import AsyncExitStack

import aiohttp

from aouo.app.zones import zone_of
from aouo.errors import SetupError
from aouo.outbound import wording_small
from aouo.ports import ChatModel, Clock
from aouo.providers.compatible import CompatibleModel
from aouo.providers.dialect import Dialects
from aouo.providers.fallback import FallbackModel
from aouo.providers.windows import known, sees
from aouo.settings import OpenAI, Settings

_DEFAULT_MODELS = {
    "openai": "gpt-4o-mini",
    "groq": "llama-3.3-70b-versatile",
    "gemini": "gemini-2.5-flash",
    "deepseek": "deepseek-chat",
}


def configured(settings: Settings) -> tuple[tuple[str, str], ...]:
    """(backend, model) of the primary and of those that step in for it; "" = none is chosen."""
    wanted = (settings.provider, *settings.provider.fallback)
    return tuple((one.backend, one.model or _DEFAULT_MODELS.get(one.backend, "")) for one in wanted)


def key_missing(settings: Settings, backend: str) -> bool:
    """Whether a backend cannot be asked because no key is set; a server of one's own may need none.

    Raises:
        SetupError: there is no such backend.
    """
    if settings.provider_endpoint(backend).api_key or backend not in _DEFAULT_MODELS:
        return False
    return not (backend == "openai" and settings.openai.base_url != OpenAI().base_url)


async def model_of(
    settings: Settings,
    session: aiohttp.ClientSession,
    stack: AsyncExitStack,
    clock: Clock,
    dialects: Dialects | None = None,
) -> FallbackModel:
    """Build the configured models; what they start is closed with `stack`. What they learn of
    their services is kept in `dialects`.

    Raises:
        SetupError: no key, no address or no weights; says what to edit.
    """
    wanted = settings.provider
    build = _Builder(settings, session, stack, dialects or Dialects())
    primary = build.model(wanted.backend, wanted.model, "provider")
    others = [
        build.model(other.backend, other.model, f"provider.fallback.{at}")
        for at, other in enumerate(wanted.fallback)
    ]
    # The embedded model starts its child again by itself; what fails then fails again.
    retries = 0 if wanted.backend == "local" else wanted.max_retries
    zone = zone_of(settings.cron.timezone)
    return FallbackModel([primary, *others], clock=clock, max_retries=retries, zone=zone)


class _Builder:
    def __init__(
        self,
        settings: Settings,
        session: aiohttp.ClientSession,
        stack: AsyncExitStack,
        dialects: Dialects,
    ) -> None:
        self._dialects = dialects
        self._settings = settings
        self._session = session
        self._stack = stack

    def model(self, backend: str, model: str, key: str) -> ChatModel:
        """One model; `key` is where the configuration names it."""
        if backend == "local":
            return self._local()
        settings = self._settings
        endpoint = settings.provider_endpoint(backend)
        if key_missing(settings, backend):
            raise SetupError(
                f"There is no key for the model backend {backend!r}.",
                fix=f"Set {backend}.api_key, or {key}.backend to another one.",
            )
        model = model or _DEFAULT_MODELS.get(backend, "")
        if not model:
            raise SetupError(
                f"No model is chosen for the backend {backend!r}.", fix=f"Set {key}.model."
            )
        window = settings.advanced.context_window or endpoint.context_window
        window = window or known(model).window_tokens
        if backend == "gemini":
            return self._gemini(model, endpoint.api_key, window)
        return CompatibleModel(
            provider=backend,
            model=model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            context_window=window,
            sees=sees(model, settings.provider.vision),
            session=self._session,
            request_timeout_s=float(settings.provider.request_timeout_s),
            stream_idle_timeout_s=float(settings.provider.stream_idle_timeout_s),
            dialects=self._dialects,
        )

    def _gemini(self, model: str, api_key: str, window: int) -> ChatModel:
        from aouo.providers.gemini import GeminiModel

        settings = self._settings
        return GeminiModel(
            provider="gemini",
            model=model,
            api_key=api_key,
            base_url=settings.gemini.base_url,
            context_window=window,
            sees=sees(model, settings.provider.vision),
            session=self._session,
            request_timeout_s=float(settings.provider.request_timeout_s),
            stream_idle_timeout_s=float(settings.provider.stream_idle_timeout_s),
            dialects=self._dialects,
        )

    def _local(self) -> ChatModel:
        from aouo.providers.local import LocalModel  # heavy, and rarely together with a key

        local = self._settings.local
        model = LocalModel(
            model_path=local.model_path,
            threads=local.threads,
            context=local.context,
            session=self._session,
            words=wording_small,
        )
        self._stack.push_async_callback(model.aclose)
        return model
