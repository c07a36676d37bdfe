"""Who speaks and who listens, made from the settings."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from aouo.config.settings import Settings, SpeechToText
from aouo.facts.notices import Lack
from aouo.providers.http import Session
from aouo.speech.services import Backend, Ears, Speaker, SpeechService, Transcriber, Voice


@dataclass(frozen=True, slots=True)
class Speech:
    """Both, or why there is nobody."""

    ears: Ears | Lack
    voice: Voice | Lack


def speech_of(settings: Settings, session: Session, stack: AsyncExitStack) -> Speech:
    """What is set up; what it starts is closed with `stack`."""
    if "local" in (settings.stt.backend, settings.tts.backend):
        return _with_local(settings, session, stack)
    return Speech(_ears(settings, session), _voice(settings, session))


def own_ears(settings: Settings) -> str:
    """The folder of the owner's own model, "" = the packaged one.

    The default of `stt.model` names a service's model and was chosen by nobody.
    """
    model = settings.stt.model
    return "" if model == SpeechToText().model else model


def _with_local(settings: Settings, session: Session, stack: AsyncExitStack) -> Speech:
    """One worker process for whichever of the two is `local`."""
    from aouo.speech.local import LocalSpeech, Models, lack_of_ears, lack_of_voice  # rare

    models = Models(ears=own_ears(settings), voice=settings.tts.model)
    patience_s = float(settings.provider.request_timeout_s)
    local = LocalSpeech(models, usual_voice=settings.tts.voice, patience_s=patience_s)
    stack.push_async_callback(local.aclose)
    return Speech(
        lack_of_ears(models.ears) or local
        if settings.stt.backend == "local"
        else _ears(settings, session),
        lack_of_voice(models.voice) or local
        if settings.tts.backend == "local"
        else _voice(settings, session),
    )


def _voice(settings: Settings, session: Session) -> Voice | Lack:
    """A service's voice; unset = `tts.backend` is off, or has no key."""
    wish = settings.tts
    if wish.backend not in ("openai", "groq"):
        return "unset"
    key = settings.provider_endpoint(wish.backend).api_key
    service = _service(settings, session, wish.backend, key)
    return Speaker(service, model=wish.model, voice=wish.voice) if service else "unset"


def _ears(settings: Settings, session: Session) -> Ears | Lack:
    """A service that listens; unset = `stt.backend` is off, or has no key."""
    wish = settings.stt
    if wish.backend not in ("openai", "groq"):
        return "unset"
    service = _service(settings, session, wish.backend, settings.stt_api_key)
    return Transcriber(service, model=wish.model) if service else "unset"


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
