"""Judges by information flow: what a turn that has read strangers' words may still do.

Whatever the model wants may be what a stranger wanted. So such a turn goes on by itself only where
the person whose turn it is has named, in their own words, each place that a call leads to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeGuard

from aouo.facts.ports import Clock
from aouo.facts.records import ANY_TARGET, Sink
from aouo.guard import targets
from aouo.guard.paths import KEPT_BYTES, KEPT_FILES
from aouo.guard.policy import Policy
from aouo.guard.prepared import Allowed, Ask, Blocked, Heard, Lasting, PreparedCall, Verdict, Why
from aouo.guard.targets import Target
from aouo.plumbing.secret_shapes import shape_spans
from aouo.plumbing.trees import TooMuch, walk

ALWAYS_ASKED: frozenset[Sink] = frozenset({"spend", "destroy", "admit"})
"""Asked about in a turn that has read strangers' words, whatever the person has named."""
_DENIED = "Blocked by the owner's policy. Do without it, and do not reach for it another way."
_MINUTE, A_MINUTE = timedelta(minutes=1), 300
_TOO_FAST = (
    f"Blocked: this conversation has made {A_MINUTE} calls within a minute. Answer with what you "
    "have."
)
_VIOLATION = (
    "Blocked: IFC violation. What looks like a key or a password goes nowhere but to this chat. "
    "Leave it out."
)
_LEAVES: frozenset[Sink] = frozenset({"tell", "spend", "admit", "run"})
_FREE: frozenset[Sink] = frozenset({"look", "own"})
_SERVERS = "mcp__"
_WRITES = "write_file"
_TOO_MANY = Target("(too much to look through)", "")
_NOTHING = Target("(nothing)", "-")
"""What a call without arguments leads to: a rule about it is about just that call."""


def needs_words(action: PreparedCall, labels: Sequence[str]) -> bool:
    """Whether judging this call takes the words of its conversation; `labels` are its turn's."""
    if action.visits:
        return bool(labels) or bool(shape_spans(" ".join(action.visits)))
    return bool(labels) and (action.sink not in _FREE or _is_remote(action))


_CLOSE = 0.5
"""The share of a kept line's words that make a call's text one that uses the line."""


def uses(action: PreparedCall, own: str, kept: Iterable[str]) -> bool:
    """Whether a call may come from lines that were kept of others: a text of it is close to one,
    or it leads somewhere, or says how much, and the person's `own` words did not."""
    said = set(targets.normal(targets.flat(action.payload)).split())
    lines = (set(line.split()) for text in kept for line in map(targets.normal, text.splitlines()))
    if any(len(said & line) >= _CLOSE * len(line) for line in lines if line):
        return True
    values = targets.values_of(action.targets)
    unsaid = [one for one in values.places.values() if not one.is_named(own)]
    numbers = (one for one in values.numbers.values() if not targets.has_number(one, own))
    leads = bool(action.visits) or action.sink not in _FREE or _is_remote(action)
    return leads and (values.too_many or bool(unsaid) or any(True for _ in numbers))


@dataclass(slots=True, eq=False)
class Rate:
    """How many calls one conversation may make in a minute; what a person does themself is free."""

    clock: Clock
    _made: dict[str, deque[datetime]] = field(
        init=False, default_factory=dict[str, "deque[datetime]"]
    )

    def judge(self, action: PreparedCall) -> Verdict:
        now, session = self.clock.now(), action.facts.session_id
        made = self._made.setdefault(session, deque())
        while made and now - made[0] > _MINUTE:
            made.popleft()
        if len(made) >= A_MINUTE and not action.by_person:
            return Blocked(_TOO_FAST, f"{A_MINUTE} calls within a minute")
        made.append(now)
        for other in [one for one, times in self._made.items() if now - times[-1] > _MINUTE]:
            del self._made[other]
        return Allowed("not too fast")


@dataclass(frozen=True, slots=True)
class Flow:
    """`is_owner` tells whether the id of a person is the owner's; `folder_of` gives the data folder
    of a pack for a tenant."""

    is_owner: Callable[[str], bool]
    folder_of: Callable[[str, str], Path]
    policy: Policy

    def judge(self, action: PreparedCall) -> Verdict:
        """Judge a call by what its turn has read, whose it is, and whether what it changes can be
        put back. Pure, except for looking how large files are."""
        verdict = self._judged(action)
        if isinstance(verdict, Ask) and (rule := self._named_by(action)):
            return Allowed(f"a rule names it: {rule}", "policy")
        return replace(verdict, for_good=True) if self._is_for_good(action, verdict) else verdict

    def by_policy(self, action: PreparedCall) -> Verdict:
        """Judge a call by the owner's policy: what a person does themself it may only deny."""
        if (decided := self.policy.decides(action)) is None:
            return Allowed("no rule of the policy")
        decision, rule = decided
        told = f"policy: {decision} {rule.name}".rstrip()
        if decision == "deny":
            return Blocked(f"{_DENIED} ({rule.name})" if rule.name else _DENIED, told, "policy")
        if decision == "allow" or action.by_person:
            return Allowed(told, "policy")
        ask = _ask(action, told, [_whole(action)], "policy")
        return replace(ask, judge="policy", tier=rule.tier, for_good=self._is_for_good(action, ask))

    def _named_by(self, action: PreparedCall) -> str:
        """Return the rule of the policy that allows exactly where a call leads, for whoever it
        is."""
        rule = self.policy.names(action)
        if rule is None or (self._is_of_another(action) and not rule.person):
            return ""
        return rule.name or "without a name"

    def _judged(self, action: PreparedCall) -> Verdict:
        heard = action.heard or Heard("", "")
        unseen = [address for address in action.visits if not _is_seen(address, heard)]
        if _carries_a_key(action, unseen):
            return Blocked(_VIOLATION, "key material to a sink", "flow")
        if self._is_of_another(action):
            always = ANY_TARGET if action.sink == "look" and not unseen else _whole(action)
            return _ask(action, "the owner's, used by another person", [always], "person")
        if action.by_person:
            return Allowed("said by the person")
        if (action.sink == "destroy" or _is_too_large(action)) and self._is_lost(action):
            return _ask(action, "no copy of what is there", [_whole(action)], "lost")
        if not action.labels:
            return Allowed("no stranger's words")
        if _tells_a_room(action):
            return _ask(action, "the owner's, told to others", [ANY_TARGET], "read")
        if unseen:
            return _ask(action, "an address nobody named", map(_of, unseen), "read")
        if action.sink in ALWAYS_ASKED:
            return _ask(action, f"{action.sink} after strangers' words", [_whole(action)], "spends")
        if action.sink in _FREE and not _is_remote(action):
            return Allowed("leaves nothing that cannot be taken back")
        if unsaid := _unsaid(action, heard.own):
            return _ask(action, "a target the person did not name", unsaid, "read")
        return Allowed("the person named where it leads")

    def _is_for_good(self, action: PreparedCall, verdict: Verdict) -> TypeGuard[Ask]:
        """Whether a question is about what cannot be put back: it is told, or elsewhere, or too
        large to be kept."""
        leaves = action.sink in _LEAVES or action.tool.startswith(_SERVERS)
        return isinstance(verdict, Ask) and (leaves or self._is_lost(action))

    def _is_lost(self, action: PreparedCall) -> bool:
        """Whether a tool of ours or of a pack changes more than a copy is kept of."""
        if action.tool.startswith(_SERVERS):
            return False
        if not action.tool.startswith(f"{action.facts.pack}__"):
            return _is_too_large(action)
        folder = self.folder_of(action.facts.pack, action.facts.tenant)
        try:
            sizes = (found.facts.st_size for found in walk(folder, most=KEPT_FILES))
            return sum(sizes) > KEPT_BYTES
        except (OSError, TooMuch):
            return True

    def _is_of_another(self, action: PreparedCall) -> bool:
        """Whether somebody else uses what is the owner's alone."""
        owners = action.tool.startswith(_SERVERS) or action.sink == "spend"
        return owners and not self.is_owner(action.facts.person.id)


def _is_remote(action: PreparedCall) -> bool:
    """Whether a server says of itself that what it changes stays the owner's: nothing here can take
    that back."""
    return action.sink == "own" and action.tool.startswith(_SERVERS)


def _tells_a_room(action: PreparedCall) -> bool:
    """Whether a message goes to several people after a server of the owner's was read."""
    read = any(label.startswith("mcp:") for label in action.labels)
    return read and action.tool == "msg" and action.facts.chat_kind != "private"


def _is_too_large(action: PreparedCall) -> bool:
    """Whether a file would be replaced of which no copy is kept."""
    files = (one.path for one in action.paths if action.tool == _WRITES)
    return any(path.is_file() and path.stat().st_size > KEPT_BYTES for path in files)


def _carries_a_key(action: PreparedCall, unseen: Sequence[str]) -> bool:
    """Whether what looks like a key would leave: also into what is only kept, once strangers' words
    were read."""
    if action.by_person:
        return False
    if action.sink == "look" and not unseen and not action.tool.startswith(_SERVERS):
        return False
    if action.sink == "own" and not action.labels and not action.tool.startswith(_SERVERS):
        return False
    return bool(shape_spans(targets.flat(action.payload)))


def leads_to(action: PreparedCall, ask: Ask) -> str:
    """Return, a line each, what a question is about and all else that its call leads to."""
    if ask.why == "fence":
        return ask.subject
    placed = action.placed
    rest = {key: value for key, value in action.targets.items() if key not in placed}
    values = targets.values_of(rest, targets.ALL)
    lines = [
        *(part for line in ask.subject.splitlines() for part in line.split(" · ")),
        *(one.shown for one in values.places.values()),
        *(*values.numbers, *values.days, *action.visits),
        *(str(touched.path) for touched in action.paths),
    ]
    return "\n".join(dict.fromkeys(" ".join(line.split()) for line in lines))


def _is_seen(address: str, heard: Heard) -> bool:
    return targets.stands_in(address, heard.own) or targets.stands_in(address, heard.read)


def _of(address: str) -> Target:
    return Target(address, f"address: {targets.rule_of(address)}")


def _whole(action: PreparedCall) -> Target:
    """Everything that a call says of where, how much and when, as one target."""
    values = targets.values_of(action.targets)
    parts = [*values.places, *values.numbers, *values.days]
    shown = [*(one.shown for one in values.places.values()), *values.numbers, *values.days]
    if values.too_many:
        return _TOO_MANY
    if not parts:
        return _TOO_MANY if values.texts else _NOTHING
    return Target(" · ".join(shown), " · ".join(parts))


def _unsaid(action: PreparedCall, own: str) -> list[Target]:
    """Return the targets that the person has not named, [] = all are.

    What says nothing of where has to say what is in their words: all of it, except on a day that
    they named. In a server's own world only an address leads away, and who is named as somebody.
    """
    values = targets.values_of(action.targets)
    if values.too_many:
        return [_TOO_MANY]
    places = [one for one in values.places.values() if not one.is_named(own)]
    if _is_remote(action) and values.places:
        return [one for one in places if one.is_who or any(targets.addresses(one.shown))]
    numbers = [one for one, value in values.numbers.items() if not targets.has_number(value, own)]
    if numbers:
        parts = [*values.places, *numbers]
        shown = [*(one.shown for one in values.places.values()), *numbers]
        return [Target(" · ".join(shown), " · ".join(parts))]
    if places or values.places or action.sink not in ("tell", "own"):
        return places
    if values.numbers and (action.sink == "own" or not (values.texts or values.days)):
        return []
    named = [targets.stands_in(text, own) for text in values.texts]
    enough = any if values.days or action.sink == "own" else all
    if (named and enough(named)) or any(targets.has_day(day, own) for day in values.days):
        return []
    words = [*values.days, *values.texts]
    return [Target(one, f"words: {targets.normal(one)}") for one in words] or [_NOTHING]


def _ask(action: PreparedCall, reason: str, about: Iterable[Target | str], why: Why) -> Ask:
    found = [Target(one, one) if isinstance(one, str) else one for one in about]
    always = tuple(Lasting("target", one.rule, one.shown) for one in found)
    subject = "\n".join(one.shown for one in found if one.shown != ANY_TARGET)
    lasting = always if all(one.rule for one in found) else ()
    tier = 2 if why == "read" else 3
    return Ask(reason, subject, always=lasting, judge="flow", why=why, tier=tier)
