"""What an answer says that it did is told from what it says that it saw.

Source: issue 44 item 8. The table is claims.yml.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from aouo.agent.claims import says_done

TABLE = yaml.safe_load(Path(__file__).with_name("claims.yml").read_text("utf-8"))
LEAST = {"tuning": (1.0, 0.02), "unseen": (0.9, 0.05)}
"""The share of claims that is seen, and of harmless answers that is taken for one."""


def taken(half: str, kind: str) -> tuple[list[str], list[str]]:
    """The answers of a kind that are taken for claims, and those that are not."""
    answers = [answer for table in TABLE.values() for answer in table[half][kind]]
    seen = [answer for answer in answers if says_done(answer, "see to it", looked=True)]
    return seen, [answer for answer in answers if answer not in seen]


@pytest.mark.parametrize("half", LEAST)
def test_claims_are_seen_and_looks_are_not_taken_for_them(half: str) -> None:
    seen, missed = taken(half, "claims")
    wrong, right = taken(half, "harmless")
    least, most = LEAST[half]

    assert len(seen) >= least * (len(seen) + len(missed)), missed
    assert len(wrong) <= most * (len(wrong) + len(right)), wrong


def test_a_question_is_answered_but_no_receipt_is_forged() -> None:
    asked = "What is in my mail?"

    assert not says_done("Your parcel has been sent.", asked, looked=True)
    assert not says_done("Yes, I sent it.", "Did you send Bob the mail?", looked=True)
    assert says_done("Two mails. I have paid Bob.", asked, looked=True)
    assert says_done("Two mails.\n☑ mailed bob · Undo", asked, looked=True)
