"""The verbs of the control API, for people, tests and the chat page."""

import base64
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from aouo.emulator import acts, members
from aouo.emulator.chats import ICON_COLORS
from aouo.emulator.description import Upload
from aouo.emulator.faults import FAULT_KINDS, Fault, FaultPlan
from aouo.emulator.flood import FloodControl
from aouo.emulator.journal import Journal
from aouo.emulator.jsons import JsonObject, as_array
from aouo.emulator.messages import Message
from aouo.emulator.methods.topics import delete_topic, rename_topic, set_topic_closed
from aouo.emulator.objects import message_json
from aouo.emulator.people import Membership, Person
from aouo.emulator.refusal import bad_request
from aouo.emulator.start import add_topic
from aouo.emulator.view import conversation_view
from aouo.emulator.world import World, newest


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that the verbs work on."""

    world: World
    journal: Journal
    faults: FaultPlan
    flood: FloodControl
    clock: Callable[[], float]

    @property
    def now(self) -> float:
        return self.clock()

    def shown(self, message: Message) -> JsonObject:
        return message_json(self.world, message) | {
            "reactions": {str(who): list(one) for who, one in message.reactions.items()}
        }


Verb: TypeAlias = Callable[[Desk, JsonObject], Any]

# Verbs without changes to wait for.
READS = frozenset({"view", "messages", "state", "calls", "violations", "faults_pending"})


def _say(desk: Desk, arguments: JsonObject) -> Any:
    return desk.shown(acts.say(desk.world, desk.now, **arguments))


def _edit(desk: Desk, arguments: JsonObject) -> Any:
    return desk.shown(acts.edit(desk.world, desk.now, **arguments))


def _send_file(desk: Desk, arguments: JsonObject) -> Any:
    content = base64.b64decode(arguments.pop("content"))
    upload = Upload(arguments.pop("name"), arguments.pop("mime"), content)
    return desk.shown(acts.send_file(desk.world, desk.now, upload=upload, **arguments))


def _send_other(desk: Desk, arguments: JsonObject) -> Any:
    return desk.shown(acts.send_other(desk.world, desk.now, **arguments))


def _tap(desk: Desk, arguments: JsonObject) -> Any:
    return {"query_id": acts.tap(desk.world, desk.now, **arguments)}


def _stop_draft(desk: Desk, arguments: JsonObject) -> None:
    acts.stop_draft(desk.world, **arguments)


def _react(desk: Desk, arguments: JsonObject) -> Any:
    return desk.shown(acts.react(desk.world, desk.now, **arguments))


def _delete(desk: Desk, arguments: JsonObject) -> None:
    acts.delete(desk.world, **arguments)


def _create_user(desk: Desk, arguments: JsonObject) -> Any:
    started = arguments.pop("started", True)
    person = Person(id=arguments.pop("id", 0) or newest(desk.world.chats) + 1, **arguments)
    return desk.world.add_person(person, started=started).as_json()


def _create_chat(desk: Desk, arguments: JsonObject) -> Any:
    kind = arguments["kind"]
    if kind not in ("group", "supergroup", "forum"):
        raise bad_request(f"a chat is a group, a supergroup or a forum, not {kind!r}")
    people: list[int] = as_array(arguments["members"]) or []
    chat = desk.world.add_chat(
        "group" if kind == "group" else "supergroup",
        str(arguments["title"]),
        is_forum=kind == "forum",
    )
    for index, person_id in enumerate(people):
        desk.world.person(person_id)
        chat.members[person_id] = Membership("member" if index else "creator")
    status = arguments.get("bot_status", "administrator")
    if status != "left":
        members.welcome_bot(desk.world, chat, people[0], desk.now)
    if status == "administrator":
        membership = Membership("administrator", arguments.get("manages_topics", True))
        members.set_bot_status(
            desk.world, desk.now, user=people[0], chat=chat.id, status=membership
        )
    return chat.as_json()


def _set_bot_status(desk: Desk, arguments: JsonObject) -> None:
    membership = Membership(arguments.pop("status"), arguments.pop("manages_topics", True))
    members.set_bot_status(desk.world, desk.now, status=membership, **arguments)


def _join(desk: Desk, arguments: JsonObject) -> None:
    members.join(desk.world, desk.now, **arguments)


def _leave(desk: Desk, arguments: JsonObject) -> None:
    members.leave(desk.world, desk.now, **arguments)


def _block(desk: Desk, arguments: JsonObject) -> None:
    members.block(desk.world, desk.now, **arguments)


def _unblock(desk: Desk, arguments: JsonObject) -> None:
    members.unblock(desk.world, desk.now, **arguments)


def _upgrade(desk: Desk, arguments: JsonObject) -> Any:
    return members.upgrade(desk.world, desk.now, **arguments).as_json()


def _topic_created(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    color = ICON_COLORS[len(chat.topics) % len(ICON_COLORS)]
    name = str(arguments["name"]).strip()
    if not name:
        raise bad_request("a topic needs a name")
    topic = add_topic(chat, arguments["user"], name, color, int(desk.now))
    members.tell_topic_created(desk.world, chat, topic.id)
    return topic.as_json()


def _topic_renamed(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    user, thread, name = arguments["user"], arguments["thread"], arguments["name"]
    return desk.shown(rename_topic(desk.world, chat, user, thread, name, desk.now))


def _topic_closed(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    closed: bool = arguments.get("closed", True)
    user, thread = arguments["user"], arguments["thread"]
    return desk.shown(set_topic_closed(desk.world, chat, user, thread, desk.now, closed=closed))


def _topic_deleted(desk: Desk, arguments: JsonObject) -> None:
    delete_topic(desk.world.chats[arguments["chat"]], arguments["thread"])


def _messages(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    if "thread" not in arguments:
        return [desk.shown(message) for message in chat.messages.values()]
    thread = chat.thread_of(arguments["thread"])
    return [desk.shown(message) for message in chat.in_thread(thread)]


def _calls(desk: Desk, arguments: JsonObject) -> Any:
    return [asdict(call) for call in desk.journal.calls]


def _violations(desk: Desk, arguments: JsonObject) -> Any:
    return desk.journal.violations


def _fault(desk: Desk, arguments: JsonObject) -> None:
    if arguments.get("kind") not in FAULT_KINDS:
        raise bad_request(f"a fault is one of {', '.join(FAULT_KINDS)}")
    desk.faults.add(Fault(**arguments))


def _clear_faults(desk: Desk, arguments: JsonObject) -> None:
    desk.faults.clear()


def _faults_pending(desk: Desk, arguments: JsonObject) -> Any:
    return [asdict(fault) for fault in desk.faults.pending()]


def _flood(desk: Desk, arguments: JsonObject) -> None:
    desk.flood.on = arguments["on"] is True


def _state(desk: Desk, arguments: JsonObject) -> Any:
    world = desk.world
    return {
        "bot": world.bot.as_json(),
        "people": [person.as_json() for person in world.people.values() if not person.is_bot],
        "chats": [
            chat.as_json() | {"topics": [topic.as_json() for topic in chat.topics.values()]}
            for chat in world.chats.values()
        ],
    }


def _view(desk: Desk, arguments: JsonObject) -> Any:
    return conversation_view(desk.world, desk.now, **arguments)


VERBS: dict[str, Verb] = {
    verb.__name__.removeprefix("_"): verb
    for verb in (
        _say, _edit, _send_file, _send_other, _tap, _stop_draft, _react, _delete,
        _create_user, _create_chat, _set_bot_status, _join, _leave, _block, _unblock, _upgrade,
        _topic_created, _topic_renamed, _topic_closed, _topic_deleted,
        _messages, _calls, _violations, _fault, _clear_faults, _faults_pending, _flood,
        _state, _view,
    )
}  # fmt: skip
