"""Hears and speaks in a child process: Whisper by CTranslate2, a voice by ONNX.

Native threads and their memory stay out of the runtime. A thread serves each request; inside the
library the pieces of several recordings take turns. The first request that needs weights loads
them. The process ends with its stdin, and when it is idle for a while.

A request is one JSON line with the key and `hear` (a path) or `speak` (a text) and `voice`. The
answer is JSON lines: `{"alive": true}` for each piece that is done, and at last one of
`{"text": …, "unclear": …}`, `{"sound": n}` followed by n bytes, `{"refused": why}` or
`{"broken": why}`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socketserver
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hmac import compare_digest
from importlib import import_module
from pathlib import Path
from typing import Any

from aouo.providers.speech.audio import opus_of

_HEARD_HZ = 16_000
_MAX_HEARD_S = 30 * 60
_MAX_REQUEST_BYTES = 1_000_000
_UNCLEAR = "[unclear]"
"""Replaces a piece that is not understood, among others that are."""

_SURE = -0.85
"""The least mean log probability of a piece that counts. The packaged model gave synthetic English
at least -0.81 where it was right, and speech in six unknown languages at most -0.89."""
_REPETITIVE = 2.4
"""A text that compresses more than this repeats itself: Whisper's own measure."""
# FFmpeg also knows formats that list other files and addresses, which it would open.
_OPENED = {
    "format_whitelist": "ogg,mov,mp3,wav,flac,matroska,aac,amr,aiff,caf",
    "protocol_whitelist": "none",
}
_USUAL_VOICE = "heart"


class _Refused(Exception):
    """The request cannot be carried out, also not by a retry."""


class _Ears:
    """Transcribes recordings; `folder` holds a Whisper model for CTranslate2."""

    def __init__(self, folder: str, threads: int) -> None:
        self._folder = folder
        self._threads = threads
        self._loading = threading.Lock()
        self._model: Any = None

    def hear(self, path: str) -> Iterator[dict[str, Any]]:
        model = self._loaded()
        samples = _samples(path)
        vad: Any = import_module("faster_whisper.vad")
        said: list[str] = []
        # Checked first, since a multilingual model detects the language before anything else.
        if len(samples) and vad.get_speech_timestamps(samples):
            pieces, _ = model.transcribe(
                samples,
                vad_filter=True,  # silence makes Whisper write "Thank you."
                temperature=0.0,  # no fallback to random guesses
                condition_on_previous_text=False,
            )
            for piece in pieces:
                sure = piece.avg_logprob >= _SURE and piece.compression_ratio <= _REPETITIVE
                text = str(piece.text).strip() if sure else _UNCLEAR
                if text and not (text == _UNCLEAR and said[-1:] == [_UNCLEAR]):
                    said.append(text)
                yield {"alive": True}
        unclear = said == [_UNCLEAR]
        yield {"text": "" if unclear else " ".join(said), "unclear": unclear}

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                whisper: Any = import_module("faster_whisper")
                self._model = whisper.WhisperModel(
                    self._folder, device="cpu", compute_type="int8", cpu_threads=self._threads
                )
            return self._model


class _Voices:
    """Speaks; `model` is another model file for the usual voice, "" = the packaged one."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._loading = threading.Lock()
        self._loaded: dict[str, Any] = {}

    def speak(self, text: str, voice: str) -> Iterator[dict[str, Any] | bytes]:
        numpy: Any = import_module("numpy")
        speaker = self._speaker(voice or _USUAL_VOICE)
        parts: list[Any] = []
        for part in speaker.stream(text):
            parts.append(part)
            yield {"alive": True}
        samples: Any = numpy.concatenate(parts) if parts else ()
        if not len(samples):
            raise _Refused("there is nothing in it that this voice can say")
        sound = opus_of(samples[:, None], int(speaker.sample_rate))
        yield {"sound": len(sound)}
        yield sound

    def _speaker(self, voice: str) -> Any:
        with self._loading:
            if voice not in self._loaded:
                hibari: Any = import_module("hibari")
                voices: Any = import_module("hibari.voices")
                try:
                    here = self._model or voices.voice_path(voice, download_missing=False)
                except (ValueError, OSError) as error:
                    raise _Refused(f"no voice {voice!r} is on this machine") from error
                self._loaded[voice] = hibari.Hibari(voice=voice, model=here)
            return self._loaded[voice]


def _samples(path: str) -> Any:
    """Decode the sound of a file to one channel at `_HEARD_HZ`; empty if it is a picture."""
    av: Any = import_module("av")
    numpy: Any = import_module("numpy")
    parts: list[Any] = []
    length = 0
    try:
        with Path(path).open("rb") as file, av.open(file, container_options=_OPENED) as sound:
            for part in _decoded(sound, av) if sound.streams.audio else ():
                parts.append(part)
                length += len(part)
                if length > _MAX_HEARD_S * _HEARD_HZ:
                    raise _Refused(f"it is longer than {_MAX_HEARD_S // 60} minutes")
    except (av.FFmpegError, OSError) as error:
        if not parts:  # the readable part of a damaged file is used
            raise _Refused(f"it is no sound that can be read: {error}") from error
    return numpy.concatenate(parts) if parts else numpy.zeros(0, "float32")


def _decoded(sound: Any, av: Any) -> Iterator[Any]:
    resampler = av.AudioResampler(format="flt", layout="mono", rate=_HEARD_HZ)
    for frame in sound.decode(audio=0):
        frame.pts = None  # wrong ones in a file do not matter here
        for part in resampler.resample(frame):
            yield part.to_ndarray()[0]
    for part in resampler.resample(None):
        yield part.to_ndarray()[0]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, key: str, ears: _Ears, voices: _Voices, idle_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.key = key
        self.ears = ears
        self.voices = voices
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._at_work = 0
        self._since_s = time.monotonic()

    @contextmanager
    def at_work(self) -> Generator[None]:
        with self._lock:
            self._at_work += 1
        try:
            yield
        finally:
            with self._lock:
                self._at_work -= 1
                self._since_s = time.monotonic()

    def service_actions(self) -> None:
        """Called by `serve_forever` twice a second."""
        with self._lock:
            if not self._at_work and time.monotonic() - self._since_s > self._idle_s:
                os._exit(0)


class _Request(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        with server.at_work():
            asked: dict[str, Any] = json.loads(self.rfile.readline(_MAX_REQUEST_BYTES))
            if not compare_digest(str(asked.get("key")), server.key):
                return
            try:
                for told in self._answers(server, asked):
                    self._tell(told)
            except _Refused as error:
                self._tell({"refused": str(error)})
            except ConnectionError:
                return  # the caller has gone
            except Exception as error:  # noqa: BLE001 - the parent must get any error
                self._tell({"broken": f"{type(error).__name__}: {error}"})

    def _answers(
        self, server: _Server, asked: dict[str, Any]
    ) -> Iterator[dict[str, Any]] | Iterator[dict[str, Any] | bytes]:
        if "hear" in asked:
            return server.ears.hear(str(asked["hear"]))
        return server.voices.speak(str(asked["speak"]), str(asked["voice"]))

    def _tell(self, what: dict[str, Any] | bytes) -> None:
        line = what if isinstance(what, bytes) else json.dumps(what).encode() + b"\n"
        self.wfile.write(line)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ears", required=True)
    parser.add_argument("--voice-model", required=True)
    parser.add_argument("--idle-s", type=float, required=True)
    options = parser.parse_args()
    key = sys.stdin.readline().strip()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ears = _Ears(options.ears, threads=min(4, os.cpu_count() or 1))
    server = _Server(key, ears, _Voices(options.voice_model), options.idle_s)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    sys.stdout.write(json.dumps({"port": server.server_address[1]}) + "\n")
    sys.stdout.flush()
    server.serve_forever()


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # a library's thread may be at work for a long time


if __name__ == "__main__":
    _main()
