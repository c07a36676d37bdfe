"""Who the owner is, wherever that is asked, and who is let in."""

from __future__ import annotations

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.people import Admission, Owner

ADA, GROUP = ConversationAddress("tg", "7"), ConversationAddress("tg", "-100")
TERMINAL = ConversationAddress("cli", "local")


def said(address: ConversationAddress, person: str) -> Inbound:
    return Inbound(
        address, Person(person), Text("hello"), origin="cli" if address == TERMINAL else "chat"
    )


@pytest.mark.parametrize(
    ("owner", "address", "person", "is_owner"),
    [
        (Owner.of(7), ADA, "7", True),
        (Owner.of(7), GROUP, "7", True),
        (Owner.of(7), GROUP, "8", False),
        (Owner.of(7), TERMINAL, "owner", True),
        (Owner.of(0), TERMINAL, "owner", True),
        (Owner.of(0), GROUP, "0", False),  # a sender whom Telegram does not name
        (Owner.of(0), GROUP, "", False),
    ],
)
def test_the_owner_is_one_person_and_whoever_sits_at_the_terminal(
    owner: Owner, address: ConversationAddress, person: str, *, is_owner: bool
) -> None:
    assert owner.is_owner(said(address, person)) == is_owner


@pytest.mark.parametrize(
    ("owner", "here", "apart"),
    [
        (Owner.of(7), GROUP, ADA),
        (Owner.of(7), ADA, None),
        (Owner.of(7), TERMINAL, None),
        (Owner.of(0), GROUP, None),
    ],
)
def test_the_owner_is_asked_in_their_private_chat_unless_that_is_here(
    owner: Owner, here: ConversationAddress, apart: ConversationAddress | None
) -> None:
    assert owner.chat_apart(here) == apart


def test_without_anybody_on_telegram_the_terminals_data_is_the_owners() -> None:
    assert (Owner.of(7).data_name, Owner.of(0).data_name) == ("tg_7", "cli_owner")
    assert (Owner.of(7).chat, Owner.of(0).chat) == (ADA, None)


def test_nobody_is_let_in_by_an_empty_list_or_without_a_name() -> None:
    assert [Admission((7,)).admits(person) for person in (7, 8, None)] == [True, False, False]
    assert not Admission().admits(0)
