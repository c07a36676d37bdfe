"""Random deeds of many people in many conversations, while sends fail and the process dies.

No answer lands in another conversation, none is lost, none is doubled, and more: the laws are in
`tests/interleaving/laws.py`. The runtime is the real one from Telegram's raw updates to the Bot
API's calls; the HTTP session beneath is `tests/interleaving/telegram.py`, since 10,000 deeds over
sockets take many minutes, and time is virtual. `scripts/bench --only interleaved` plays 100,000.

A failure names its script; it is played the same way again with the same `PYTHONHASHSEED`, which
`scripts/check` sets and `scripts/bench` draws.
Source: issue 4, "Done when".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.facts.work import Job
from aouo.flow.job import Flow
from aouo.store import gates
from aouo.store.database import Tx
from aouo.telegram.messenger import TelegramMessenger
from tests.interleaving.laws import Verdict, judge
from tests.interleaving.play import Script, play
from tests.sampling import count, left, taking

# A process that is killed leaves coroutines behind that nobody will await.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SCRIPTS = (
    Script(seed=1, events=2_000, trouble=0.0),
    Script(seed=2, events=2_000, trouble=0.06),
    Script(seed=3, events=count(2_000, 600), trouble=0.04, lives=count(16, 5)),
    Script(seed=4, events=2_000, trouble=0.04, lives=8, burst_ms=700),
    Script(seed=5, events=2_000, trouble=0.08, lives=24, pause_s=0.35),
)


@pytest.mark.parametrize("script", taking(SCRIPTS, SCRIPTS[2:3]), ids=str)
def test_no_answer_is_misplaced_lost_or_doubled(script: Script) -> None:
    """Together 10,000 deeds; each commit plays those with the most kills that come one by one."""
    played = play(script)

    assert judge(played).all == []
    assert sum(played.book.events.values()) >= script.events


# The laws notice


SMALL = Script(seed=11, events=250)


def test_an_answer_in_another_conversation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    send = TelegramMessenger.send
    sent = Counter[str]()

    async def astray(self: TelegramMessenger, to: ConversationAddress, message: Rendered) -> int:
        sent["all"] += 1
        if sent["all"] % 30 == 0:
            to = replace(to, chat_id="1001" if to.chat_id != "1001" else "1002", thread_id="")
        return await send(self, to, message)

    monkeypatch.setattr(TelegramMessenger, "send", astray)

    assert any("was shown in" in found for found in judge(play(SMALL)).wrong)


@left()
def test_a_job_that_is_settled_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Flow._handle
    handled = Counter[str]()

    async def forgetful(self: Flow, job: Job) -> None:
        handled["all"] += 1
        if handled["all"] % 100 == 0:
            await self.replies.done(job, "forgotten")
        else:
            await handle(self, job)

    monkeypatch.setattr(Flow, "_handle", forgetful)
    verdict = Verdict()
    for seed in range(11, 14):  # some jobs need no answer
        verdict.lost += judge(play(replace(SMALL, seed=seed))).lost

    assert verdict.lost


@left()
def test_an_answer_that_is_sent_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    send = TelegramMessenger.send
    sent = Counter[str]()

    async def eager(self: TelegramMessenger, to: ConversationAddress, message: Rendered) -> int:
        found = await send(self, to, message)
        if "end q" in message.text:
            sent["answers"] += 1
            if sent["answers"] % 20 == 0:
                return await send(self, to, message)
        return found

    monkeypatch.setattr(TelegramMessenger, "send", eager)

    assert any("is shown 2 times" in found for found in judge(play(SMALL)).doubled)


@left()
def test_an_answer_to_a_question_that_nobody_gave_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle = gates.settle

    def amiss(tx: Tx, gate_id: str, state: str, answer: str, now: str) -> bool:
        return settle(tx, gate_id, state, {"red": "blue"}.get(answer, answer), now)

    monkeypatch.setattr(gates, "settle", amiss)

    assert any("nobody who may chose" in found for found in judge(play(SMALL)).wrong)
