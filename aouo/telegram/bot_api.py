"""How large a file may be, by whose Bot API server it goes through.

Source: core.telegram.org/bots/api#sending-files, #getfile and #using-a-local-bot-api-server
("upload files up to 2000 MB", "download files without a size limit"). A photo has 10 MB at most
everywhere: TDLib's `inputMessagePhoto`, github.com/tdlib/td/issues/2544.
"""

from __future__ import annotations

from dataclasses import dataclass

PUBLIC_URL = "https://api.telegram.org"
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Bytes: what the server gives us, takes from us in one call, and shows as a photo."""

    download: int
    upload: int
    photo: int


PUBLIC = FileLimits(20 * _MB, 50 * _MB, 10 * _MB)
OWN = FileLimits(2_000_000_000, 2_000_000_000, 10 * _MB)
"""Of a server in local mode (`--local`); one that is not says 413 to what is larger than 50 MB."""


def limits_of(base_url: str) -> FileLimits:
    """The limits of `telegram.api_base_url`."""
    return PUBLIC if base_url.rstrip("/") == PUBLIC_URL else OWN
