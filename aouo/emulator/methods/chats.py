"""Methods that ask about a chat and its members."""

from typing import Any

from aouo.emulator.parameters import Parameters
from aouo.emulator.people import Membership
from aouo.emulator.refusal import bad_request
from aouo.emulator.world import World

_GIFTS = [
    "unlimited_gifts",
    "limited_gifts",
    "unique_gifts",
    "premium_subscription",
    "gifts_from_channels",
]


def get_chat(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    return chat.as_json() | {
        "accent_color_id": abs(chat.id) % 7,
        "max_reaction_count": 11,
        "accepted_gift_types": dict.fromkeys(_GIFTS, False),
    }


def get_chat_member(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    person_id = params.integer("user_id")
    if person_id not in world.people:
        raise bad_request("PARTICIPANT_ID_INVALID")
    return chat.membership(person_id).as_json(world.person(person_id))


def get_chat_administrators(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    if chat.kind == "private":
        raise bad_request("there are no administrators in the private chat")
    return [
        member.as_json(world.person(person_id))
        for person_id, member in chat.members.items()
        if member.privileged and person_id != world.bot.id
    ]


def get_chat_member_count(world: World, params: Parameters, now: float) -> int:
    chat = world.chat_of(params.values["chat_id"])
    return sum(1 for member in chat.members.values() if member.present)


def leave_chat(world: World, params: Parameters, now: float) -> bool:
    chat = world.chat_for_send(params.values["chat_id"])
    chat.members[world.bot.id] = Membership("left")
    return True
