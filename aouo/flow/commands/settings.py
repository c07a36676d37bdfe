"""Handles /settings: shows what the owner may set for packs, and sets it; secrets never."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from aouo.facts.events import Inbound
from aouo.facts.languages import base_of, names
from aouo.facts.ports import ButtonSpec, Clock, Rendered
from aouo.facts.schedule import ZoneOf
from aouo.facts.taps import encode
from aouo.flow.commands.builtin import pack_here
from aouo.flow.commands.registry import CommandCall, Result
from aouo.packs.actions.slots import Here, Misread
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.packs.settings import Kept, Languages, PersonValues
from aouo.plumbing.zones import known_zone
from aouo.schedules.zones import follow_person
from aouo.store.database import Tx
from aouo.words.catalogue import language, message, say, speaking, text


@dataclass(frozen=True, slots=True)
class PackSettings:
    """`/settings`, `/settings PACK`, `/settings PACK NAME VALUE`; only the owner sets."""

    kept: Kept
    is_owner: Callable[[Inbound], bool]
    clock: Clock
    zone: Callable[[str], tzinfo]
    zones: PersonValues
    zone_of: ZoneOf

    def obey(self, tx: Tx, call: CommandCall, library: Library) -> Result:
        named, _, rest = call.rest.strip().partition(" ")
        person = call.inbound.person
        if named == "zone":
            return Result(self._zone(tx, person.id, rest.strip(), call.now))
        pack = library.get(library.named(named)) if named else None
        if pack is None and named:
            pack, rest = library.get(pack_here(tx, call, library) or ""), call.rest.strip()
        if pack is None:
            return Result(self._all(tx, call, library))
        if not rest:
            return Result(self._shown(pack))
        if not self.is_owner(call.inbound):
            return Result(say("taps.for-the-owner"))
        name, _, value = rest.strip().partition(" ")
        if name in pack.manifest.secrets:
            if value:
                return Result(say("pack-settings.pasted", pack=pack.name, name=name))
            return Result(say("pack-settings.how-secret", pack=pack.name, name=name))
        here = Here(self.clock.now(), self.zone(person.id), person.language or "en")
        try:
            put = self.kept.put(pack.manifest, name, value, here)
        except Misread as error:
            return Result(say(error.why, **error.parts))
        shown = str(put) if put != "" else text("pack-settings.empty")
        return Result(say("pack-settings.done", name=name, value=shown))

    def _zone(self, tx: Tx, person: str, name: str, now: str) -> Rendered:
        former = self.zones.of(person)
        try:
            zone = known_zone(name) if name else former
        except ValueError as error:
            return message(str(error))
        if zone != former:
            follow_person(tx, person, former, zone, self.zone_of, now)
            self.zones.put(person, zone)
        return say("pack-settings.zone", zone=zone or self._named_zone(person))

    def _named_zone(self, person: str) -> str:
        """Return the name of a person's zone; this machine's may have none."""
        zone = self.zone(person)
        offset = self.clock.now().astimezone(zone).strftime("%z")
        return getattr(zone, "key", "") or f"UTC{offset[:3]}:{offset[3:]}"

    def _all(self, tx: Tx, call: CommandCall, library: Library) -> Rendered:
        here = pack_here(tx, call, library) or ""
        having = [
            pack
            for pack in library.packs.values()
            if pack.manifest.settings or pack.manifest.secrets
        ]
        if own := next((pack for pack in having if pack.name == here), None):
            return self._shown(own)
        if not having:
            zone = text("pack-settings.zone", zone=self._named_zone(call.inbound.person.id))
            return message("\n".join((text("pack-settings.none-at-all"), zone)))
        rows = [
            [ButtonSpec(pack.manifest.display_name, encode("command", f"settings {pack.name}"))]
            for pack in having
        ]
        return message(text("pack-settings.which"), *rows)

    def _shown(self, pack: Pack) -> Rendered:
        manifest = pack.manifest
        if not (manifest.settings or manifest.secrets):
            return say("pack-settings.none")
        lines = [text("pack-settings.head", pack=manifest.display_name), *self._lines(pack)]
        rows = [
            [
                ButtonSpec(
                    f"{name}: {choice}", encode("command", f"settings {pack.name} {name} {choice}")
                )
                for choice in one.choices
            ]
            for name, one in manifest.settings.items()
            if one.choices
        ]
        return message("\n".join(lines), *rows)

    def _lines(self, pack: Pack) -> Iterator[str]:
        kept, manifest = self.kept.settings(pack.manifest), pack.manifest
        for name, one in manifest.settings.items():
            value = str(kept[name]) if kept[name] != "" else text("pack-settings.empty")
            title = text("pack-settings.title", title=one.title) if one.title else ""
            yield text("pack-settings.line", name=name, value=value, title=title)
        for name, one in manifest.secrets.items():
            is_set = "set" if self.kept.is_set(pack.name, name) else "unset"
            title = text("pack-settings.title", title=one.title) if one.title else ""
            value = text(f"pack-settings.secret-{is_set}")
            yield text("pack-settings.line", name=name, value=value, title=title)
        yield ""
        if manifest.settings:
            name = next(iter(manifest.settings))
            yield text("pack-settings.how", pack=pack.name, name=name)
        if manifest.secrets:
            name = next(iter(manifest.secrets))
            yield text("pack-settings.how-secret", pack=pack.name, name=name)


def choosing_language(languages: Languages) -> Callable[[Tx, CommandCall, Library], Result]:
    """Make `/language [NAME]`: what I speak with this person, and in which others I can."""

    def obey(tx: Tx, call: CommandCall, library: Library) -> Result:
        del tx, library
        wanted, person = call.rest.strip().casefold(), call.inbound.person
        known = names()
        named = {name.casefold(): code for code, name in known.items()}
        code = named.get(wanted, base_of(wanted) if wanted else "")
        if wanted == "-":
            languages.chosen.put(person.id, "")
        elif code and (wanted in named or wanted.partition("-")[0] == code):
            languages.chosen.put(person.id, code)
        elif wanted:
            return Result(say("languages.unknown", name=wanted[:40], known=", ".join(known)))
        with speaking(languages.of_id(person.id)):
            rows = [[ButtonSpec(n, encode("command", f"language {c}"))] for c, n in known.items()]
            rows.append([ButtonSpec(text("languages.button-own"), encode("command", "language -"))])
            return Result(say("languages.spoken", *rows, name=known[language()]))

    return obey
