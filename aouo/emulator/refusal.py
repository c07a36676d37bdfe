"""Error answers of the server."""


class Refusal(Exception):
    """One `{"ok": false}` answer; `description` is Telegram's text with its prefix.

    `parameters` is the ResponseParameters object: `retry_after` or `migrate_to_chat_id`.
    """

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(text: str, **parameters: int) -> Refusal:
    """Return a 400 with the prefix of the real server."""
    return Refusal(400, f"Bad Request: {text}", **parameters)


def forbidden(text: str) -> Refusal:
    """Return a 403: the bot may not write to this chat."""
    return Refusal(403, f"Forbidden: {text}")


def conflict(text: str) -> Refusal:
    """Return a 409: another process reads the updates."""
    return Refusal(409, f"Conflict: {text}")


def too_many_requests(retry_after_s: int) -> Refusal:
    """Return a 429 with the seconds to wait."""
    text = f"Too Many Requests: retry after {retry_after_s}"
    return Refusal(429, text, retry_after=retry_after_s)
