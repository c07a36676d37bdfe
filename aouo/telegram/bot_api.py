"""File size limits of the public Bot API server, and of a local one.

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
    """Limits in bytes: of a download, of the uploads in one call, of a photo."""

    download: int
    upload: int
    photo: int


PUBLIC = FileLimits(20 * _MB, 50 * _MB, 10 * _MB)
OWN = FileLimits(2_000_000_000, 2_000_000_000, 10 * _MB)
"""The limits of a server in local mode (`--local`); another one answers 413 above 50 MB."""


def limits_of(base_url: str) -> FileLimits:
    """Return the limits of the server at `base_url` (`telegram.api_base_url`)."""
    return PUBLIC if base_url.rstrip("/") == PUBLIC_URL else OWN
