"""Permission cards: what a person reads before they say yes. Source: issue 5 "Lifecycle"."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.packs.compare import compare
from aouo.packs.data.rows import Column
from aouo.packs.format.manifest import Budget
from aouo.packs.shipping.signing import Signature
from aouo.packs.summary import OwnTool, Planned, Summary, Watched, summarize_folder
from aouo.words import permissions
from aouo.words.catalogue import _one_line, code, plain, speaking
from aouo.words.markdown.render import render
from aouo.words.packs import install_card

SAMPLES = Path(__file__).parents[2] / "packs"
ID = Column("id", "INTEGER", False, None, 1)
WORD = Column("word", "TEXT", True, None, 0)
MARKED = st.text("*_`~[]()<>|#$\\ab&;!", max_size=40)
PLAIN = Summary(
    name="vocab",
    version="1.0.0",
    display_name="Vocab",
    description="Learns words with you",
    content="0123456789abcdef" * 4,
    files=12,
    size_bytes=34_500,
    signature=Signature(),
    tools=("core", "pack"),
    pack_tools=(),
    network=(),
    file_paths=(),
    external_commands=(),
    platforms=(),
    may_schedule=False,
    schedules=(),
    scope="person",
    tables={"words": (ID, WORD)},
    migrations=(),
    memory=(),
    skills=("study", "add"),
    commands=("study",),
    prompt_bytes=700,
    budget=Budget(),
    requires_core="",
    depends_on=(),
)
WIDE = replace(
    PLAIN,
    version="1.1.0",
    tools=("core", "web", "shell", "mcp:mail", "pack"),
    network=("api.example.org",),
    file_paths=("~/books",),
    external_commands=("count",),
    pack_tools=(OwnTool("count", "wc -w", "command"),),
    may_schedule=True,
    schedules=(
        Planned("daily", "0 8 * * *", "study", True),
        Planned("rare", "every 2d", "add", False),
    ),
    scope="shared",
    tables={"words": (ID,), "more": (ID,)},
    migrations=("migrations/0001_word.sql",),
    memory=("SOUL.md",),
    skills=("study", "quiz"),
    prompt_bytes=2048,
    budget=Budget(daily_usd=0.5),
    requires_core=">=0.1",
    depends_on=("notes >=1",),
    signature=Signature("valid", "AB", "1.1.0", "RWQkey", "Ada"),
)


def shown(markdown: str) -> str:
    """What is read once the marks are gone."""
    return "\n".join(page.text for page in render(markdown))


def test_a_pack_that_says_next_to_nothing_to_the_model_brings_one_word() -> None:
    card = install_card(replace(PLAIN, prompt_bytes=3))

    assert "about 1 word that the model reads" in str(card)


def test_a_small_app_has_a_small_card():
    told = shown(install_card(PLAIN, compare(None, PLAIN)))

    assert (
        told
        == """\
Install Vocab (vocab) 1.0.0?
Learns words with you

It may
• keep data, for each person apart: words
• answer you, ask with buttons, and remember things about you

It brings
• skills: study, add
• commands: /study
• about 117 words that the model reads with each message

Not signed: nothing says who made it.

12 files, 33.7 kB, fingerprint 0123456789abcdef"""
    )


def test_a_wide_app_says_all_of_it():
    told = shown(install_card(WIDE, compare(None, WIDE)))

    assert (
        told
        == """\
Install Vocab (vocab) 1.1.0?
Learns words with you

It may
• run commands in its own folder, walled in
• run programs that are on the bot's machine: count
• read and change files outside its own folder, as far as the bot's settings allow: ~/books
• reach on the internet: api.example.org
• run small programs of its own, kept apart from the rest: count
• write to you by itself, every day at 08:00 (study)
• write to you by itself, every 2 days (add), off until you switch it on
• keep data, shared by all who may talk to it: words, more
• answer you, ask with buttons, and remember things about you
• read web pages at the addresses it may reach, and search the web
• use services that are connected to the bot: mcp:mail

It brings
• skills: study, quiz
• commands: /study
• notes on how to be with you
• about 341 words that the model reads with each message
• uses at most 0.5 USD a day
• works only with the packs notes >=1
• needs aouo >=0.1

Signed by Ada, whose key you trust.

12 files, 33.7 kB, fingerprint 0123456789abcdef"""
    )


LOOKING = replace(
    PLAIN,
    may_schedule=True,
    watches=(
        Watched("late", "", "15m"),
        Watched("inbox", "~/inbox", "1h"),
        Watched("prices", "https://example.com/prices", "2d"),
    ),
)


def test_a_card_says_what_is_looked_at_and_how_often():
    told = shown(install_card(LOOKING, compare(None, LOOKING)))

    assert (
        """\
• write to you by itself, at set times
• look at what it keeps by itself, every 15 minutes, and write to you when it changed
• look at ~/inbox by itself, every hour, and write to you when it changed
• look at https://example.com/prices by itself, every 2 days, and write to you when it changed
"""
        in told
    )


def test_an_upgrade_says_what_is_looked_at_anew_in_another_way_and_no_more():
    newer = replace(
        LOOKING,
        version="1.1.0",
        watches=(Watched("late", "", "5m"), Watched("mail", "~/mail", "1h"), LOOKING.watches[1]),
    )

    told = shown(install_card(newer, compare(LOOKING, newer)))

    asks, gone = told.split("New, and needs your yes")[1].split("Gone")
    assert "look at ~/mail by itself, every hour" in asks
    assert (
        "every 5 minutes, and write to you when it changed, was: look at what it keeps by itself, "
        "every 15 minutes" in asks
    )
    assert asks.count("look at") == 3
    assert "look at https://example.com/prices" in gone


def test_an_upgrade_says_what_needs_a_yes_what_differs_and_what_goes():
    told = shown(install_card(WIDE, compare(PLAIN, WIDE)))

    assert (
        told
        == """\
Upgrade Vocab (vocab) from 1.0.0 to 1.1.0?
Learns words with you

New, and needs your yes
• run commands in its own folder, walled in
• read web pages at the addresses it may reach, and search the web
• use services that are connected to the bot: mcp:mail
• run small programs of its own, kept apart from the rest: count
• reach on the internet: api.example.org
• read and change files outside its own folder, as far as the bot's settings allow: ~/books
• run programs that are on the bot's machine: count
• write to you by itself, at set times
• write to you by itself, every day at 08:00 (daily)
• keep what is new for all: everybody who may talk to this bot reads it

Different
• who signed it (see below)
• write to you by itself, every 2 days (rare), off until you switch it on
• uses at most 0.5 USD a day
• new data that it keeps: more
• what it keeps in words: word is gone
• new notes on how to be with you
• new skills: quiz
• works only with the packs notes >=1
• needs aouo >=0.1
• about 341 words that the model reads with each message, was 117

Gone
• skills: add

What it has kept so far is rewritten for this version; a copy is made before.

What it has kept so far is not seen any more. Nothing of it is deleted: it stays in \
data/store/vocab/ in the bot's home, and comes back with the version that is installed now.

Signed by Ada, whose key you trust.

12 files, 33.7 kB, fingerprint 0123456789abcdef"""
    )


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ((ID, replace(WORD, required=False)), "the same as before, in other rules"),
        ((ID, replace(WORD, default="''")), "the same as before, in other rules"),
        ((WORD, ID), "the same as before, in another order"),
        ((ID, WORD, replace(WORD, name="note")), "note is new"),
    ],
)
def test_a_change_of_rules_is_not_called_another_order_nor_a_migration(
    columns: tuple[Column, ...], told: str
):
    newer = replace(PLAIN, version="1.0.1", tables={"words": columns})

    card = shown(install_card(newer, compare(PLAIN, newer)))

    assert f"• what it keeps in words: {told}\n" in card
    assert "rewritten" not in card


def test_skills_that_nobody_asks_for_are_not_listed_and_others_by_their_titles():
    skills = ("onboarding", "aggregator", "study")
    titles = {"study": "Study words", "aggregator": "Weekly report"}
    plans = (
        Planned("w", "0 10 * * 0", "aggregator", False),
        Planned("d", "every 2d", f"{PLAIN.name}:study", True),
        Planned("p", "every 1d", "", True),
    )
    app = replace(PLAIN, skills=skills, titles=titles, may_schedule=True, schedules=plans)
    before = replace(PLAIN, skills=("onboarding", "aggregator"))

    first, then = (shown(install_card(app, compare(old, app))) for old in (None, before))

    assert "• skills: Study words\n" in first
    assert "every Sunday at 10:00 (Weekly report), off until" in first
    assert "every 2 days (Study words)\n" in first
    assert "every day (p)\n" in first
    assert "• new skills: Study words\n" in then
    assert "aggregator" not in first + then
    assert "onboarding" not in first + then


def test_platforms_have_the_names_that_people_know():
    narrow = replace(PLAIN, platforms=("tg",))

    assert "• work only in Telegram\n" in shown(install_card(narrow))
    assert "• works only in Telegram\n" in shown(install_card(narrow, compare(PLAIN, narrow)))
    assert "• works everywhere, was only in Telegram\n" in shown(
        install_card(PLAIN, compare(narrow, PLAIN))
    )


def test_a_schedule_that_only_does_something_else_says_so():
    one, two = (Planned("daily", "0 8 * * *", skill, False) for skill in ("study", "add"))
    old, new = (replace(PLAIN, may_schedule=True, schedules=(plan,)) for plan in (one, two))

    assert "every day at 08:00 (daily), with other work than before" in shown(
        install_card(new, compare(old, new))
    )


@pytest.mark.parametrize("name", ["notes", "vocab", "create"])
def test_the_card_of_a_sample_pack_needs_no_developer(name: str):
    summary = summarize_folder(SAMPLES / name)
    card = shown(install_card(summary, compare(None, summary), ours=True))

    words = re.findall(r"[a-z_]+", card.lower())
    assert not {"prompt", "bytes", "database", "table", "tables", "sandbox", "schema", "hosts"} & {
        *words
    }
    assert not {"onboarding", "aggregator", "migrations", "mcp"} & {*words}


def test_another_signer_is_said_in_bold_and_above_all_else_about_signatures():
    markdown = install_card(PLAIN, compare(WIDE, PLAIN))

    assert "**This is not signed by who signed the installed version.**" in markdown
    assert shown(markdown).count("• who signed it (see below)") == 1


def test_an_upgrade_that_asks_nothing_says_so():
    newer = replace(PLAIN, version="1.0.1", prompt_bytes=800)

    told = shown(install_card(newer, compare(PLAIN, newer)))

    assert (
        told
        == """\
Upgrade Vocab (vocab) from 1.0.0 to 1.0.1?
Learns words with you

It asks for nothing new.

Different
• about 133 words that the model reads with each message, was 117

Not signed: nothing says who made it.

12 files, 33.7 kB, fingerprint 0123456789abcdef"""
    )


def test_an_installed_app_is_not_asked_about():
    assert shown(install_card(PLAIN)).splitlines()[0] == "Vocab (vocab) 1.0.0"


def test_tools_named_one_by_one_are_told_like_the_group_they_make_up():
    one_by_one = replace(PLAIN, tools=("msg", "memory", "skill_view", "clarify", "persist", "db"))

    assert install_card(one_by_one) == install_card(replace(PLAIN, tools=("core",)))


def test_an_older_version_is_called_one():
    told = shown(install_card(PLAIN, compare(replace(PLAIN, version="1.10.0"), PLAIN)))

    assert told.startswith("Take back Vocab (vocab) from 1.10.0 to 1.0.0?\n")
    assert "It is older than the installed version" in told


def test_an_app_that_comes_along_does_not_say_that_nobody_knows_who_made_it():
    ours = install_card(PLAIN, compare(None, PLAIN), ours=True)

    assert "It comes with aouo." in ours
    assert "nothing says who made it" not in ours


@given(st.text(max_size=60) | MARKED)
@example("||hidden||")
def test_a_strangers_words_are_shown_and_never_formatted(text: str):
    told = render(f"x {plain(text, 100)} y")

    assert len(told) == 1
    assert told[0].entities == ()
    words = _one_line(text, 100).replace("||", "‖").split()
    assert told[0].text.split() == ["x", *words, "y"]


@given(st.text(max_size=60) | MARKED)
def test_a_strangers_name_is_one_span_of_code(text: str):
    told = render(f"x {code(text)} y")

    assert len(told) == 1
    assert [entity.type for entity in told[0].entities] in (["code"], [])
    assert "\n" not in told[0].text


def test_a_card_shows_all_that_is_agreed_to_however_much_and_however_long() -> None:
    """What stands in "and 3 more", or behind a "…", nobody has agreed to."""
    hosts = (*(f"cdn{number}.example.org" for number in range(30)), "evil.example")
    path = "/" + "very-long-folder-name/" * 12 + "secret"
    plans = tuple(Planned(f"p{n}", f"{n} 8 * * *", "study", True) for n in range(14))
    greedy = replace(
        PLAIN,
        version="1.1.0",
        network=hosts,
        file_paths=(path,),
        external_commands=(*(f"tool{n}" for n in range(12)), "curl"),
        may_schedule=True,
        schedules=plans,
    )

    for difference in (compare(None, greedy), compare(PLAIN, greedy)):
        card = "".join(part.text for part in render(install_card(greedy, difference)))
        assert "evil.example" in card
        assert path in card
        assert "curl" in card
        assert "08:13" in card


@pytest.mark.parametrize("card", ["x" * 6_000, "**may** read\n\n" * 900, "😀" * 3_000])
def test_a_card_that_is_too_long_for_one_message_has_no_yes(card: str) -> None:
    """Nobody agrees to what they cannot read; Telegram counts UTF-16 code units."""
    shown = permissions.offered("c1", card, "install")

    assert len(shown.text.encode("utf-16-le")) // 2 <= 4096
    assert shown.text.endswith("read all of it with `aouo pack info`.")
    assert shown.buttons == ()


def test_a_card_that_fits_asks() -> None:
    shown = permissions.offered("c1", "It may read.", "install")

    assert [button.label for button in shown.buttons[0]] == ["Install", "No"]


def test_a_card_is_in_one_language() -> None:
    """Whatever it says of a pack of ours, in German no word of the English card is left."""
    samples = sorted(path.parent for path in SAMPLES.glob("*/pack.yml"))
    for folder in samples:
        summary = summarize_folder(folder)
        english = install_card(summary)
        with speaking("de"):
            german = install_card(summary)
        own, theirs = (
            set(re.findall(r"[a-z]{4,}", re.sub("`[^`]*`", "", card))) for card in (english, german)
        )
        assert (own & theirs) <= {"aouo", "skills", "name", "notes", "text"}, folder.name
