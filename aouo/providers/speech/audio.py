"""Recognises and converts sound, cuts texts for voices; the limits of services as data.

Source: core.telegram.org/bots/api#sendvoice: an .OGG file encoded with OPUS.

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

import io
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

from aouo.facts.errors import ProviderBusy
from aouo.facts.languages import bundled
from aouo.plumbing import magic

_OPUS_RATES_HZ = (8_000, 12_000, 16_000, 24_000, 48_000)
VOICE = "audio/ogg"
"""The media type of Opus in Ogg."""
_BLOCK = 48_000  # frames; long sounds are encoded in pieces


@dataclass(frozen=True, slots=True)
class Audio:
    """One sound; `suffix` is the usual file name ending of its format."""

    data: bytes
    media_type: str
    suffix: str

    @property
    def is_voice(self) -> bool:
        return self.media_type == VOICE


def voice_note(data: bytes) -> Audio:
    """Return `data` as Ogg/Opus; unchanged if soundfile is not installed or cannot read it.

    Raises:
        ProviderBusy: it is no known sound format.
    """
    if data.startswith(b"OggS") and b"OpusHead" in data[:64]:
        return Audio(data, VOICE, ".ogg")
    kind = magic.type_of(data)
    if kind not in magic.ENDINGS:
        raise ProviderBusy(f"what came is no sound: {data[:40]!r}")
    try:
        return Audio(_as_opus(data), VOICE, ".ogg")
    except (ImportError, RuntimeError):  # RuntimeError is the root of soundfile's errors
        return Audio(data, "application/ogg" if kind == VOICE else kind, magic.ENDINGS[kind])


def one_wav(parts: Sequence[bytes]) -> bytes:
    """Join WAV files of one format, sample by sample, into one file.

    The lengths in their headers are ignored: a service that streams speech does not know them yet
    and writes 0 or 2³²-1.

    Raises:
        ProviderBusy: one of them is no WAV file, or has another format than the first.
    """
    kinds: set[bytes] = set()
    sound: list[bytes] = []
    for part in parts:
        chunks = dict(_chunks(part))
        if b"fmt " not in chunks or b"data" not in chunks:
            raise ProviderBusy(f"what came is no WAV file: {part[:40]!r}")
        kinds.add(chunks[b"fmt "])
        sound.append(chunks[b"data"])
    if len(kinds) != 1:
        raise ProviderBusy(f"what came are WAV files of {len(kinds)} kinds")
    body = b"WAVE" + _chunk(b"fmt ", kinds.pop()) + _chunk(b"data", b"".join(sound))
    return _chunk(b"RIFF", body)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a WAV file up to `data`, which is the last one used."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"data":
            known = 0 < size <= len(data) - at
            yield name, data[at : at + size] if known else data[at:]
            return
        yield name, data[at : at + size]
        at += size + size % 2


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def opus_of(samples: Any, rate_hz: int) -> bytes:
    """Encode an array of frames × channels as Ogg/Opus with one channel."""
    soundfile: Any = import_module("soundfile")
    if rate_hz not in _OPUS_RATES_HZ:
        samples, rate_hz = _resampled(samples, rate_hz, _OPUS_RATES_HZ[-1])
    note = io.BytesIO()
    how = {"samplerate": rate_hz, "channels": 1, "format": "OGG", "subtype": "OPUS"}
    with soundfile.SoundFile(note, "w", **how) as file:
        for at in range(0, len(samples), _BLOCK):
            file.write(samples[at : at + _BLOCK].mean(axis=1))
    return note.getvalue()


def _as_opus(data: bytes) -> bytes:
    soundfile: Any = import_module("soundfile")
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    return opus_of(samples, rate_hz)


def _resampled(samples: Any, rate_hz: int, wanted_hz: int) -> tuple[Any, int]:
    """Resample linearly to a higher rate, which is enough for a voice."""
    numpy: Any = import_module("numpy")
    frames = len(samples) * wanted_hz // rate_hz
    places = numpy.arange(frames) * (rate_hz / wanted_hz)
    known = numpy.arange(len(samples))
    return numpy.interp(places, known, samples.mean(axis=1))[:, None], wanted_hz


_SENTENCE_END = re.compile(r"[.!?…:;]+[\"'»”’)\]]*(?=\s)|[。！？]+[」』”]*|\n+")
_SPACES = re.compile(r"\s+")


def pieces(text: str, limit: int) -> tuple[str, ...]:
    """Return `text` in pieces of at most `limit` characters.

    Joined they are `text` again, spaces included.
    """
    return tuple(_cut(text, limit))


def _cut(text: str, limit: int) -> Iterator[str]:
    while len(text) > limit:
        end = _last_end(_SENTENCE_END, text, limit) or _last_end(_SPACES, text, limit) or limit
        yield text[:end]
        text = text[end:]
    if text:
        yield text


def _last_end(mark: re.Pattern[str], text: str, limit: int) -> int:
    """Return the end of the last `mark` that fits with the spaces after it; 0 = there is none."""
    ends = (_after_spaces(text, found.end()) for found in mark.finditer(text, 0, limit + 1))
    return max((end for end in ends if end <= limit), default=0)


def _after_spaces(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    return found.end() if found else at


Backend: TypeAlias = Literal["openai", "groq"]


@dataclass(frozen=True, slots=True)
class _SpeechRules:
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


RULES: Mapping[Backend, _SpeechRules] = {
    name: _SpeechRules(**row)
    for name, row in bundled("aouo.providers.speech", "services.yml").items()
}


def ears_model(backend: Backend, model: str) -> str:
    """Return the service's name of the model that listens; "" = its usual one.

    The default of `stt.model` is Groq's; with openai it was not chosen on purpose.
    """
    usual = RULES[backend].ears_model
    return usual if backend == "openai" and model == RULES["groq"].ears_model else model or usual
