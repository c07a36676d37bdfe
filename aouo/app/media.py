"""What understands the files that people send, made from the settings."""

from __future__ import annotations

from aouo.app.base import Base
from aouo.facts.notices import Lack
from aouo.flow.files.intake import Intake, Senses
from aouo.outbound.outbox import Outbox
from aouo.providers.known.windows import window_of
from aouo.speech.services import Ears
from aouo.spending.quota import Quota
from aouo.turn.sight import Sight


def intake_of(base: Base, ears: Ears | Lack, quota: Quota, outbox: Outbox) -> Intake:
    """Whatever is not set up is said to the person when it is needed."""
    return Intake(
        database=base.database,
        clock=base.clock,
        folder=base.home.media,
        senses=Senses(base.telegram, ears, _eyes(base, quota)),
        quota=quota,
        show=outbox.action,
    )


def _eyes(base: Base, quota: Quota) -> Sight | None:
    """None = `gemini.vision_model` is empty, or there is no key for it."""
    gemini = base.settings.gemini
    key = gemini.api_key.get_secret_value()
    if not gemini.vision_model or not key:
        return None
    from aouo.providers.gemini.model import GeminiModel  # few have it set up

    provider = base.settings.provider
    model = GeminiModel(
        provider="gemini",
        model=gemini.vision_model,
        api_key=key,
        base_url=gemini.base_url,
        context_window=window_of(gemini.vision_model),
        sees=True,
        session=base.session,
        request_timeout_s=float(provider.request_timeout_s),
        stream_idle_timeout_s=float(provider.stream_idle_timeout_s),
    )
    return Sight(quota=quota, model=model)
