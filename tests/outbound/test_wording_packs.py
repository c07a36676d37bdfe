"""Permission cards: what a person reads before they say yes. Source: issue 5 "Lifecycle"."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from aouo.outbound.quoting import _one_line, code, plain
from aouo.outbound.render import render
from aouo.outbound.wording_packs import install_card
from aouo.packs.compare import compare
from aouo.packs.manifest import Budget
from aouo.packs.schema import Column
from aouo.packs.signing import Signature
from aouo.packs.summary import OwnTool, Planned, Summary

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


def test_a_small_app_has_a_small_card():
    told = shown(install_card(PLAIN, compare(None, PLAIN)))

    assert (
        told
        == """\
Install Vocab (vocab) 1.0.0?
Learns words with you

It may
• keep a database, for each person alone: words
• answer you, ask with buttons, and remember things in files of its own

It brings
• skills: study, add
• commands: /study
• 700 bytes of text in each prompt

Not signed: nothing says who made it.

12 files, 33.7 kB, 0123456789abcdef"""
    )


def test_a_wide_app_says_all_of_it():
    told = shown(install_card(WIDE, compare(None, WIDE)))

    assert (
        told
        == """\
Install Vocab (vocab) 1.1.0?
Learns words with you

It may
• run any command on this machine
• run programs on this machine: count
• touch files outside its folder, where the bot's settings open them: ~/books
• reach on the internet: api.example.org
• run tools of its own, in a sandbox: count
• speak up by itself, every day at 08:00 (study)
• speak up by itself, every 2 days (add), off until you switch it on
• keep a database, shared by all who may talk to it: words, more
• answer you, ask with buttons, and remember things in files of its own
• read web pages of the hosts it may reach, and search the web
• use what MCP servers offer: mcp:mail

It brings
• skills: study, quiz
• commands: /study
• more memory files: SOUL.md
• 2.0 kB of text in each prompt
• uses at most 0.5 USD a day
• needs the packs notes >=1
• needs aouo >=0.1

Signed by Ada, whose key you trust.

12 files, 33.7 kB, 0123456789abcdef"""
    )


def test_an_upgrade_says_what_needs_a_yes_what_differs_and_what_goes():
    told = shown(install_card(WIDE, compare(PLAIN, WIDE)))

    assert (
        told
        == """\
Upgrade Vocab (vocab) from 1.0.0 to 1.1.0?
Learns words with you

New, and needs your yes
• run any command on this machine
• read web pages of the hosts it may reach, and search the web
• use what MCP servers offer: mcp:mail
• run tools of its own, in a sandbox: count
• reach on the internet: api.example.org
• touch files outside its folder, where the bot's settings open them: ~/books
• run programs on this machine: count
• speak up by itself, on schedules
• schedule daily: every day at 08:00
• new rows go into one database for all: everybody who may talk to this bot reads them

Different
• who signed it (see below)
• schedule rare: every 2 days, off until you switch it on
• uses at most 0.5 USD a day
• tables: more
• table words loses word
• more memory files: SOUL.md
• skills: quiz
• needs the packs notes >=1
• needs aouo >=0.1
• 2.0 kB of text in each prompt, was 700 bytes

Gone
• skills: add

Its database is converted by migrations of its own; a copy is kept before.

Signed by Ada, whose key you trust.

12 files, 33.7 kB, 0123456789abcdef"""
    )


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
• 800 bytes of text in each prompt, was 700 bytes

Not signed: nothing says who made it.

12 files, 33.7 kB, 0123456789abcdef"""
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
