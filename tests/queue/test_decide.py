"""The decisions as tables, one row a rule. Source: design §3.1.6, §3.2."""

from __future__ import annotations

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.commands import Takes, TurnHints, Words
from aouo.facts.events import (
    Album,
    Attached,
    Button,
    Command,
    Content,
    Edited,
    Inbound,
    Intruder,
    Migrated,
    Person,
    Reacted,
    Shown,
    Standing,
    Text,
    TopicNamed,
    TopicShut,
    Unsupported,
)
from aouo.facts.taps import Tap
from aouo.queue import lexer
from aouo.queue.decide import (
    AnswerGate,
    Decision,
    Ignore,
    NameTopic,
    ObeyCommand,
    PickPack,
    RefuseCommand,
    RunTurn,
    concerns_us,
    decide,
    lane_of,
)
from aouo.queue.lexer import Installed

TOPIC = ConversationAddress("tg", "-5", "7")
BOTH = ("notes", "vocab")
SKILLS = {"study": "vocab:study", "review": "notes:review"}
WORKFLOWS = frozenset({"vocab:study", "notes:review", "notes:both", "vocab:both"})
NONE, ONE, TWO = (Installed(packs, SKILLS, WORKFLOWS) for packs in ((), ("notes",), BOTH))
OWNERS = {"brief": Takes.TEXT, "disk_use": Takes.WORDS, "study": Takes.TEXT}
ADDED = Installed(BOTH, SKILLS, WORKFLOWS, OWNERS)


def said(content: Content, *, title: str = "", addressed: bool = True) -> Inbound:
    return Inbound(
        TOPIC, Person("1"), content, "forum", message_id=3, addressed=addressed, title=title
    )


def photo(caption: str) -> Attached:
    return Attached(Attachment("photo", "1", caption=caption), command=lexer.command(caption))


def tap(data: str) -> Button:
    return Button(data, "label", "id")


def made(data: str) -> Button:
    """A tap on a button that a model made."""
    return Button(data, "label", "id", by_model=True)


@pytest.mark.parametrize(
    ("content", "pack", "installed", "decision"),
    [
        (Text("hi"), "", NONE, RunTurn("", "hi")),
        (Text("hi"), "", ONE, RunTurn("notes", "hi")),
        (Text("hi"), "", TWO, PickPack(BOTH)),
        (Text("hi"), "vocab", TWO, RunTurn("vocab", "hi")),
        (Text("hi"), "gone", TWO, PickPack(BOTH, gone="gone")),
        (Text("hi"), "gone", ONE, PickPack(("notes",), gone="gone")),
        (Text("hi"), "gone", NONE, PickPack((), gone="gone")),
        (
            Text("hi", ("[in reply to Eve]",)),
            "vocab",
            TWO,
            RunTurn("vocab", "[in reply to Eve]\nhi"),
        ),
        (
            Command("use", "vocab", "/use vocab"),
            "",
            TWO,
            ObeyCommand("use", "vocab", Words(("vocab",))),
        ),
        (
            Command("cron", "off '01 x' --quiet", ""),
            "notes",
            TWO,
            ObeyCommand("cron", "off '01 x' --quiet", Words(("off", "01 x"), {"quiet": "true"})),
        ),
        (
            Command("memory", "empty 'USER.md", ""),
            "notes",
            TWO,
            RefuseCommand("memory", why="the quote ' is not closed"),
        ),
        (
            Command("compact", "what's \"next", ""),
            "notes",
            TWO,
            ObeyCommand("compact", "what's \"next"),
        ),
        (
            Command("otr", "it's", "/otr it's"),
            "notes",
            TWO,
            RunTurn("notes", "it's", off_record=True),
        ),
        (Command("brief", "it's", ""), "notes", ADDED, ObeyCommand("brief", "it's")),
        (
            Command("disk-use", "'a b'", ""),
            "",
            ADDED,
            ObeyCommand("disk_use", "'a b'", Words(("a b",))),
        ),
        (Command("study", "", ""), "notes", ADDED, ObeyCommand("study", "")),
        (Command("retry", "x", "/retry x"), "notes", TWO, RunTurn("notes", "", again=True)),
        (Command("retry", "", "/retry"), "", TWO, ObeyCommand("pack", "")),
        (Command("otr", "", "/otr"), "notes", TWO, ObeyCommand("otr", "")),
        (Command("otr", "x", "/otr x"), "notes", TWO, RunTurn("notes", "x", off_record=True)),
        (Command("otr", "x", "/otr x"), "", TWO, PickPack(BOTH)),
        (Command("nope", "", "/nope"), "notes", TWO, RefuseCommand("nope")),
        (Command("study", "", "/study"), "", TWO, RunTurn("vocab", "/study", "vocab:study")),
        (
            Command("study", "x", "/study x"),
            "vocab",
            TWO,
            RunTurn("vocab", "/study x", "vocab:study"),
        ),
        (Command("study", "", "/study"), "notes", TWO, RefuseCommand("study", "vocab")),
        (
            tap("pack:vocab"),
            "notes",
            TWO,
            ObeyCommand("use", "vocab", Words(("vocab",))),
        ),
        (tap("choice_g1:2"), "notes", TWO, Tap("choice", ("g1", "2"))),
        (tap("choice_g1:-1"), "notes", TWO, Tap("old", ("choice_g1:-1",))),
        (tap("choice_g1:²"), "notes", TWO, Tap("old", ("choice_g1:²",))),
        (tap("approval_g1:allow"), "notes", TWO, Tap("approval", ("g1", "allow"))),
        (tap("nav:sessions"), "", TWO, Tap("page", ("sessions",))),
        (tap("menu"), "", TWO, Tap("page", ("",))),
        (tap("yes"), "notes", TWO, RunTurn("notes", "[callback] yes")),
        (tap("yes"), "", TWO, PickPack(BOTH)),
        (tap("packing"), "notes", TWO, RunTurn("notes", "[callback] packing")),
        (tap("nav:again_1"), "notes", TWO, Tap("again", ("1",))),
        (made("nav:again_1"), "notes", TWO, RunTurn("notes", "[callback] nav:again_1")),
        (made("menu"), "notes", TWO, Tap("page", ("",))),
        (
            made("pack:vocab"),
            "notes",
            TWO,
            ObeyCommand("use", "vocab", Words(("vocab",))),
        ),
        (made("choice_g1:2"), "notes", TWO, RunTurn("notes", "[callback] choice_g1:2")),
        (made("approval_g1:allow"), "notes", TWO, RunTurn("notes", "[callback] approval_g1:allow")),
        (made("kept_1:0"), "notes", TWO, RunTurn("notes", "[callback] kept_1:0")),
        (tap("kept_1:0"), "", TWO, Tap("kept", ("1", "0"))),
        (tap(""), "notes", TWO, Tap("old", ("",))),
        (tap("c:new"), "notes", TWO, ObeyCommand("new", "")),
        (tap("c:cron on a1"), "", TWO, ObeyCommand("cron", "on a1", Words(("on", "a1")))),
        (tap("c:retry"), "notes", TWO, RunTurn("notes", "", again=True)),
        (tap("c:study"), "notes", TWO, RefuseCommand("study", "vocab")),
        (tap("c:nope"), "notes", TWO, RefuseCommand("nope")),
        (tap("c:"), "notes", TWO, Tap("command", ("",))),
        (tap("do:delete"), "notes", TWO, Tap("old", ("do:delete",))),
        (tap("nav:cron_on_a1"), "notes", TWO, Tap("old", ("nav:cron_on_a1",))),
        (made("c:new"), "notes", TWO, RunTurn("notes", "[callback] c:new")),
        (made("do:delete"), "notes", TWO, RunTurn("notes", "[callback] do:delete")),
        (made("nav:cron_on_a1"), "notes", TWO, RunTurn("notes", "[callback] nav:cron_on_a1")),
        (tap("nav"), "notes", TWO, RunTurn("notes", "[callback] nav")),
        (
            tap("review"),
            "notes",
            TWO,
            RunTurn("notes", "[callback] review", "notes:review", fresh=True),
        ),
        (tap("review"), "vocab", TWO, RunTurn("vocab", "[callback] review")),
        (tap("review"), "", TWO, RunTurn("notes", "[callback] review", "notes:review", fresh=True)),
        (tap("both"), "", TWO, PickPack(BOTH)),
        (tap("both"), "vocab", TWO, RunTurn("vocab", "[callback] both", "vocab:both", fresh=True)),
        (tap("vocab:study"), "notes", TWO, RefuseCommand("study", "vocab")),
        (tap("notes:review"), "gone", TWO, PickPack(BOTH, gone="gone")),
        (Command("stu-dy", "", "/stu-dy"), "notes", TWO, RefuseCommand("stu-dy")),
        (Standing("kicked"), "notes", TWO, Standing("kicked")),
        (TopicNamed("Vocab "), "", TWO, NameTopic("Vocab ", "vocab")),
        (TopicNamed("kitchen"), "", TWO, NameTopic("kitchen", "")),
        (TopicShut(closed=True), "notes", TWO, TopicShut(closed=True)),
        (Migrated("-100"), "notes", TWO, Migrated("-100")),
        (Unsupported("games"), "notes", TWO, Unsupported("games")),
        (
            Shown("[dice 🎲: 4]", ("[to Eve]",)),
            "notes",
            TWO,
            RunTurn("notes", "[to Eve]\n[dice 🎲: 4]"),
        ),
        (photo("a\nb"), "notes", TWO, RunTurn("notes", "a\nb")),
        (photo(""), "", TWO, PickPack(BOTH)),
        (photo("/study x"), "vocab", TWO, RunTurn("vocab", "/study x", "vocab:study")),
        (photo("/use vocab"), "notes", TWO, ObeyCommand("use", "vocab", Words(("vocab",)))),
        (
            Album("g", (Attachment("photo", "1"), Attachment("video", "2", caption="look"))),
            "notes",
            TWO,
            RunTurn("notes", "look"),
        ),
        (Edited("/new"), "notes", TWO, Edited("/new")),
        (Reacted("👍"), "", NONE, Reacted("👍")),
        (Intruder(), "notes", TWO, Intruder()),
        (Intruder(asked_id=True), "notes", TWO, Intruder(asked_id=True)),
    ],
)
def test_what_is_done_with_a_fact(
    content: Content, pack: str, installed: Installed, decision: Decision
) -> None:
    assert decide(said(content), pack, installed) == decision


def test_a_topics_title_chooses_the_pack_of_its_first_message() -> None:
    first = said(Text("der Hund"), title="VOCAB")

    assert decide(first, "", TWO) == RunTurn("vocab", "der Hund")
    assert decide(first, "notes", TWO) == RunTurn("notes", "der Hund")


def test_a_title_of_general_binds_nothing() -> None:
    """It is the forum itself, not a topic."""
    general = ConversationAddress("tg", "-5")

    decision = decide(Inbound(general, Person("1"), TopicNamed("vocab")), "", TWO)

    assert decision == Ignore("General is the forum itself, whatever it is called")


def test_words_answer_a_question_only_where_it_is_open_for_them() -> None:
    assert decide(said(Text("red")), "notes", TWO, answers_gate=True) == AnswerGate(text="red")
    assert decide(said(Command("stop", "", "/stop")), "notes", TWO, answers_gate=True) == (
        ObeyCommand("stop", "")
    )


@pytest.mark.parametrize(
    ("content", "answers", "lane"),
    [
        (Text("hi"), False, "-5:7"),
        (Text("red"), True, "!-5:7"),
        (Command("stop", "", "/stop"), False, "!-5:7"),
        (Command("whereami", "", "/whereami"), False, "!-5:7"),
        (Command("new", "", "/new"), False, "-5:7"),
        (Command("new", "", "/new"), True, "!-5:7"),
        (Command("retry", "", "/retry"), True, "!-5:7"),
        (Command("cron", "", "/cron"), False, "!-5:7"),
        (Command("cron", "off 1", "/cron off 1"), False, "-5:7"),
        (Command("nope", "", "/nope"), False, "-5:7"),
        (Command("use", "notes", "/use notes"), True, "-5:7"),
        (tap("choice_g:1"), False, "!-5:7"),
        (tap("nav:again_3"), False, "!-5:7"),
        (tap("nav:edited_3"), False, "!-5:7"),
        (Edited("red"), True, "!-5:7"),
        (Reacted("👍"), False, "!-5:7"),
        (TopicShut(closed=True), False, "!-5:7"),
        (Migrated("-6"), False, "!-5:7"),
        (tap("pack:notes"), False, "-5:7"),
        (tap("more"), True, "-5:7"),
        (Unsupported("games"), True, "-5:7"),
        (Shown("[dice 🎲: 4]"), True, "-5:7"),
        (photo("red"), True, "-5:7"),
        (photo("/stop"), False, "!-5:7"),
        (photo("/cron"), False, "-5:7"),
        (photo("/new"), True, "-5:7"),
        (Intruder(), False, "!refuse:-5:7"),
    ],
)
def test_what_bypasses_the_lane(content: Content, answers: bool, lane: str) -> None:
    assert lane_of(said(content), answers_gate=answers) == lane


@pytest.mark.parametrize(
    ("addressed", "title", "pack", "ours"),
    [
        (True, "", "", True),
        (False, "", "", False),
        (False, "", "notes", True),
        (False, "Notes", "", True),
        (False, "kitchen", "", False),
    ],
)
def test_group_talk_is_ours_in_a_topic_with_a_pack(
    addressed: bool, title: str, pack: str, ours: bool
) -> None:
    talk = said(Text("hi"), title=title, addressed=addressed)

    assert concerns_us(talk, pack, TWO.packs) is ours


def test_group_talk_outside_a_topic_needs_to_be_meant_for_us() -> None:
    talk = Inbound(ConversationAddress("tg", "-5"), Person("1"), Text("hi"), addressed=False)

    assert not concerns_us(talk, "notes", TWO.packs)


@pytest.mark.parametrize(
    ("hints", "pack", "decision"),
    [
        (TurnHints("hi"), "notes", RunTurn("notes", "hi")),
        (TurnHints("hi", fresh=True), "notes", RunTurn("notes", "hi", fresh=True)),
        (TurnHints("hi"), "", PickPack(BOTH)),
        (TurnHints("hi"), "gone", PickPack(BOTH, gone="gone")),
        (TurnHints("hi", "vocab:study"), "", RunTurn("vocab", "hi", "vocab:study")),
        (TurnHints("hi", "vocab:study"), "vocab", RunTurn("vocab", "hi", "vocab:study")),
        (TurnHints("hi", "vocab:study"), "notes", RefuseCommand("study", "vocab")),
        (TurnHints("hi", "vocab:study"), "gone", PickPack(BOTH, gone="gone")),
    ],
)
def test_what_a_command_leaves_to_its_turn(hints: TurnHints, pack: str, decision: Decision) -> None:
    """The command ran already, and is not looked at again."""
    assert decide(said(Command("wrap", "x", "/wrap x")), pack, TWO, hints=hints) == decision
