"""Runs built-in commands in the transaction that settles them; `facts.commands` names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from aouo.facts.commands import MENU, offered
from aouo.facts.errors import RouteRequiredError, ToolFailed
from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered
from aouo.facts.records import Draft, Summary
from aouo.facts.taps import number_in
from aouo.facts.work import Route
from aouo.flow.commands.registry import AddedCommand, Answered, CommandCall, Handler, Result
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.queue import gathering
from aouo.store import jobs, off_record, routes, sessions, turns
from aouo.store.database import Tx
from aouo.store.snapshots import Snapshot
from aouo.words import conversations as words
from aouo.words.catalogue import say, text

ROTATE = "rotate"
"""The post-action that lets the conversation go on in a fresh session, which begins with a summary:
the `Draft` that its arguments are, or without any the answer itself."""
_BYTES_A_TOKEN = 4


def rotate(tx: Tx, arguments: Mapping[str, Any], answered: Answered) -> Rendered:
    """Do `ROTATE`.

    Raises:
        ValueError: there is no summary.
    """
    draft = Draft(**arguments) if arguments else _drafted(tx, answered)
    if not draft.text.strip():
        raise ValueError("there are no words to begin the fresh session with")
    _, summary = go_on_afresh(tx, answered, draft)
    return words.compacted(draft.messages, summary)


def go_on_afresh(tx: Tx, answered: Answered, draft: Draft) -> tuple[str, int]:
    """Begin a fresh session with a summary, and let the conversation go on in it; returns the ids
    of both."""
    address, now = answered.address, answered.now
    route = routes.get_or_create(tx, address, answered.chat_kind, now)
    fresh = sessions.create(tx, address, answered.pack, now)
    sessions.pin_skill(tx, fresh, answered.skill)
    sessions.label(tx, fresh, sessions.named(tx, answered.session_id).sources)
    routes.set_session(tx, route, fresh, now)
    return fresh, sessions.add_summary(tx, fresh, draft, now, behind=0)


def _drafted(tx: Tx, answered: Answered) -> Draft:
    """Let the answer stand for all that was said in its session, itself included."""
    reach, entries = sessions.reach_of_summary(tx, answered.session_id), 0
    for part in reach.stretches:
        entries += turns.tally(tx, part.session_id, after=part.after, until=part.until)[0]
    before = reach.summary.messages if reach.summary else 0
    newest = turns.entries(tx, answered.session_id, 1)
    text = answered.text.strip()
    return Draft(
        answered.session_id,
        newest[-1].id if newest else 0,
        entries + before,
        text,
        len(text.encode()) // _BYTES_A_TOKEN,
    )


def nothing_to_compact(tx: Tx, call: CommandCall) -> Result:
    """Answer a `/compact` in a session that is short, or summarised already."""
    route = routes.find(tx, call.inbound.address)
    standing = sessions.reach_of_summary(tx, route.session_id).summary if route else None
    return Result(words.nothing_new(standing.id if standing else 0))


def show(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Show a summary of this conversation."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(say("summaries.gone"))
    return Result(words.summary_shown(found.id, found.messages, found.text, undone=found.undone))


def undo(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Undo a summary, so that the messages themselves are read again."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(say("summaries.gone"))
    sessions.undo_summary(tx, found.id, call.now)
    before = sessions.reach_of_summary(tx, found.session_id).summary
    return Result(words.summary_undone(found.messages, before.id if before else 0))


def _find(tx: Tx, call: CommandCall, summary_id: int) -> Summary | None:
    """Find a summary of this conversation, with any of its packs."""
    found = sessions.get_summary(tx, summary_id)
    if found is None:
        return None
    here = str(call.inbound.address)
    key = sessions.key_of(tx, found.session_id)
    return found if key == here or key.startswith(f"{here}:pack:") else None


_SESSIONS_SHOWN = 8


def stopping(is_owner: Callable[[Inbound], bool]) -> Handler:
    """Make the handler of `/stop`; the owner may stop anybody's turn."""

    def stop(tx: Tx, call: CommandCall, library: Library) -> Result:
        del library
        lane, person = call.inbound.address.lane, call.inbound.person.id
        dropped = jobs.drop_waiting(tx, lane, person, call.job, call.now)
        job_id, whose = jobs.at_work(tx, lane, call.job) or (0, person)
        may = whose == person or is_owner(call.inbound)
        if may and job_id:
            jobs.stop(tx, job_id)
        return Result(
            words.stopped(running=bool(job_id), dropped=len(dropped), may=may),
            stopped=job_id if may else 0,
            dropped=tuple(dropped),
        )

    return stop


def helping(added: Callable[[], Mapping[str, AddedCommand]]) -> Handler:
    """Make the handler of `/help`; `added` are the owner's commands."""

    def show_help(tx: Tx, call: CommandCall, library: Library) -> Result:
        pack, theirs = library.get(_route(tx, call).active_pack), added()
        skills = pack.skills.values() if pack else ()
        language = call.inbound.person.language
        own = tuple(
            (skill.command_name, pack.said(language, skill.description))
            for skill in skills
            if pack and skill.command and skill.command_name not in theirs
        )
        has_menu = pack is not None and bool(pack.menu)
        here = offered(call.inbound.address.platform)
        ours = (entry for entry in here if entry is not MENU or has_menu)
        listed = [(entry.name, text(f"about-commands.{entry.name}")) for entry in ours]
        listed += [(name, command.line) for name, command in theirs.items() if command.line]
        return Result(words.commands(listed, own))

    return show_help


def start(tx: Tx, call: CommandCall, library: Library) -> Result:
    language = call.inbound.person.language
    return Result(words.welcome(welcomed(library, language), _route(tx, call).active_pack))


def welcomed(library: Library, language: str) -> tuple[tuple[str, str, str, bool], ...]:
    """Return (name, shown name, what it is for, whether it has a tour) of each installed pack."""
    shown = zip(shown_packs(library, language), abouts(library, language), strict=True)
    return tuple(
        (name, title, about, bool(library.packs[name].declared.tours))
        for (name, title), about in shown
    )


def _own_id(tx: Tx, call: CommandCall, library: Library) -> Result:
    del tx, library
    return Result(words.own_id(call.inbound.person.id))


def call_me(tx: Tx, call: CommandCall, library: Library) -> Result:
    del tx, call, library
    return Result(say("talk.call-me"))


def whereami(tx: Tx, call: CommandCall, library: Library) -> Result:
    address = call.inbound.address
    route = routes.find(tx, address)
    return Result(words.whereabouts(address, route, library.names))


def pick(tx: Tx, call: CommandCall, library: Library) -> Result:
    if own := call.inbound.address.pack:
        return Result(words.stays_with(own), beside=True)
    packs = shown_packs(library, call.inbound.person.language)
    active = _route(tx, call).active_pack
    if active and library.get(active) is None:
        return Result(words.picker(packs, gone=active), beside=True)
    return Result(words.picker(packs, current=active), beside=True)


def use(tx: Tx, call: CommandCall, library: Library) -> Result:
    """`/use <pack>[:<skill>]`; the skill becomes the active one, stored qualified."""
    said = " ".join(call.words.args)
    text, _, skill = (part.strip() for part in said.partition(":"))
    if not text:
        return pick(tx, call, library)
    name = library.named(text, call.inbound.person.language)
    if library.get(name) is None:
        return Result(words.no_such_pack(name, library.names), beside=True)
    qualified = ""
    if skill:
        try:
            qualified = library.resolve_skill(name, skill).qualified
        except ToolFailed:
            there = tuple(library.packs[name].skills)
            return Result(words.no_such_skill(skill, name, there), beside=True)
    return bind(tx, call, library, name, qualified)


def bind(tx: Tx, call: CommandCall, library: Library, pack: str, skill: str = "") -> Result:
    """Bind the conversation to a pack, and replay the messages that waited for one."""
    if (own := call.inbound.address.pack) and own != pack:
        return Result(words.stays_with(own, pack))
    route = _route(tx, call)
    routes.set_pack(tx, route, pack, call.now, skill=skill)
    if pack == route.active_pack:
        sessions.pin_skill(tx, route.session_id, skill)
    about = _about(library.get(pack), call.inbound.person.language)
    replayed = gathering.replay(tx, call.inbound.address)
    named = skill.rpartition(":")[2]
    said = words.bound(pack, already=pack == route.active_pack, about=about, skill=named)
    return Result(said, replay=replayed > 0)


def new(tx: Tx, call: CommandCall, library: Library) -> Result:
    """Begin an empty session without the active skill; the old one is reached by `/sessions`."""
    route = _route(tx, call)
    pack = route.active_pack or (library.names[0] if len(library.names) == 1 else "")
    session_id = sessions.create(tx, call.inbound.address, pack, call.now)
    if pack != route.active_pack:
        routes.set_pack(tx, route, pack, call.now)
        route = _route(tx, call)
    kept = sessions.any_with_words(tx, call.inbound.address.session_key(pack))
    routes.set_session(tx, route, session_id, call.now, afresh=True)
    return Result(say("conversations.fresh-kept" if kept else "conversations.fresh"))


def otr(tx: Tx, call: CommandCall, library: Library) -> Result:
    """Go off the record, or back on it."""
    del library
    route = _route(tx, call)
    off_record.set_mode(tx, route.id, not route.off_record)
    on = route.off_record
    return Result(say("conversations.on-record" if on else "conversations.off-record"))


async def list_sessions(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
    key = call.inbound.address.session_key(route.active_pack if route else "")
    found = await snapshot.ask(sessions.recent(key, _SESSIONS_SHOWN))
    return Result(words.sessions(found, route.session_id if route else ""))


def _open_session(tx: Tx, call: CommandCall, library: Library) -> Result:
    """`/sessions <end of an id>`: go back to one of this conversation's sessions with its pack.
    `/sessions summary <id>` shows a summary, and `unsummary` undoes it."""
    del library
    match call.words.args:
        case ("summary", word) if (number := number_in(word)) is not None:
            return replace(show(tx, call, number), beside=True)
        case ("unsummary", word) if (number := number_in(word)) is not None:
            return replace(undo(tx, call, number), beside=True)
        case said:
            return replace(_opened(tx, call, " ".join(said)), beside=True)


def _opened(tx: Tx, call: CommandCall, token: str) -> Result:
    route = _route(tx, call)
    key = call.inbound.address.session_key(route.active_pack)
    session_id, title = sessions.ending_with(tx, key, token)
    if not session_id:
        return Result(say("conversations.no-such-session"))
    routes.set_session(tx, route, session_id, call.now)
    title = title or text("conversations.untitled")
    return Result(say("conversations.session-opened", title=title))


def shown_packs(library: Library, language: str = "") -> tuple[tuple[str, str], ...]:
    """Return (name, shown name) of each installed pack."""
    return tuple(
        (name, f"{pack.manifest.icon} {pack.said(language, pack.manifest.display_name)}".strip())
        for name in library.names
        if (pack := library.packs[name])
    )


def abouts(library: Library, language: str = "") -> tuple[str, ...]:
    """Return one line of description for each installed pack."""
    return tuple(
        " ".join(pack.said(language, pack.manifest.tagline or pack.manifest.description).split())
        for pack in (library.packs[name] for name in library.names)
    )


def _about(pack: Pack | None, language: str) -> str:
    """Return a pack's translated name and description, "" = it has no translation of them."""
    if pack is None:
        return ""
    written = (pack.manifest.display_name, pack.manifest.description)
    said = tuple(pack.said(language, text) for text in written if text)
    return ": ".join(said) if said != tuple(filter(None, written)) else ""


def pack_here(tx: Tx, call: CommandCall, library: Library, default: str = "") -> str | None:
    """Return the conversation's pack, that of `packs.default` where none is chosen, "" = none is
    installed, None = one has to be chosen."""
    route = routes.find(tx, call.inbound.address)
    if route and route.active_pack:
        return route.active_pack if library.get(route.active_pack) else None
    if len(library.names) > 1:
        return default if default in library.names else None
    return "".join(library.names)


def unchosen(tx: Tx, call: CommandCall, library: Library) -> RouteRequiredError:
    """What a command raises that needs a pack where none answers: it waits until one is chosen,
    and then it is run."""
    route = routes.find(tx, call.inbound.address)
    return RouteRequiredError(library.names, route.active_pack if route else "")


def _route(tx: Tx, call: CommandCall) -> Route:
    inbound = call.inbound
    return routes.get_or_create(tx, inbound.address, inbound.chat_kind, call.now)


HANDLERS: Mapping[str, Handler] = {
    "start": start,
    "call": call_me,
    "pack": use,
    "use": use,
    "new": new,
    "sessions": _open_session,
    "otr": otr,
    "whereami": whereami,
    "id": _own_id,
}
"""The handlers that need nothing but the library."""
