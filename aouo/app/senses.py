"""Builds what speaks, listens and looks at pictures from the settings."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

from aouo.config.sections import SpeechToText
from aouo.config.settings import Settings
from aouo.facts.notices_media import Lack
from aouo.plumbing.resources import Holder
from aouo.providers.http import Session
from aouo.providers.known.windows import window_of
from aouo.speech.services import Backend, Ears, PriceOf, Speaker, SpeechService, Transcriber, Voice
from aouo.spending.money import Prices, Unit
from aouo.spending.quota import Quota
from aouo.turn.sight import Sight


@dataclass(frozen=True, slots=True)
class Speech:
    """Both, or why there is nobody."""

    ears: Ears | Lack
    voice: Voice | Lack


def speech_of(
    settings: Settings, session: Session, held: Holder, prices: Prices | None = None
) -> Speech:
    """What is set up; what it starts is closed with `held`."""
    prices = prices or Prices()
    if "local" in (settings.stt.backend, settings.tts.backend):
        return _with_local(settings, session, held, prices)
    return Speech(_ears(settings, session, prices), _voice(settings, session, prices))


def _unit_price(prices: Prices, unit: Unit) -> PriceOf:
    return lambda provider, model: prices.of_unit(unit, provider, model)[0]


def own_ears(settings: Settings) -> str:
    """The folder of the owner's own model, "" = the packaged one.

    The default of `stt.model` names a service's model and was chosen by nobody.
    """
    model = settings.stt.model
    return "" if model == SpeechToText().model else model


def _with_local(settings: Settings, session: Session, held: Holder, prices: Prices) -> Speech:
    """One worker process for whichever of the two is `local`."""
    from aouo.speech.local import LocalSpeech, Models, lack_of_ears, lack_of_voice  # rare

    models = Models(ears=own_ears(settings), voice=settings.tts.model)
    patience_s = float(settings.provider.request_timeout_s)
    voice = settings.tts.voice
    local = held.take(
        ("local speech", models, voice, patience_s),
        lambda: LocalSpeech(models, usual_voice=voice, patience_s=patience_s),
        LocalSpeech.aclose,
    )
    return Speech(
        lack_of_ears(models.ears) or local
        if settings.stt.backend == "local"
        else _ears(settings, session, prices),
        lack_of_voice(models.voice) or local
        if settings.tts.backend == "local"
        else _voice(settings, session, prices),
    )


def _voice(settings: Settings, session: Session, prices: Prices) -> Voice | Lack:
    """A service's voice; unset = `tts.backend` is off, or has no key."""
    wish = settings.tts
    if wish.backend not in ("openai", "groq"):
        return "unset"
    key = settings.provider_endpoint(wish.backend).api_key
    service = _service(settings, session, wish.backend, key)
    if service is None:
        return "unset"
    price = _unit_price(prices, "million_characters")
    return Speaker(service, model=wish.model, voice=wish.voice, price=price)


def _ears(settings: Settings, session: Session, prices: Prices) -> Ears | Lack:
    """A service that listens; unset = `stt.backend` is off, or has no key."""
    wish = settings.stt
    if wish.backend not in ("openai", "groq"):
        return "unset"
    service = _service(settings, session, wish.backend, settings.stt_api_key)
    if service is None:
        return "unset"
    return Transcriber(service, model=wish.model, price=_unit_price(prices, "minute"))


def _service(
    settings: Settings, session: Session, backend: Backend, key: str
) -> SpeechService | None:
    if not key:
        return None
    return SpeechService(
        backend=backend,
        base_url=settings.provider_endpoint(backend).base_url,
        api_key=key,
        session=session,
        request_timeout_s=float(settings.provider.request_timeout_s),
    )


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
