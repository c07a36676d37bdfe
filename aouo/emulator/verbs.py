"""The verbs of the control API, for people, tests and the chat page."""

import base64
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from aouo.emulator import acts, members
from aouo.emulator.chats import ICON_COLORS
from aouo.emulator.description import Upload
from aouo.emulator.faults import FAULT_KINDS, Fault
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
    faults: list[Fault]
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


def _send_file(desk: Desk, arguments: JsonObject) -> Any:
    content = base64.b64decode(arguments.pop("content"))
    upload = Upload(arguments.pop("name"), arguments.pop("mime"), content)
    return desk.shown(acts.send_file(desk.world, desk.now, upload=upload, **arguments))


def _tap(desk: Desk, arguments: JsonObject) -> Any:
    return {"query_id": acts.tap(desk.world, desk.now, **arguments)}


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


def _fault(desk: Desk, arguments: JsonObject) -> None:
    if arguments.get("kind") not in FAULT_KINDS:
        raise bad_request(f"a fault is one of {', '.join(FAULT_KINDS)}")
    desk.faults.append(Fault(**arguments))


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


def _shown(act: Callable[..., Message]) -> Verb:
    """Return the verb of an act that makes or changes a message."""
    return lambda desk, arguments: desk.shown(act(desk.world, desk.now, **arguments))


def _done(act: Callable[..., None]) -> Verb:
    """Return the verb of an act without a result."""
    return lambda desk, arguments: act(desk.world, desk.now, **arguments)


VERBS: dict[str, Verb] = {
    "say": _shown(acts.say),
    "edit": _shown(acts.edit),
    "send_other": _shown(acts.send_other),
    "react": _shown(acts.react),
    "join": _done(members.join),
    "leave": _done(members.leave),
    "block": _done(members.block),
    "unblock": _done(members.unblock),
    "delete": lambda desk, arguments: acts.delete(desk.world, **arguments),
    "stop_draft": lambda desk, arguments: acts.stop_draft(desk.world, **arguments),
    "calls": lambda desk, _: [asdict(call) for call in desk.journal.calls],
    "violations": lambda desk, _: desk.journal.violations,
    "clear_faults": lambda desk, _: desk.faults.clear(),
    "faults_pending": lambda desk, _: [asdict(fault) for fault in desk.faults],
    "send_file": _send_file,
    "tap": _tap,
    "create_user": _create_user,
    "create_chat": _create_chat,
    "set_bot_status": _set_bot_status,
    "upgrade": _upgrade,
    "topic_created": _topic_created,
    "topic_renamed": _topic_renamed,
    "topic_closed": _topic_closed,
    "topic_deleted": _topic_deleted,
    "messages": _messages,
    "fault": _fault,
    "flood": _flood,
    "state": _state,
    "view": _view,
}
