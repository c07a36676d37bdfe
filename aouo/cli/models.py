"""`aouo models`: lists the configured models with what is known of each, and tests them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from aouo.cli.context import current_home, json_option, load, print_json
from aouo.config.settings import Settings
from aouo.facts.ports import NO_MODEL
from aouo.plumbing.control import Facts
from aouo.plumbing.redact import Redactor
from aouo.plumbing.web.session import secrets_of

if TYPE_CHECKING:
    from aouo.agent.spending.money import Price
    from aouo.cli.doctoring.probing import Reply, Seen

_SPEECH = {"tts": "speaks", "stt": "hears"}
_SOURCES = {"nobody": "assumed: nobody says"}


@click.group(invoke_without_command=True)
@click.option("--fast", is_flag=True, help="Leave out what needs the network.")
@json_option
@click.pass_context
def models(ctx: click.Context, fast: bool, as_json: bool) -> None:
    """List the configured models and speech services: window, pictures, price, and who says so."""
    if ctx.invoked_subcommand:
        return
    settings = load(current_home()).settings
    _print(_facts(settings, online=not fast), as_json=as_json)


@models.command()
@json_option
@click.pass_context
def test(ctx: click.Context, as_json: bool) -> None:
    """Ask each configured model; exit 1 if one fails.

    Each answers, calls a tool and, where it is believed to see, reads a picture; a speech service
    says one word or hears one silent second. That costs a fraction of a cent; an answer has a
    minute.
    """
    settings = load(current_home()).settings
    rows = _facts(settings, tests=True)
    _print(rows, as_json=as_json)
    if not all(row["ok"] for row in rows):
        ctx.exit(1)


def _facts(settings: Settings, *, online: bool = True, tests: bool = False) -> list[Facts]:
    from aouo.cli.doctoring.check import quietly
    from aouo.cli.doctoring.probing import look, wanted_models
    from aouo.plumbing.clock import SystemClock

    looking = look(
        settings, wanted_models(settings), SystemClock(), online=online, asks=tests, shows=tests
    )
    seen = quietly(settings, looking)
    rows = [_row(settings, one, tests=tests) for one in seen]
    return rows + _speech(settings, tests=tests)


def _speech(settings: Settings, *, tests: bool) -> list[Facts]:
    """Return a row for each speech service that has a key."""
    from aouo.cli.doctoring import models as speech_check  # brings the services' SDKs

    rows: list[Facts] = []
    for one in speech_check.tried(settings, asks=tests):
        row: Facts = {
            "role": one.part,
            "provider": one.backend,
            "model": one.model,
            "key": f"{one.part}.model",
            "concerns": [". ".join(one.concern)] if one.ends_on else [],
        }
        if tests:
            answers = not one.refusal
            row |= {"ok": answers, "answers": answers, "refusal": one.refusal, "fix": one.fix}
        rows.append(row)
    return rows


def _row(settings: Settings, seen: Seen, *, tests: bool) -> Facts:
    facts = seen.facts
    row: Facts = {
        "role": seen.role,
        "provider": seen.backend,
        "model": seen.model,
        "key": seen.key,
        "window_tokens": seen.window_tokens,
        "window_from": facts.window_from if facts else "the configuration",
        "sees": bool(facts and facts.sees),
        "sees_from": facts.sees_from if facts else "the configuration",
        **_price(settings, seen),
        "concerns": [f"{one.what}. {one.fix}" for one in seen.concerns],
    }
    if seen.problem:
        return row | {"ok": False, "problem": f"{seen.problem} {seen.fix}".strip()}
    if seen.inquiry and seen.inquiry.why:
        why = Redactor(secrets_of(settings.secrets())).text(seen.inquiry.why)
        row["problem"] = f"its server could not be asked: {why}"
    if tests and seen.tool:
        row |= _tested(seen, seen.tool)
    return row


def _price(settings: Settings, seen: Seen) -> Facts:
    from aouo.app.services import budget_of, price_told
    from aouo.plumbing.clock import SystemClock

    prices = budget_of(settings, SystemClock(), lambda provider, model: price_told(seen.facts))
    price, source = prices.prices.told(seen.backend, seen.model)
    return {"usd_per_million": _usd(price), "price_from": source}


def _usd(price: Price | None) -> Facts | None:
    if price is None:
        return None
    found: Facts = {"input": price.input, "cached": price.cached, "output": price.output}
    dearer = [{"input_tokens": start, **(_usd(above) or {})} for start, above in price.above]
    return found | ({"above": dearer} if dearer else {})


def _tested(seen: Seen, reply: Reply) -> Facts:
    """Return the fields of a test; a picture counts only if the model is believed to see."""
    picture = seen.picture
    sees_red = picture and not picture.refusal and "red" in picture.said.lower()
    told = seen.inquiry and seen.inquiry.told
    return {
        "ok": reply.called and (picture is None or bool(sees_red)),
        "answers": not reply.refusal,
        "refusal": reply.refusal,
        "fix": reply.fix,
        "seconds": reply.seconds,
        "calls_tools": reply.called,
        "reads_pictures": None if picture is None else bool(sees_red),
        "picture_refused": bool(picture and picture.refusal),
        "picture_said": (picture.refusal or picture.said[:200]) if picture else "",
        "thinks": reply.thought or bool(told and told.thinks),
    }


def _print(rows: Sequence[Facts], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        for line in _lines(row):
            click.echo(line)


def _lines(row: Facts) -> Iterator[str]:
    if row["provider"] == NO_MODEL:
        yield f"no model is connected  ({row['key']}: none)"
        return
    yield f"{row['provider']} {row['model'] or '(none is chosen)'}  ({row['key']})"
    if row.get("window_tokens"):
        yield _line("window", f"{row['window_tokens']:,} tokens", row["window_from"])
        yield _line("pictures", "yes" if row["sees"] else "no", row["sees_from"])
        price = row["usd_per_million"]
        yield _line("price", _price_words(price), row["price_from"] if price else "")
    if "ok" in row and "answers" in row:
        yield from _test_lines(row)
    if "problem" in row:
        yield _line("problem", row["problem"])
    for concern in row["concerns"]:
        yield _line("look", concern)


def _test_lines(row: Facts) -> Iterator[str]:
    name = _SPEECH.get(row["role"], "answers")
    if row["refusal"]:
        yield _line(name, f"NO: {row['refusal']}")
        if row["fix"]:
            yield _line("", row["fix"])
        return
    if row["role"] in _SPEECH:
        yield _line(name, "yes")
        return
    yield _line("answers", f"yes, within {row['seconds']} s")
    yield _line(
        "tools", "yes" if row["calls_tools"] else "NO: it did not call the one it was given"
    )
    if row["reads_pictures"] is not None:
        missed = f"NO: a red picture, and it says: {row['picture_said']}"
        if row["picture_refused"]:
            missed = f"NO: {row['picture_said']}"
        yield _line("sees", "yes" if row["reads_pictures"] else missed)
    yield _line("thinks", "yes" if row["thinks"] else "not that one could see")


def _line(name: str, words: str, source: str = "") -> str:
    return f"  {name:<9} {words}" + (f"  — {_SOURCES.get(source, source)}" if source else "")


def _price_words(usd: Facts | None) -> str:
    if usd is None:
        return "not known"
    words = f"${usd['input']:g} in, ${usd['cached']:g} cached, ${usd['output']:g} out"
    above = "".join(
        f"; above {dearer['input_tokens']:,} tokens ${dearer['input']:g} in"
        for dearer in usd.get("above", ())
    )
    return f"{words} per million tokens{above}"
