"""Says what a change of the configuration takes away from the owner: the page, the bot. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from aouo.config.settings import Settings


def losses(before: Settings, after: Settings) -> tuple[str, ...]:
    """Return a sentence about each thing that would be lost, or found somewhere else."""
    return (*_of_the_bot(before, after), *_of_the_page(before, after))


def _of_the_bot(before: Settings, after: Settings) -> Iterator[str]:
    old, new = before.telegram, after.telegram
    if old.owner and not new.owner:
        yield "Nobody may talk to the bot any more, and it has no owner."
    elif old.owner and old.owner != new.owner:
        yield f"The bot has another owner: {new.owner} in the place of {old.owner}."
    elif new.owner not in new.allowed_user_ids and old.owner in old.allowed_user_ids:
        yield f"The owner {new.owner} is not among telegram.allowed_user_ids any more."
    token, other = old.bot_token.get_secret_value(), new.bot_token.get_secret_value()
    if token and token.partition(":")[0] != other.partition(":")[0]:
        yield "With the next start it is another bot: the chats with this one get no answer."
    if old.transport != new.transport:
        yield f"With the next start messages come in by {new.transport}."


def _of_the_page(before: Settings, after: Settings) -> Iterator[str]:
    old, new = before.dashboard, after.dashboard
    if old.enabled and not new.enabled:
        yield "With the next start there is no local page any more."
    elif old != new:
        yield (
            "With the next start this page has another address or token: `aouo dashboard` prints "
            "its link."
        )
