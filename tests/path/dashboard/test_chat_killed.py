"""A process that is killed anywhere shows each answer on the page exactly once, and doubts none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.ports import Rendered
from aouo.store import jobs, web_messages
from aouo.store.database import Tx, connect
from aouo.store.rendered import load
from tests.fakes.model_server import Body, CallPart, Reply, Says
from tests.path.killing import START_UP, Run, Scenario, killed, killed_at
from tests.path.lives import Place
from tests.sampling import places

KILLED_AT = range(1 + START_UP, 60, 4)
NOW = "2026-03-02T12:00:00.000+00:00"
ASIDE = ("I was restarted while answering; continuing.",)
CHAT = ConversationAddress("web", "notes")


@dataclass(frozen=True)
class OnThePage(Scenario):
    """What was said on the page is stored; the model sends a message, then answers."""

    def prepare(self, here: Place) -> None:
        connection = connect(here.home.database)
        connection.execute("BEGIN IMMEDIATE")
        tx = Tx(connection)
        number = web_messages.add(tx, "notes", "said", Rendered("Paris?"), NOW, by_person=True)
        said = Inbound(
            CHAT, Person("1001", "owner"), Text("Paris?"), message_id=number, origin="web"
        )
        jobs.add(tx, CHAT.lane, said, NOW)
        connection.execute("COMMIT")
        connection.close()

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return Says("Paris. " * 40, chunks=10)
        return Says(calls=(CallPart("msg", {"type": "text", "text": "Let me look."}),))

    async def person(self, here: Place) -> None:
        """They have said it before."""

    async def live(self, here: Place) -> None:
        async def look() -> bool:
            with here.reading() as rows:
                unsent = "SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending', 'live')"
                open_jobs = rows("SELECT 1 FROM jobs WHERE state NOT IN ('done')")
                waits = open_jobs or rows(unsent) or not here.calls("setMyCommands", 200)
                return here.life.gone.is_set() or not waits

        await here.until(look)
        await here.end()

    async def problems(self, here: Place) -> list[str]:
        found = here.rows("SELECT body FROM web_messages WHERE state = 'shown' ORDER BY id")
        shown = [load(row["body"]).text.strip() for row in found]
        wanted = ["Paris?", "Let me look.", ("Paris. " * 40).strip()]
        odd = here.rows("SELECT kind, state FROM deliveries WHERE state NOT IN ('sent', 'dropped')")
        right = [text for text in shown if text not in ASIDE] == wanted
        return [
            *([] if right else [f"the page shows {shown}"]),
            *([f"deliveries: {odd}"] if odd else []),
        ]


async def test_a_process_killed_anywhere_shows_everything_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def one(number: int) -> Run:
        return await killed(OnThePage(), tmp_path / str(number) / "home", runner_port, number)

    await killed_at(places(KILLED_AT), one)
