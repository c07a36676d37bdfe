"""What understands the files that people send, made from the settings."""

from __future__ import annotations

import aiohttp

from aouo.config.settings import Settings
from aouo.providers.known.windows import window_of
from aouo.spending.quota import Quota
from aouo.turn.sight import Sight


def eyes_of(settings: Settings, session: aiohttp.ClientSession, quota: Quota) -> Sight | None:
    """None = `gemini.vision_model` is empty, or there is no key for it."""
    gemini = settings.gemini
    key = gemini.api_key.get_secret_value()
    if not gemini.vision_model or not key:
        return None
    from aouo.providers.gemini.model import GeminiModel  # few have it set up

    provider = settings.provider
    model = GeminiModel(
        provider="gemini",
        model=gemini.vision_model,
        api_key=key,
        base_url=gemini.base_url,
        context_window=window_of(gemini.vision_model),
        sees=True,
        session=session,
        request_timeout_s=float(provider.request_timeout_s),
        stream_idle_timeout_s=float(provider.stream_idle_timeout_s),
    )
    return Sight(quota=quota, model=model)
