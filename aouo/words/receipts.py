"""Says what calls changed: the line of ours below a model's answer, and the list of `/undo`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.records import Effect
from aouo.facts.taps import encode
from aouo.guard.targets import values_of
from aouo.packs.library import Library
from aouo.plumbing.web.envelope import unmarked
from aouo.words.catalogue import message, one_line, text

_UNTOLD = frozenset({"msg", "tts", "onboarding_done", "journal_add", "memory_edits"})
"""What these change is seen in the chat, or nothing that anybody asked for."""
LIST = "list"
"""What `/undo` is followed by where it shows what can be put back."""
ID_CHARS = 8
"""So many characters at the end of a call's id name it to a person."""
_MOST, _LISTED, _NAME_CHARS = 5, 10, 40
_COUNTED = {"saved": "saved", "inserted": "saved", "updated": "changed", "deleted": "deleted"}
_Arguments: TypeAlias = Mapping[str, Any]


def line(effects: Sequence[Effect], library: Library, language: str) -> str:
    """Return the line that says what a turn changed, "" = nothing that is told."""
    told = Counter[str]()
    rows = Counter[tuple[str, str]]()
    for one in effects:
        counted = _rows(one) if one.name == "persist" and not one.unknown else {}
        rows.update(counted)
        if one.name not in _UNTOLD and not counted:
            told[_told(one, library, language)] += 1
    said = [text("receipts.done", what=_of_rows(*one, count)) for one, count in rows.items()]
    said += [
        text("receipts.times", what=what, count=count) if count > 1 else what
        for what, count in told.items()
    ]
    shown = said[:_MOST]
    if more := len(said) - len(shown):
        shown.append(text("receipts.more", count=more))
    return " · ".join(shown)


def buttons(calls: Sequence[str]) -> tuple[tuple[ButtonSpec, ...], ...]:
    """Return the button that puts the one of these calls back, or shows what each of them did."""
    if not calls:
        return ()
    if len(calls) == 1:
        return ((_button(calls[0], text("actions.button-undo")),),)
    return all_of_them()


def all_of_them() -> tuple[tuple[ButtonSpec, ...], ...]:
    """Return the button that shows what each call did."""
    return ((ButtonSpec(text("receipts.button-list"), encode("command", f"undo {LIST}")),),)


def listed(
    effects: Sequence[tuple[Effect, bool]],
    library: Library,
    language: str,
    when: Callable[[str], str],
    *,
    typed: bool,
) -> Rendered:
    """Return the answer to `/undo list`: each effect with whether it can be put back, newest first;
    `when` says a moment. `typed`: there are no buttons to tap, but ids to write."""
    shown = [one for one in effects if one[0].name not in _UNTOLD][:_LISTED]
    if not shown:
        return message(text("actions.no-undo"))
    lines = [
        text(
            "receipts.listed" if can else "receipts.listed-for-good",
            number=number,
            when=when(one.started_at),
            what=_words(one, library, language),
        )
        + (f" · {one.id[-ID_CHARS:].lower()}" if typed else "")
        for number, (one, can) in enumerate(shown, 1)
    ]
    rows = [
        [_button(one.id, text("receipts.button-number", number=number))]
        for number, (one, can) in enumerate(shown, 1)
        if can
    ]
    return message("\n".join((text("receipts.head"), *lines)), *rows)


def named(effect: Effect, library: Library, language: str) -> str:
    """Return what a call did as its answer began, or in a few words."""
    told = unmarked(effect.result).strip().partition("\n")[0]
    spoken = effect.name.partition("__")[2] and not told.startswith(("{", "["))
    return one_line(told, 2 * _NAME_CHARS) if spoken and told else _words(effect, library, language)


def _button(call_id: str, label: str) -> ButtonSpec:
    return ButtonSpec(label, encode("command", f"undo {call_id}"))


def _told(effect: Effect, library: Library, language: str) -> str:
    what = _words(effect, library, language)
    return text("receipts.unknown" if effect.unknown else "receipts.done", what=what)


def _words(effect: Effect, library: Library, language: str) -> str:
    """Return what a call did, in a few words."""
    given = effect.given
    match effect.name:
        case "persist":
            told = [_of_rows(*one, count) for one, count in _rows(effect).items()]
            return ", ".join(told) or text("receipts.rows")
        case "memory" if given.get("action") == "append":
            return text("receipts.noted", what=_short(str(given.get("content"))))
        case "memory":
            return text("receipts.rewrote", name=f"{given.get('target')}".upper() + ".md")
        case "write_file":
            return text("receipts.wrote", name=_short(str(given.get("path"))))
        case "cron":
            named = given.get("say") or given.get("name") or given.get("prompt") or given.get("id")
            how = str(given.get("action"))
            return text(f"receipts.schedule-{how}", what=_short(str(named or given.get("do"))))
        case "undo":
            return text("receipts.put-back")
        case _:
            return _called(effect, given, library, language)


def _rows(effect: Effect) -> dict[tuple[str, str], int]:
    """Return how many rows were changed: what was done, and where → how many."""
    answer = _parsed(unmarked(effect.result))
    table = _short(str(answer.get("table") or ""))
    return {
        (how, table): count
        for key, how in _COUNTED.items()
        if isinstance(count := answer.get(key), int) and count
    }


def _of_rows(how: str, table: str, count: int) -> str:
    return text(f"receipts.rows-{how}", count=count, table=table)


def _called(effect: Effect, given: _Arguments, library: Library, language: str) -> str:
    """Return the name of an action as its pack says it, or of a tool, with where it
    leads: places in its texts are only spoken of."""
    owner, _, name = effect.name.rpartition("__")
    pack = library.get(owner)
    if pack and (action := pack.declared.actions.get(name)):
        return _short(pack.said(language, action.title))
    title = _short(name.replace("_", " ").replace("-", " "))
    places = list(dict.fromkeys(values_of(given).fields))
    shown = [one_line(place, 2 * _NAME_CHARS) for place in places[:_MOST]]
    if more := len(places) - len(shown):
        shown.append(text("receipts.more", count=more))
    to = ", ".join(shown)
    return text("receipts.called-to", what=title, to=to) if to else title


def _short(words: str) -> str:
    return one_line(words, _NAME_CHARS)


def _parsed(written: str) -> _Arguments:
    with suppress(ValueError, RecursionError):
        found: object = json.loads(written or "{}")
        if isinstance(found, dict):
            return cast("_Arguments", found)
    return {}
