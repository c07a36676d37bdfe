"""What people say and tap while the process is killed, and what they read in the end."""

from __future__ import annotations

import asyncio
import base64
import json

from aouo.emulator import ADA
from aouo.outbound.payloads import messages_of_answer
from aouo.words.catalogue import text
from aouo.words.markdown.render import render
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.going_out.test_long_answers import LONG, NAME, file_of
from tests.path.killing import START_UP, Row, Scenario, shown_wrongly
from tests.path.lives import WAIT_S, Place, lasting_port
from tests.path.looking import PHOTO_LINE

PICKER = (
    "Who shall answer “What is the capital of France?”? It waits, and so does what you write until "
    "you choose; one tap answers all of it.\n"
    "📝 Notes – Keep what you write, find it by a word\n"
    "🧠 Vocab – Add words, I ask them at the right time"
)
CHOSEN = "“notes” answers here. Tap another one to change it."
BOUND = "“notes” answers here now."
BADGE = "\n\n— notes"
QUESTION = "Which colour?"
WHOLE = f"{LONG}\n\n{LONG}"
OPENING, DOCUMENT = messages_of_answer(WHOLE, tail="", max_parts=6)
MORE = "Повторить слова из набора «Путешествия по северным городам», урок 12"
CHOOSE = "Choose what comes next"
OFFER = text("edits.too-late")
OFTEN = "Paris, and not Versailles. " * 8
STOPPED = ("Stopped.", "1 message that waited will not be answered.")
FIRST_AND_SECOND = (
    "First, and at such a length that nothing which follows can be taken for a part of it",
    "Second, and at such a length that it is not taken for a beginning of something else",
)
_PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class Streamed(Scenario):
    """The answer grows in a live message, which is edited before the final edit."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown(self.answers[0][:20])
        here.model.release.set()
        here.model.release.clear()
        await here.until_shown(self.answers[0][: len(self.answers[0]) // 2])
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        return Says(self.answers[0], chunks=4, stall_after=(1, 2))


class Effectful(Scenario):
    """The model writes a row; its answer waits until a status line is there."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown("")
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return Says(self.answers[0], chunks=2, stall_after=0)
        note = {"action": "save", "data": {"text": "buy milk"}}
        return Says(calls=(CallPart("persist", note),))


class TwoCalls(Scenario):
    """The model writes a row and shows a message in one answer, then writes another row."""

    def model(self, body: Body) -> Reply | str:
        results = sum(message["role"] == "tool" for message in body["messages"])
        milk = {"action": "save", "data": {"text": "buy milk"}}
        bread = {"action": "save", "data": {"text": "buy bread"}}
        match results:
            case 0:
                show = {"type": "text", "text": self.shown[0]}
                return Says(calls=(CallPart("persist", milk), CallPart("msg", show)))
            case 2:
                return Says("One more.", calls=(CallPart("persist", bread),))
            case _:
                return self.answers[0]


class Showing(Scenario):
    """The model shows a message of its own before it answers."""

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        return Says(calls=(CallPart("msg", {"type": "text", "text": self.shown[0]}),))


class Parked(Scenario):
    """Two packs and none chosen: the message waits until one is tapped."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        picker = await here.until_said(PICKER)
        await here.tap(picker, "pack:notes")


class Asked(Scenario):
    """The model asks; the turn waits until a button is tapped."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        question = await here.until_said(QUESTION)
        await here.tap(question, question.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return f"{words_of(body['messages'][-1])} it is."
        question = {"message": QUESTION, "options": ["Red", "Blue"]}
        return Says(calls=(CallPart("clarify", question),))


class Queued(Scenario):
    """A second message comes while the first one is being answered."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_stalled()
        await here.emulator.client.say(ADA, ADA, self.said[1])
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        number = 1 if self.said[1] in asked else 0
        return Says(self.answers[number], stall_after=None if number else 0)


class Pictures(Scenario):
    """Two pictures in one album: fetched, then shown to a model that sees."""

    async def person(self, here: Place) -> None:
        for caption in ("first", "second"):
            await here.emulator.client.send_file(
                ADA, ADA, "photo", _PNG + caption.encode(), caption=caption, album="a"
            )

    def model(self, body: Body) -> Reply | str:
        parts = body["messages"][-1]["content"]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        seen = [base64.b64decode(url.partition(",")[2]).removeprefix(_PNG) for url in urls]
        return self.answers[0] if seen == [b"first", b"second"] else f"I see {seen}."


class Stopped(Scenario):
    """The owner stops the bot while it answers."""

    def model(self, body: Body) -> Reply | str:
        return Says(self.answers[0], stall_after=0)

    async def live(self, here: Place) -> None:
        if len(here.lives) > 1:
            await super().live(here)
            return

        async def stopping() -> bool:
            return "stopping" in here.stderr or here.is_dead

        await here.until_stalled()
        here.life.stop()
        await here.until(stopping)
        here.model.release.set()
        async with asyncio.timeout(WAIT_S):
            await here.life.gone.wait()


class Long(Scenario):
    """The model answers at length."""

    def model(self, body: Body) -> Reply | str:
        return WHOLE

    def answer(self, number: int) -> str:
        return DOCUMENT.text

    async def problems(self, here: Place) -> list[str]:
        shown = await here.said()
        found = [*shown_wrongly(self, here, [message.text for message in shown])]
        files = [file_of(here.emulator, m.raw) for m in shown if "document" in m.raw]
        if set(files) != {(NAME, WHOLE)}:
            found.append(f"the files are {files}")
        if here.rows("SELECT 1 FROM jobs WHERE state <> 'done'"):
            found.append("a job is open")
        return found


class EditedLate(Scenario):
    """The person edits a message that is answered, and wants the new words answered."""

    async def person(self, here: Place) -> None:
        people = here.emulator.client
        asked = await people.say(ADA, ADA, self.said[0])
        await here.until_said(self.answers[0])
        await people.edit(ADA, ADA, asked.id, self.said[1])
        offer = await here.until_said(OFFER)
        await here.tap(offer, offer.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        return self.answers[self.said.index(asked)]

    async def problems(self, here: Place) -> list[str]:
        found = await super().problems(here)
        rows = here.rows("SELECT state, body FROM edits")
        if rows != [{"state": "taken", "body": ""}]:
            found.append(f"edits: {rows}")
        return found


class Tapped(Scenario):
    """The model shows a button with more than Telegram takes; the person taps it."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        shown = await here.until_said(CHOOSE)
        await here.until_said(self.answers[0])
        await here.tap(shown, shown.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        if asked == self.said[1]:
            return self.answers[1]
        wish = {"type": "keyboard", "text": CHOOSE, "buttons": [[f"Again|{MORE}"]]}
        return Says(calls=(CallPart("msg", wish),))


class Commanded(Scenario):
    """The person sends a command of the owner's, which leaves its words to a turn."""

    def prepare(self, here: Place) -> None:
        here.home.commands.mkdir()
        (here.home.commands / "brief.md").write_text("Sum up.\n")

    async def person(self, here: Place) -> None:
        await here.emulator.client.say(ADA, ADA, "/brief the day")

    async def problems(self, here: Place) -> list[str]:
        carried = here.rows("SELECT id FROM jobs WHERE carried <> ''")
        return [*await super().problems(here), *map(str, carried)]


class Drafted(Streamed):
    """The answer grows as a draft, which Telegram takes, and is sent once. Source: issue 44, 20."""

    def prepare(self, here: Place) -> None:
        config = json.loads(here.home.config.read_text())
        config["telegram"]["streaming"] = "draft"
        here.home.config.write_text(json.dumps(config))

    async def person(self, here: Place) -> None:
        await here.emulator.client.say(ADA, ADA, self.said[0])
        for share in (4, 2):
            await self.until_drafted(here, self.answers[0][: len(self.answers[0]) // share])
            here.model.release.set()
            here.model.release.clear()
        here.model.release.set()

    async def until_drafted(self, here: Place, beginning: str) -> None:
        """Wait until a draft holds this much of the answer, or the first life is over."""

        async def look() -> bool:
            drafts = await here.emulator.client.calls("sendMessageDraft")
            over = here.is_dead or len(here.lives) > 1
            return over or any(beginning in call["params"].get("text", "") for call in drafts)

        await here.until(look)

    async def problems(self, here: Place) -> list[str]:
        seen = await here.emulator.client.act("view", user=ADA, chat=ADA)
        left = seen["open"]["draft"]
        problems = await super().problems(here)
        return [*problems, f"a draft stays: {left}"] if left else problems


class AndStopped(Scenario):
    """The answer has begun to grow when the person has enough of it."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown(OFTEN[:20])
        await here.emulator.client.say(ADA, ADA, "/stop")

    def model(self, body: Body) -> Reply | str:
        return Says(OFTEN, chunks=4, stall_after=2)

    async def live(self, here: Place) -> None:
        async def told() -> bool:
            obeyed = "SELECT 1 FROM jobs WHERE body LIKE '%stop%' AND settled_at <> ''"
            return here.is_dead or bool(here.rows(obeyed))

        await here.until(told)
        await here.settle([])
        await here.end()

    async def problems(self, here: Place) -> list[str]:
        shown = [one.text for one in await here.said()]
        found: list[str] = []
        answered, stopped = OFTEN.strip() in shown, bool({*shown} & {*STOPPED})
        if answered == stopped:
            found.append(f"answered: {answered}, said to be stopped: {stopped}")
        unheard = here.rows("SELECT 1 FROM deliveries WHERE state = 'unknown' AND kind = 'live'")
        half = [text for text in shown if text in OFTEN.strip() and text != OFTEN.strip()]
        if half and not unheard:
            found.append("the beginning of an answer stays as if it were one")
        if rows := here.rows("SELECT state, outcome, stopped FROM jobs WHERE settled_at = ''"):
            found.append(f"open jobs: {rows}")
        if rows := here.rows("SELECT status FROM turns WHERE status = 'open'"):
            found.append(f"open turns: {rows}")
        return [*found, f"the chat shows {shown}"] if found else []


class DraftStopped(AndStopped):
    """The answer has begun to grow as a draft when the person has enough of it."""

    def prepare(self, here: Place) -> None:
        DRAFTED.prepare(here)

    async def person(self, here: Place) -> None:
        await here.emulator.client.say(ADA, ADA, self.said[0])
        await DRAFTED.until_drafted(here, OFTEN[:20])
        await here.emulator.client.say(ADA, ADA, "/stop")

    async def problems(self, here: Place) -> list[str]:
        seen = await here.emulator.client.act("view", user=ADA, chat=ADA)
        left = seen["open"]["draft"]
        problems = await super().problems(here)
        return [*problems, f"a draft stays: {left}"] if left else problems


DRAFTED = Drafted()


class BehindAWebhook(Scenario):
    """The plainest one, but Telegram brings it."""

    def prepare(self, here: Place) -> None:
        """A free port, and the owner's proxy that leads there."""
        listen = f"127.0.0.1:{lasting_port()}"
        here.emulator.webhook.tls_ends_at = f"http://{listen}"
        here.emulator.webhook.first_wait_s = 0.01
        config = json.loads(here.home.config.read_text())
        hook = {"url": "https://bot.example/", "listen": listen, "secret_token": "a-secret"}
        config["telegram"] |= {"transport": "webhook", "webhook": hook}
        here.home.config.write_text(json.dumps(config))

    async def problems(self, here: Place) -> list[str]:
        still = ["the webhook is still set"] if here.emulator.world.webhook else []
        return [*await super().problems(here), *still]


PLAIN = Scenario()
"""Goes through the very first start too."""
ROWS = {
    "a plain answer": Row(PLAIN),
    "an answer that grows as a draft": Row(
        Drafted(
            answers=(
                "Paris is the capital of France, and has been for most of the last thousand "
                "years; the court left for Versailles in 1682 and came back to the city in 1789, "
                "when the people fetched it. Today more than two million people live there, and "
                "the whole of them would not find a seat in all of its cafés at the same time.",
            ),
        ),
        at=range(40, 92, 7),
    ),
    "a streamed answer": Row(
        Streamed(
            answers=(
                "Paris is the capital of France, and has been for most of the last thousand "
                "years; the court left for Versailles in 1682 and came back to the city in 1789, "
                "when the people fetched it. Today more than two million people live there.",
            ),
            edits=2,
        )
    ),
    "a turn with an effectful tool": Row(
        Effectful(said=("keep buy milk",), answers=("Saved.",), notes=1, edits=1)
    ),
    "a turn with calls beside and behind each other": Row(
        TwoCalls(
            shown=("Milk is noted.",),
            answers=("Both are saved.",),
            # Words that stood live, in a message whose id died with the process, cannot be taken
            # away.
            aside=("One more.",),
            notes=2,
        )
    ),
    "a turn that shows a message": Row(Showing(shown=("Look at this.",), answers=("Done.",))),
    "a parked picker": Row(
        Parked(
            packs=("notes", "vocab"), shown=(BOUND,), aside=(PICKER, CHOSEN), badge="\n\n— notes"
        )
    ),
    "a question of the model": Row(
        Asked(answers=("Red it is.",), aside=(QUESTION, f"{QUESTION}\n→ Red"))
    ),
    "a queued second message": Row(Queued(said=FIRST_AND_SECOND, answers=("One.", "Two."))),
    "an album": Row(
        Pictures(
            said=(f"[album: 2 items]\n{PHOTO_LINE}\nfirst\n{PHOTO_LINE}\nsecond",),
            answers=("Two pictures.",),
        )
    ),
    "a graceful stop": Row(Stopped()),
    "a document": Row(
        Long(aside=(OPENING.text, *(part.text for part in render(WHOLE)))),
        at=range(1 + START_UP, 33, 4),
    ),
    "an edit": Row(
        EditedLate(
            said=("What is the capital of France?", "What is the capital of Italy?"),
            answers=("Paris.", "Rome."),
            aside=(OFFER, text("edits.answering")),
        ),
        at=range(1 + START_UP, 60, 6),
    ),
    "a tap whose data is only kept by us": Row(
        Tapped(
            said=("What is there to do?", f"[callback] {MORE}"),
            answers=("That much.", "Again, then."),
            aside=(CHOOSE, f"{CHOOSE}\n→ Again"),
        ),
        at=range(1 + START_UP, 64, 5),
    ),
    "a command whose turn does the rest": Row(
        Commanded(
            said=("Sum up.\n\n# What was written after the command\n\nthe day",),
            answers=("All quiet.",),
        ),
        at=range(1 + START_UP, 44, 3),
    ),
    "a stop by its person": Row(AndStopped(answers=(OFTEN,)), at=range(14, 46)),
    "a stop of a draft": Row(DraftStopped(answers=(OFTEN,)), at=range(40, 96, 7)),
    "a message behind a webhook": Row(BehindAWebhook(), at=range(2, 32, 3)),
}
