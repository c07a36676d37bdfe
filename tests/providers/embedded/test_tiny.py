"""How a model too small to chat answers: what is decided without running it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.facts.transcript import ToolCall, ToolReturned, ToolSpec
from aouo.providers.embedded import conversation, matching, options
from aouo.words import catalogue
from aouo.words.markdown.render import render

PROPERTIES: dict[str, Any] = {
    "action": {"type": "string", "enum": ["plant", "list"]},
    "bed": {"type": "string"},
    "data": {"type": "object"},
}


def planted(what: str) -> dict[str, Any]:
    return {"action": "save", "table": "plants", "data": {"name": what}}


LISTED = {"action": "recent", "table": "plants"}
COUNTED = {"action": "summary", "table": "plants"}
EXAMPLES: list[Any] = [
    {"user": "plant: two roses", "arguments": planted("two roses"), "answer": "There is {name}."},
    {"user": "put a fig tree into the ground", "arguments": planted("fig tree")},
    {"user": "what plants grow here?", "arguments": LISTED},
    {"user": "list my plants", "arguments": LISTED},
    {"user": "count my plants", "arguments": COUNTED},
]


def persist(examples: list[Any] | None = None, name: str = "persist") -> ToolSpec:
    schema = {"type": "object", "properties": PROPERTIES, "required": ["action"]}
    return ToolSpec(name, "Plants and beds.", schema | {"examples": examples or EXAMPLES})


CHOICES = options.options([persist()])


def test_the_examples_of_one_call_are_one_option_and_other_tools_are_none() -> None:
    plain = ToolSpec("shed", "", {"type": "object", "properties": PROPERTIES})
    twice = options.options([persist(), persist(name="pack__persist"), plain])

    assert [(option.label, option.looks) for option in CHOICES] == [
        ("save", False),
        ("recent", True),
        ("summary", True),
    ]
    assert [len(option.examples) for option in CHOICES] == [2, 2, 1]
    assert len({option.label for option in twice}) == len(twice) == 6


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("plant: a red oak", "a red oak"),
        ("Please, PLANT:mint", "mint"),
        ('plant: "x" \\ y', '"x" \\ y'),
        ("plant: one\ntwo", "one\ntwo"),
        ("plant: why?", "why?"),
        ("could you put an oak into the ground?", "oak"),
        ("put my oak into ground", "my oak"),
    ],
)
def test_the_words_around_a_value_are_an_examples_and_the_value_is_the_persons(
    message: str, value: str
) -> None:
    ((_, arguments),) = matching.matches(CHOICES, message)

    assert arguments == planted(value)


@pytest.mark.parametrize(
    "message",
    [
        *("", "plant", "plant:", "mint and sage", "Hello", "uproot all my plants"),
        *("do not list my plants", "list my plants and uproot them", "I said plant: mint"),
        *("put an oak into the ground?", "put an oak into the car", "my plants are ill"),
    ],
)
def test_whatever_else_is_said_asks_for_nothing(message: str) -> None:
    assert matching.matches(CHOICES, message) == ()


@pytest.mark.parametrize(
    ("message", "labels"),
    [
        ("please list all the plants", ["recent"]),
        ("List my plants!", ["recent"]),
        ("what plants do you have", ["recent"]),
        ("count plants", ["summary"]),
        ("plants", ["recent", "summary"]),
    ],
)
def test_looking_may_be_asked_for_in_other_words_of_the_examples(
    message: str, labels: list[str]
) -> None:
    assert [option.label for option, _ in matching.matches(CHOICES, message)] == labels


@given(st.text(max_size=900))
def test_a_value_is_always_a_piece_of_the_message(text: str) -> None:
    for message in (text, f"plant: {text}", f"put {text} into the ground"):
        for option, arguments in matching.matches(CHOICES, message):
            if not option.looks:
                assert arguments["data"]["name"] in message


@given(st.integers(1, 4000), st.sampled_from([" ", "\n", "please ", "a ", "put "]))
def test_long_messages_are_matched_at_once(length: int, piece: str) -> None:
    """Repeated spaces and fillers must not make the patterns go back and forth."""
    for message in (piece * length, f"put {piece * length} into", f"plant: {piece * length}x"):
        matching.matches(CHOICES, message[:4096])


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("note: a [b] c", "note: a [b] c"),
        ('[in reply to Ada: "a\n[b]"]\nnote: c', "note: c"),
        ('[about this part of an earlier message: "a"]\n[forwarded from Ben]\nb\n[c]', ""),
        ('[in reply to Ada: "a"]\n[in reply to Ben: "b"]\nc', "c"),
        ("[forwarded from Ben]\nnote: b", ""),
        ("[buy] milk\n[forwarded from Ben]", "[buy] milk\n[forwarded from Ben]"),
        ('[in reply to Ada: "never closed', '[in reply to Ada: "never closed'),
        ("[callback] count my notes", "count my notes"),
        ("[the person reacted 👍 to: Saved: “[a]”.]\nnote: b", "note: b"),
        ("[voice message, 3 s; what was said:]\nnote: b", "note: b"),
    ],
)
def test_only_the_persons_own_words_are_looked_at(message: str, own: str) -> None:
    """The lines before them are the channel's; what was forwarded, another person said."""
    assert options.own_words(message) == own


def test_the_model_and_likeness_decide_between_what_fits_equally() -> None:
    level = {"recent": -2.0, "summary": -2.0}
    both = CHOICES[1:]

    assert options.choose(both, "list plants", level, level).label == "recent"
    assert options.choose(both, "plants", level | {"summary": 9.0}, level).label == "summary"


def test_a_label_has_the_chance_of_the_best_token_that_begins_it() -> None:
    top = {" rec": -3.0, " recent": -1.0, "summary": -0.1, " ": -0.2}

    assert options.label_logprobs(CHOICES[1:], top) == {
        "recent": -1.0,
        "summary": options._UNSEEN_LOGPROB,
    }


@given(st.text(max_size=900), st.lists(st.sampled_from(EXAMPLES), max_size=40))
def test_prompts_stay_small(text: str, examples: list[dict[str, Any]]) -> None:
    found = options.options([persist(examples)])

    assert len(options.choice_prompt(found, options.cleaned(text))) <= 2500


@pytest.mark.parametrize(
    ("arguments", "result", "failed", "expected"),
    [
        (LISTED, '{"rows": [{"id": 1, "name": "mint", "pinned": 0}]}', False, "mint"),
        (
            LISTED,
            '{"rows": [{"name": "mint", "kind": "herb"}, {"name": "sage"}]}',
            False,
            "- mint, herb\n- sage",
        ),
        (LISTED, '{"rows": []}', False, "There is nothing to show."),
        (COUNTED, '{"tables": {"plants": {"columns": [], "rows": 3}}}', False, "rows: 3"),
        ({"action": "delete"}, '{"table": "plants", "deleted": 2}', False, "Deleted: 2 rows."),
        (LISTED, "[kept as result 4]", False, "It is too long to be shown here."),
        (planted("x"), "There is no column 'name'.", True, "That did not work."),
        (
            planted("x"),
            "[outcome unknown: …]",
            True,
            "I was restarted while I did that, so I do not know whether it worked. Please look.",
        ),
    ],
)
def test_a_result_is_told_as_it_is(
    arguments: dict[str, Any], result: str, failed: bool, expected: str
) -> None:
    call = ToolCall("c", "persist", json.dumps(arguments))
    told = conversation._told_rows(
        call, ToolReturned("c", "persist", result, failed), None, None, catalogue.text
    )

    assert told == expected


def test_what_was_written_is_read_again_and_told_from_its_row() -> None:
    wrote = ToolCall("c", "persist", json.dumps(planted("roses")))
    saved = ToolReturned("c", "persist", '{"table": "plants", "id": 7, "saved": 1}')
    look = conversation._told_rows(wrote, saved, CHOICES[0], None, catalogue.text)
    again = ToolCall("d", "persist", json.dumps(look))
    row = ToolReturned("d", "persist", '{"rows": [{"id": 7, "name": "red *roses*"}]}')
    gone = ToolReturned("d", "persist", '{"rows": []}')

    assert look == {
        "action": "recent",
        "table": "plants",
        "where": {"name": "roses"},
        "limit": 1,
    }
    assert (
        conversation._told_rows(again, row, None, CHOICES[0], catalogue.text)
        == r"There is red \*roses\*."
    )
    assert conversation._told_rows(again, gone, None, CHOICES[0], catalogue.text) == "Saved."


@pytest.mark.parametrize(
    ("result", "expected"),
    [("Sunny, 20 °C.", "Sunny, 20 °C."), ('{"ok": true}', "“far away” was carried out.")],
)
def test_another_tools_words_are_told_and_its_data_is_not(result: str, expected: str) -> None:
    call = ToolCall("c", "weather__far_away", "{}")

    told = conversation._told_rows(
        call, ToolReturned("c", call.name, result), None, None, catalogue.text
    )

    assert told == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=150))
@example("[^]")
@example("||")
def test_a_value_is_shown_letter_by_letter(text: str) -> None:
    text = options.cleaned(text)
    shown = "".join(part.text for part in render(f"Saved: “{conversation._verbatim(text)}”."))

    said = " ".join(text.split()).replace("||", "‖")  # two bars would make a spoiler
    assert " ".join(shown.split()) == " ".join(f"Saved: “{said}”.".split())


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 7, "required": 7, "examples": 7},
        {"properties": {"a": True}, "examples": ["a", 7, None, {}, {"user": "x"}]},
        {"examples": [{"user": "a b", "arguments": {"a": ["b", {"c": "a"}]}, "answer": 7}]},
    ],
)
def test_a_strangers_schema_breaks_nothing(schema: dict[str, Any]) -> None:
    found = options.options([ToolSpec("mcp__far__away", "", schema)])

    assert matching.matches(found, "Hello") == ()
