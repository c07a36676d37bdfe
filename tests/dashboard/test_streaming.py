"""What leaves the page as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aouo.dashboard.streaming import without_secrets
from aouo.plumbing.redact import Redactor

SECRETS = ("hippopotamus", 'pass"word\\n', "pass\nwort", "schlüsselbund", "sk-" + "a1B2c3D4" * 6)
REDACTOR = Redactor(SECRETS)
texts = st.lists(
    st.one_of(st.sampled_from((*SECRETS, "123456789:AA", "\u200b", "\ud800")), st.text(max_size=5))
).map("".join)
facts = st.recursive(
    st.one_of(texts, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@dataclass(frozen=True, slots=True)
class Beast:
    name: str
    kin: tuple[Beast, ...] = ()


@given(facts)
def test_every_text_leaves_as_the_redactor_returns_it(found: Any) -> None:
    assert json.loads(without_secrets({"found": found}, REDACTOR)) == {
        "found": REDACTOR.value(found)
    }


def test_a_dataclass_leaves_as_an_object() -> None:
    told = without_secrets({"one": Beast("otter", (Beast("hippopotamus"),))}, REDACTOR)

    kin = [{"name": "[redacted]", "kin": []}]
    assert json.loads(told) == {"one": {"name": "otter", "kin": kin}}
