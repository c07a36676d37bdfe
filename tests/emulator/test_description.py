"""The API description: calls and objects are checked against Telegram's own reference."""

import json
from typing import Any

import pytest

from aouo.emulator.description import api_methods, api_types, check, read_call


def flaws(method: str, **params: Any) -> list[tuple[str, str]]:
    known = api_methods()[method.lower()]
    return [(problem.flaw, problem.path) for problem in read_call(known, params)[1]]


def test_the_description_is_the_whole_bot_api_10_1_and_what_we_use_of_10_3() -> None:
    known = api_types()
    draft = api_methods()["sendmessagedraft"]

    assert (len(api_methods()), len(known)) == (180, 360)
    assert (draft.name, draft.types) == ("sendMessageDraft", ("Boolean",))
    assert list(draft.fields)[-3:] == ["entities", "can_stop", "keep_on_stop"]
    assert known["Update"].fields["stopped_message_generation"].types == (
        "MessageGenerationStopped",
    )


BUTTON = {"text": "A", "callback_data": "a"}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("sendMessage", {"chat_id": 1, "text": "a"}, []),
        ("SENDMESSAGE", {"chat_id": "@name", "text": "a"}, []),
        ("sendMessage", {"chat_id": 1}, [("missing", "text")]),
        ("sendMessage", {"chat_id": 1, "text": ""}, [("missing", "text")]),
        ("sendMessage", {"chat_id": 1, "text": "a", "thread": 2}, [("unknown", "thread")]),
        ("sendMessage", {"chat_id": [1], "text": "a"}, [("type", "chat_id")]),
        ("sendMessage", {"chat_id": "1", "text": "a", "message_thread_id": "7"}, []),
        (
            "sendMessage",
            {"chat_id": 1, "text": "a", "message_thread_id": "seven"},
            [("type", "message_thread_id")],
        ),
        ("sendMessage", {"chat_id": 1, "text": "a", "protect_content": "true"}, []),
        ("sendMessage", {"chat_id": 1, "text": "a", "protect_content": 1}, []),
        (
            "sendMessage",
            {"chat_id": 1, "text": "a", "entities": [{"type": "bold", "offset": 0}]},
            [("missing", "entities[0].length")],
        ),
        (
            "sendMessage",
            {"chat_id": 1, "text": "a", "reply_markup": {"inline_keyboard": [[BUTTON]]}},
            [],
        ),
        (
            "sendMessage",
            {"chat_id": 1, "text": "a", "reply_markup": {"inline_keyboard": [BUTTON]}},
            [("type", "reply_markup.inline_keyboard[0]")],
        ),
        ("setMyCommands", {"commands": [], "scope": {"type": "default"}}, []),
        ("setMyCommands", {"commands": [], "scope": {"type": "x"}}, [("type", "scope.type")]),
        ("sendPhoto", {"chat_id": 1, "photo": "https://a.b/c.png"}, []),
    ],
)
def test_a_call_is_held_to_the_description(
    method: str, params: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert flaws(method, **params) == expected


def test_a_form_carries_numbers_booleans_and_objects_as_text() -> None:
    markup = {"inline_keyboard": [[BUTTON]]}
    form = {
        "chat_id": "-5",
        "text": "12",
        "protect_content": "1",
        "reply_markup": json.dumps(markup),
    }

    values, problems = read_call(api_methods()["sendmessage"], form)

    assert problems == []
    assert values == {"chat_id": -5, "text": "12", "protect_content": True, "reply_markup": markup}


def test_an_object_of_a_union_is_held_to_the_subtype_it_names() -> None:
    user = {"id": 1, "is_bot": False, "first_name": "Ada"}

    assert check(("ChatMember",), {"status": "left", "user": user}, "ChatMember") == []
    problems = check(("ChatMember",), {"status": "kicked", "user": user}, "ChatMember")
    assert [problem.path for problem in problems] == ["ChatMember.until_date"]
