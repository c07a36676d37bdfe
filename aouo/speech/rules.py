"""The limits and usual models of the speech services, as data with their sources.

Sources, read on 23 November 2026:
- developers.openai.com/api/docs/guides/text-to-speech: `tts-1`, `tts-1-hd` and `gpt-4o-mini-tts`
  end on 6 January 2027; the successor OpenAI names, `gpt-realtime-2.1-mini`, is not on
  `/audio/speech`. The API reference allows 4,096 characters; pages about the model say 2,000.
- developers.openai.com/api/docs/guides/speech-to-text: `gpt-transcribe` is the one to use, files
  up to 25 MB; `whisper-1` and the `gpt-4o` models for it end on 26 February 2027.
- console.groq.com/docs/text-to-speech/orpheus (as quoted in jgravelle/GroqApiLibrary#13, 12 July
  2026): 200 characters a call, WAV only ("response_format must be one of [wav]").
- docs.memberjunction.org, GroqAudioGenerator ("Groq's 25MB upload ceiling"): not Groq's own page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Backend: TypeAlias = Literal["openai", "groq"]


@dataclass(frozen=True, slots=True)
class SpeechRules:
    """One service's rules: `sound` is the format to ask for, `joined` that for pieces of a text."""

    voice_model: str
    voice: str
    sound: str
    joined: str
    max_chars: int
    """The longest text of one call."""
    ears_model: str
    max_heard_bytes: int
    """The largest file to transcribe."""


RULES: dict[Backend, SpeechRules] = {
    "openai": SpeechRules(
        voice_model="gpt-4o-mini-tts",
        voice="alloy",
        sound="opus",  # a voice note as Telegram wants it
        joined="wav",
        max_chars=2000,
        ears_model="gpt-transcribe",
        max_heard_bytes=25 * 1024 * 1024,
    ),
    "groq": SpeechRules(
        voice_model="canopylabs/orpheus-v1-english",
        voice="hannah",
        sound="wav",
        joined="wav",
        max_chars=200,
        ears_model="whisper-large-v3-turbo",
        max_heard_bytes=25 * 1024 * 1024,
    ),
}


def ears_model(backend: Backend, model: str) -> str:
    """Return the service's name of the model that listens; "" = its usual one.

    The default of `stt.model` is Groq's; with openai it was not chosen on purpose.
    """
    usual = RULES[backend].ears_model
    return usual if backend == "openai" and model == RULES["groq"].ears_model else model or usual
