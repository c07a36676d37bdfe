"""Implements python-telegram-bot's HTTP over our session, and translates its errors.

A call costs half of what the default client costs. It also tells what the default cannot: whether
a failed request may have been carried out.

Source: reference, "Outbound" and "Other errors"; a part of the text is matched, in any case.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO, cast

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from telegram import error as failed
from telegram.error import BadRequest, NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from aouo.facts import errors
from aouo.plumbing import failpoint
from aouo.plumbing.web.certificates import cure_of

_READ_S = 30.0
_CONNECT_S = 10.0
"""A proxy's tunnel and TLS may take as long again; nothing is written before that."""
_UPLOAD_S = 110.0
"""The least time for the answer to a request with files; a little less than a tool may take."""
_UPLOAD_BYTES_PER_S = 500_000
"""How fast a local Bot API server, which takes 2,000 MB, passes an upload on before it answers."""
_STALLED_S = 60.0
"""An upload without progress for so long has failed."""

_PASSING = frozenset({401, 404, 408, 409, 425, 429})
"""Refusals that may pass, or that the library translates itself; the others are final."""


class NotWritten(NetworkError):
    """No connection was made, so the request was never written."""


class NoAnswer(TimedOut):
    """The request was written, but no readable answer came: it may have been carried out."""


class AiohttpRequest(BaseRequest):
    """Sends the library's requests over a session that the composition root owns."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @property
    def read_timeout(self) -> float:
        return _READ_S

    async def initialize(self) -> None:
        """The session is open already."""

    async def shutdown(self) -> None:
        """The session is closed by its owner."""

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = BaseRequest.DEFAULT_NONE,
        write_timeout: object = BaseRequest.DEFAULT_NONE,
        connect_timeout: object = BaseRequest.DEFAULT_NONE,
        pool_timeout: object = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        read_s = read_timeout if isinstance(read_timeout, int | float) else _READ_S
        if request_data and request_data.contains_files:
            read_s = max(read_s, _upload_s(request_data))
        timeout = aiohttp.ClientTimeout(connect=2 * _CONNECT_S, sock_connect=_CONNECT_S)
        called = url.rpartition("/")[2]
        failpoint.reached(f"before {called}")
        try:
            async with (
                asyncio.timeout(read_s) as patience,
                self._session.request(
                    method, url, data=_body(request_data, patience, read_s), timeout=timeout
                ) as response,
            ):
                answer = await response.read()
        except aiohttp.ClientConnectorError as error:
            raise NotWritten(_said(error)) from error
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError) as error:
            raise NotWritten(_said(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(type(error).__name__) from error
        finally:
            failpoint.reached(f"after {called}")
        if response.status == 407:  # from the proxy, which did not pass the request on
            raise NotWritten("a proxy on the way asks for a password (407)")
        if response.status >= 500 and not answer.lstrip().startswith(b"{"):
            raise NoAnswer(f"{response.status} from a proxy")
        if 400 < response.status < 500 and response.status not in {403, *_PASSING}:
            # The library takes it for a network failure: a 413 would be uploaded again for ever.
            raise BadRequest(f"{response.reason} ({response.status})")
        return response.status, answer


def _upload_s(request_data: RequestData) -> float:
    contents = [content for _, content, _ in request_data.multipart_data.values()]
    size = sum(
        len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size
        for content in contents
    )
    return max(_UPLOAD_S, size / _UPLOAD_BYTES_PER_S)


def _said(error: Exception) -> str:
    cure = cure_of(error)
    return f"{cure} ({type(error).__name__})" if cure else type(error).__name__


def _extend(patience: asyncio.Timeout, seconds: float) -> None:
    with suppress(RuntimeError):  # the answer came before the whole file was sent
        patience.reschedule(asyncio.get_running_loop().time() + seconds)


@dataclass(slots=True)
class _Watched:
    """A writer that allows time for the next chunk with each one that it wrote."""

    writer: AbstractStreamWriter
    patience: asyncio.Timeout

    async def write(self, chunk: bytes) -> None:
        await self.writer.write(chunk)
        _extend(self.patience, _STALLED_S)


def _body(
    request_data: RequestData | None, patience: asyncio.Timeout, answer_s: float
) -> aiohttp.FormData | dict[str, str] | None:
    if request_data is None:
        return None
    if not request_data.contains_files:
        return request_data.json_parameters
    # Quoted, "my file" would be called "my%20file" in the chat.
    form = aiohttp.FormData(quote_fields=False)
    for name, value in request_data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, kind) in request_data.multipart_data.items():
        legible = "".join(char if char.isprintable() else "_" for char in filename)
        value = content if isinstance(content, bytes) else _File(content, kind, patience, answer_s)
        form.add_field(name, value, filename=legible, content_type=kind)
    return form


class _File(aiohttp.payload.IOBasePayload):
    """A file payload of the size that the file has now; bytes added while it is sent are left out.

    aiohttp would send all that it can read, and the server would take the bytes beyond the
    announced length for another request, whose answer shifts all later ones on the connection.
    """

    def __init__(
        self, content: IO[bytes], kind: str, patience: asyncio.Timeout, answer_s: float
    ) -> None:
        super().__init__(content, content_type=kind)
        self._announced = os.fstat(content.fileno()).st_size
        self._patience = patience
        self._answer_s = answer_s

    @property
    def size(self) -> int:
        return self._announced

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        del content_length  # the length of the whole form, not of this part
        watched = cast("AbstractStreamWriter", _Watched(writer, self._patience))
        await super().write_with_length(watched, self._announced)
        # A local server answers only when it has passed the file on.
        _extend(self._patience, self._answer_s)
        if self._value.tell() < self._announced:
            raise OSError("the file became shorter while it was sent")


_GONE = ("chat not found", "group chat was deactivated")
_MUTED = (
    "not enough rights to send text messages",
    "have no rights to send a message",
    "chat_write_forbidden",
)
_TOPIC_GONE = ("message thread not found", "topic_deleted", "topic_id_invalid")
_NO_PHOTO = ("photo_invalid_dimensions", "too big for a photo")
"""Width and height together above 10,000, one over 20 times the other, or more than 10 MB.
Source: core.telegram.org/bots/api#sendphoto."""
_NO_TOPICS = ("the chat is not a forum", "bot_forum_create_forbidden")


@asynccontextmanager
async def translated(*, editing: bool = False, uploading: bool = False) -> AsyncGenerator[None]:
    """Translate the library's errors in the block into ours.

    The order matters: its `BadRequest` is a `NetworkError`.
    """
    try:
        yield
    except failed.RetryAfter as error:
        wait = error.retry_after
        seconds = wait if isinstance(wait, int | float) else wait.total_seconds()
        raise errors.FloodControl(str(error), float(seconds)) from error
    except failed.ChatMigrated as error:
        raise errors.ChatMoved(str(error.new_chat_id)) from error
    except failed.Forbidden as error:
        raise errors.RecipientGone(str(error)) from error
    except failed.InvalidToken as error:
        if "method not found" in str(error).lower():
            raise errors.NotOffered(str(error)) from error
        # The bot's token is at fault, not this chat: the message stays queued.
        raise errors.NotSent(str(error)) from error
    except failed.BadRequest as error:
        if editing and "message is not modified" in str(error).lower():
            return
        if uploading and "(413)" in str(error):
            raise errors.DeliveryRefused("the server takes no upload of this size (413)") from error
        raise _refusal(str(error)) from error
    except NotWritten as error:
        raise errors.NotSent(str(error)) from error
    except NoAnswer as error:
        raise errors.DeliveryUnknown(str(error)) from error
    except failed.NetworkError as error:
        raise errors.NotSent(str(error)) from error
    except failed.TelegramError as error:
        # An unreadable 2xx answer: the call was carried out, but its result is unknown.
        raise errors.DeliveryUnknown(str(error)) from error


def _refusal(text: str) -> errors.DeliveryRefused | errors.RecipientGone:
    lower = text.lower()
    if "topic_closed" in lower:
        return errors.TopicGone(text, closed=True)
    if any(sign in lower for sign in _TOPIC_GONE):
        return errors.TopicGone(text)
    if any(sign in lower for sign in _NO_PHOTO):
        return errors.NoPhoto(text)
    if any(sign in lower for sign in _NO_TOPICS):
        return errors.NoTopics(text)
    if any(sign in lower for sign in _GONE):
        return errors.RecipientGone(text)
    if any(sign in lower for sign in _MUTED):
        return errors.RecipientGone(text, muted=True)
    if "not enough rights" in lower:
        return errors.NoRight(text)
    return errors.DeliveryRefused(text)
