"""How the tiny model is asked: what is decided without running it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.providers.tiny import answer, arguments, choice, cuts, options
from aouo.transcript import (
    AssistantSaid,
    Message,
    ModelRequest,
    ToolCall,
    ToolReturned,
    ToolSpec,
    UserSaid,
)

PROPERTIES: dict[str, Any] = {
    "action": {"type": "string", "enum": ["plant", "list"]},
    "bed": {"type": "string"},
    "data": {"type": "object"},
}


def planted(what: str) -> dict[str, Any]:
    return {"action": "plant", "bed": "south", "data": {"name": what}}


LISTED = {"action": "list", "bed": "south"}
EXAMPLES = [
    {"user": "plant: two roses", "arguments": planted("two roses")},
    {"user": "please put a fig tree into the ground", "arguments": planted("a fig tree")},
    {"user": "what grows in the south bed?", "arguments": LISTED},
]


def garden(examples: list[Any] | None = None, name: str = "garden") -> ToolSpec:
    schema = {"type": "object", "properties": PROPERTIES, "required": ["action"]}
    return ToolSpec(name, "Plants and beds. Much more.", schema | {"examples": examples or []})


def test_options_are_a_tools_enum_values_and_tools_with_examples_push_out_the_others() -> None:
    shown = options.options([garden(EXAMPLES), garden(name="pack__shed")])
    plain = options.options([garden(name="pack__shed")])
    twice = options.options([garden(EXAMPLES), garden(EXAMPLES, name="pack__shed")])

    assert [option.label for option in shown] == ["plant", "list"]
    assert [option.label for option in plain] == ["plant", "list"]
    assert not plain[0].given
    assert [o.label for o in twice] == ["garden plant", "garden list", "shed plant", "shed list"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("plant: a red oak", "a red oak"),
        ("please plant mint", "mint"),
        ('plant: "x" \\ y', '"x" \\ y'),
        ("Mint and sage", ""),
        ("plant", ""),
    ],
)
def test_a_value_begins_behind_the_words_that_lead_up_to_it(message: str, expected: str) -> None:
    option = options.options([garden(EXAMPLES[:1])])[0]
    copy = arguments.copies(option, option.examples[0])[-1]

    assert copy.path == ("data", "name")
    assert arguments.only_copy(option, copy, message) == (
        expected or (message if len(message.split()) == 1 else "")
    )


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("note: a [b] c", "note: a [b] c"),
        ('[in reply to Ada: "a\n[b]"]\nnote: c', "note: c"),
        ('[about this part of an earlier message: "a"]\n[forwarded from Ben]\nb\n[c]', "b\n[c]"),
        ('[in reply to Ada: "a"]\n[in reply to Ben: "b"]\nc', "c"),
        ("[forwarded from Ben]\n", ""),
        ("[buy] milk\n[forwarded from Ben]", "[buy] milk\n[forwarded from Ben]"),
        ('[in reply to Ada: "never closed', '[in reply to Ada: "never closed'),
    ],
)
def test_what_a_message_refers_to_is_not_among_its_own_words(message: str, own: str) -> None:
    """These lines are the channel's; one for each message of a burst, all before the words."""
    assert cuts.own_words(message) == own


def test_what_is_the_same_in_all_examples_is_never_copied_from_the_message() -> None:
    plant, lists = options.options([garden(EXAMPLES)])

    assert [c.path for c in arguments.copies(plant, plant.examples[0])] == [("data", "name")]
    assert [c.tail for c in arguments.copies(plant, plant.examples[1])] == [False]
    assert arguments.copies(lists, lists.examples[0]) == ()


def test_the_nearest_example_is_the_one_that_shares_rare_words() -> None:
    plant = options.options([garden(EXAMPLES)])[0]

    assert choice.nearest(plant, "put mint into the ground").message == EXAMPLES[1]["user"]
    assert choice.nearest(plant, "plant: mint").message == EXAMPLES[0]["user"]


def test_likeness_to_its_examples_can_turn_what_the_model_says() -> None:
    choices = options.options([garden(EXAMPLES)])
    level = dict.fromkeys([choice.TALK, "plant", "list"], -2.0)

    chosen = choice.choose(choices, "what grows in the north bed?", level, level)
    talked = choice.choose(choices, "Hello", level, level)

    assert chosen is not None
    assert chosen.label == "list"
    assert talked is None


def test_a_label_has_the_chance_of_the_best_token_that_begins_it() -> None:
    choices = options.options([garden(EXAMPLES)])
    top = {" pl": -3.0, " plant": -1.0, "list": -0.1, " ": -0.2, " talking": -0.3}

    assert choice.label_logprobs(choices, top) == {
        choice.TALK: choice.UNSEEN_LOGPROB,
        "plant": -1.0,
        "list": choice.UNSEEN_LOGPROB,
    }


@given(st.text(max_size=900), st.lists(st.sampled_from(EXAMPLES), max_size=40))
def test_prompts_stay_small_and_grammars_have_one_rule_a_line(
    text: str, examples: list[dict[str, Any]]
) -> None:
    message = cuts.cleaned(text)
    choices = options.options([garden(examples)])

    assert len(choice.choice_prompt(choices, message)) <= 2500
    for option in choices:
        example = choice.nearest(option, message)
        assert len(arguments.schema_prompt(option, message)) <= 2500
        for copy in arguments.copies(option, example):
            assert len(arguments.copy_prompt(option, copy, message)) <= 2500
            for line in arguments.copy_grammar(option, copy, message).split("\n"):
                assert "::=" in line


@given(st.text(max_size=5000), st.text(max_size=3000), st.lists(st.text(max_size=2000), max_size=9))
def test_the_chat_is_small_whatever_is_in_it(system: str, last: str, before: list[str]) -> None:
    messages = (*(AssistantSaid(text) for text in before), UserSaid(last))
    chat = answer.chat_messages(ModelRequest(system, messages, ()))

    assert sum(len(entry["content"]) for entry in chat) <= 2500
    assert chat[-1] == {"role": "user", "content": last[: len(chat[-1]["content"])]}


@pytest.mark.parametrize(
    ("result", "failed", "expected"),
    [
        ('{"ok": true, "id": 3}', False, "It is done."),
        (
            '[{"id": 1, "name": "mint", "at": "2026-11-20T10:00:00Z"}]',
            False,
            "Here is what I found: mint",
        ),
        ('{"rows": ["mint", "sage"]}', False, "Here is what I found:\n- mint\n- sage"),
        ('{"rows": []}', False, "Here is what I found: nothing"),
        ('{"count": 5}', False, "It is done: count: 5"),
        ('{"tables": {"beds": {"rows": 3}}}', False, "It is done: beds: 3"),
        ("", False, "It is done."),
        ("No such bed.", True, "That did not work: No such bed."),
    ],
)
def test_a_result_is_retold_as_it_is(result: str, failed: bool, expected: str) -> None:
    call = ToolCall("c", "garden", "{}")
    messages: tuple[Message, ...] = (
        UserSaid("plant: mint"),
        AssistantSaid("", (call,)),
        ToolReturned("c", "garden", result, failed),
    )
    told = answer.outcome(messages)

    assert told is not None
    assert told.asked == "plant: mint"
    assert answer.telling(told, f" {answer.DONE}\n") == expected
    assert answer.outcome(messages[:1]) is None


def test_without_examples_the_arguments_are_held_to_a_short_form_of_the_schema() -> None:
    option = options.options([garden()])[1]

    assert arguments.schema_for(option) == {
        "type": "object",
        "properties": {"action": {"const": "list"}, "bed": {"type": "string", "maxLength": 80}},
        "required": ["action", "bed"],
        "additionalProperties": False,
    }


@given(st.sampled_from([("data", "name"), ("bed",)]), st.text())
def test_a_value_is_put_in_its_place_and_nothing_else_moves(
    path: tuple[str, ...], new: str
) -> None:
    before = json.dumps(planted("rose"))
    arguments = json.loads(before)
    after = cuts.with_value(arguments, path, new)

    assert cuts.value_at(after, path) == new
    assert json.dumps(arguments) == before
    assert json.dumps(cuts.with_value(after, path, cuts.value_at(arguments, path))) == before


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 7, "required": 7, "examples": 7},
        {"properties": {"a": True, "b": {"enum": "x"}}, "examples": ["a", 7, None, {}]},
        {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a", "zzz"]},
    ],
)
def test_a_strangers_schema_breaks_nothing(schema: dict[str, Any]) -> None:
    for option in options.options([ToolSpec("mcp__far__away", "", schema)]):
        assert choice.choice_prompt([option], "Hello")
        assert arguments.schema_for(option)["type"] == "object"
        assert arguments.schema_prompt(option, "Hello")
        assert arguments.copies(option, choice.nearest(option, "Hello")) == ()
