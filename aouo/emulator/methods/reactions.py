"""Methods that answer what a person did: a tapped button, a message to react to."""

import re
from dataclasses import replace
from functools import cache

from aouo.emulator.description import api_types
from aouo.emulator.jsons import JsonObject
from aouo.emulator.parameters import Parameters
from aouo.emulator.refusal import bad_request
from aouo.emulator.world import CALLBACK_DEADLINE_S, World

MAX_ANSWER = 200
_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"


def answer_callback_query(world: World, params: Parameters, now: float) -> bool:
    if len(params.text("text")) > MAX_ANSWER:
        raise bad_request("MESSAGE_TOO_LONG")
    query_id = params.text("callback_query_id")
    if query_id not in world.tapped_at or query_id in world.tap_answers:
        raise bad_request(_TOO_OLD)
    if now - world.tapped_at[query_id] > CALLBACK_DEADLINE_S:
        raise bad_request(_TOO_OLD)
    answer: JsonObject = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    if params.text("url"):
        answer["url"] = params.text("url")
    world.tap_answers[query_id] = answer
    return True


def set_message_reaction(world: World, params: Parameters, now: float) -> bool:
    """Set the bot's reaction, one at most; an empty list removes it."""
    chat = world.chat_for_send(params.values["chat_id"])
    message = chat.message(params.integer("message_id"), "message to react not found")
    given = params.objects("reaction")
    chosen = tuple(str(item.get("emoji", "")) for item in given)
    if len(chosen) > 1 or not set(chosen) <= allowed_reactions():
        raise bad_request("REACTION_INVALID")
    reactions = dict(message.reactions) | {world.bot.id: chosen}
    chat.keep(replace(message, reactions={who: one for who, one in reactions.items() if one}))
    return True


@cache
def allowed_reactions() -> frozenset[str]:
    """Return the emoji that the description lists."""
    text = api_types()["ReactionTypeEmoji"].fields["emoji"].text
    return frozenset(re.findall(r'"([^"]+)"', text))
