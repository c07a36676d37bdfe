"""Which model answers, made from the settings."""

from __future__ import annotations

from contextlib import AsyncExitStack

import aiohttp

from aouo.errors import SetupError
from aouo.ports import ChatModel
from aouo.providers.compatible import CompatibleModel
from aouo.settings import Settings

_DEFAULT_MODELS = {
    "openai": "gpt-4o-mini",
    "groq": "llama-3.3-70b-versatile",
    "gemini": "gemini-2.5-flash",
    "deepseek": "deepseek-chat",
}
_WINDOWS = {"openai": 128_000, "groq": 131_072, "gemini": 1_000_000, "deepseek": 64_000}
_UNKNOWN_WINDOW = 32_768


async def model_of(
    settings: Settings, session: aiohttp.ClientSession, stack: AsyncExitStack
) -> ChatModel:
    """Build the configured model; what it starts is closed with `stack`.

    Raises:
        SetupError: no key, no address or no weights; says what to edit.
    """
    backend = settings.provider.backend
    if backend == "local":
        from aouo.providers.local import LocalModel  # heavy, and rarely together with a key

        local = LocalModel(
            model_path=settings.local.model_path,
            threads=settings.local.threads,
            context=settings.local.context,
            session=session,
        )
        stack.push_async_callback(local.aclose)
        return local
    endpoint = settings.provider_endpoint(backend)
    if not endpoint.api_key and backend in _DEFAULT_MODELS:
        raise SetupError(
            f"There is no key for the model backend {backend!r}.",
            fix=f"Set {backend}.api_key, or provider.backend to another one.",
        )
    model = settings.provider.model or _DEFAULT_MODELS.get(backend, "")
    if not model:
        raise SetupError(
            f"No model is chosen for the backend {backend!r}.", fix="Set provider.model."
        )
    return CompatibleModel(
        provider=backend,
        model=model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        context_window=endpoint.context_window or _WINDOWS.get(backend, _UNKNOWN_WINDOW),
        session=session,
        request_timeout_s=float(settings.provider.request_timeout_s),
        stream_idle_timeout_s=float(settings.provider.stream_idle_timeout_s),
    )
