"""Who speaks and who listens, made from the settings."""

from __future__ import annotations

from aouo.providers.http import Session
from aouo.providers.speech import Backend, Speaker, SpeechService, Transcriber
from aouo.settings import Settings


def speaker_of(settings: Settings, session: Session) -> Speaker | None:
    """None = `tts.backend` is off, not built, or has no key."""
    wish = settings.tts
    if wish.backend not in ("openai", "groq"):
        return None
    service = _service(settings, session, wish.backend, _key(settings, wish.backend))
    return service and Speaker(service, model=wish.model, voice=wish.voice)


def transcriber_of(settings: Settings, session: Session) -> Transcriber | None:
    """None = `stt.backend` is off, not built, or has no key."""
    wish = settings.stt
    if wish.backend not in ("openai", "groq"):
        return None
    service = _service(settings, session, wish.backend, settings.stt_api_key)
    return service and Transcriber(service, model=wish.model)


def _key(settings: Settings, backend: Backend) -> str:
    return settings.provider_endpoint(backend).api_key


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
