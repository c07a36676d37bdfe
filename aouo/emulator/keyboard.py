"""Checks inline keyboards as the server does."""

from aouo.emulator.jsons import JsonObject, as_array, as_object
from aouo.emulator.messages import Keyboard
from aouo.emulator.refusal import bad_request
from aouo.emulator.text import link_target

MAX_BUTTONS = 100
MAX_CALLBACK_BYTES = 64

_ACTIONS = [
    *("url", "callback_data", "web_app", "login_url", "switch_inline_query"),
    *("switch_inline_query_current_chat", "switch_inline_query_chosen_chat"),
    *("copy_text", "callback_game", "pay"),
]


def inline_keyboard(markup: JsonObject | None) -> Keyboard:
    """Return the rows of an inline keyboard without empty ones; other markup has no rows."""
    rows = as_array((markup or {}).get("inline_keyboard")) or []
    keyboard = tuple(
        tuple(_button(button) for button in as_array(row) or []) for row in rows if as_array(row)
    )
    if sum(len(row) for row in keyboard) > MAX_BUTTONS:
        raise bad_request("reply markup is too long")
    return keyboard


def _button(raw: object) -> JsonObject:
    button = as_object(raw) or {}
    if not str(button.get("text", "")).strip():
        raise bad_request(
            'can\'t parse inline keyboard button: Field "text" must be a non-empty String'
        )
    actions = [name for name in _ACTIONS if name in button]
    if not actions:
        raise bad_request(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
        )
    if len(actions) > 1:
        raise bad_request(
            "can't parse inline keyboard button: exactly one action is allowed, "
            f"not {' and '.join(actions)}"
        )
    if "callback_data" in button:
        size = len(str(button["callback_data"]).encode())
        if not 1 <= size <= MAX_CALLBACK_BYTES:
            raise bad_request("BUTTON_DATA_INVALID")
    if "url" in button and link_target(str(button["url"])) is None:
        raise bad_request(
            f"inline keyboard button URL '{button['url']}' is invalid: Wrong HTTP URL"
        )
    return button
