"""Finds what is or will be wrong with a model whose server was asked, and what mends it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from aouo.providers.known.knowing import Inquiry, KnownModel
from aouo.providers.known.told import nearest

_SMALL_TOKENS = 16_384
"""Below it our instructions and tools leave little room for a conversation."""

_CALLED = {"ollama": "Ollama", "llama.cpp": "llama.cpp", "lm studio": "LM Studio"}
_LARGER = {
    "ollama": f"Start it with `OLLAMA_CONTEXT_LENGTH={_SMALL_TOKENS} ollama serve`.",
    "llama.cpp": f"Start llama-server with `-c {_SMALL_TOKENS}`.",
    "lm studio": f"Load it there with a context length of {_SMALL_TOKENS} or more.",
}


@dataclass(frozen=True, slots=True)
class Concern:
    """What is or will be wrong with a model, and the line that mends it; an `urgent` one is told
    to the owner in their chat."""

    what: str
    fix: str
    urgent: bool = True


def key_of(at: int) -> str:
    """Where the configuration names the model at this place of its order."""
    return f"provider.fallback.{at - 1}.model" if at else "provider.model"


_PARSERS = {
    "reasoning": (
        "Have its server parse them: vLLM by --reasoning-parser, llama.cpp by --jinja and "
        "--reasoning-format auto, LM Studio by “separate reasoning_content” in its settings."
    ),
    "tool calls": (
        "Have its server parse them: vLLM by --enable-auto-tool-choice and --tool-call-parser, "
        "llama.cpp by --jinja; in LM Studio choose a model that is marked for tools."
    ),
}


def concerns(
    model: KnownModel, said: Inquiry, key: str, today: date, *, window_set: bool
) -> Iterator[Concern]:
    """What the owner should know of a model whose server has been asked. `window_set`: they have
    set the window of all models, in `advanced.context_window`."""
    name, told = model.model, said.told
    if model.answers_as:
        what = f"{model.provider} answers as {model.answers_as} where {name} is asked"
        yield Concern(what, f"Set {key} to {model.answers_as}, or to one that is still there.")
    if told is None:
        if said.names:
            near = nearest(said.names, name) or said.names[:3]
            what = f"{model.provider} does not list {name}"
            yield Concern(what, f"Its list has: {', '.join(near)}.", urgent=False)
        return
    if not told.active:
        yield Concern(f"{model.provider} has switched {name} off", f"Set {key} to another one.")
    if told.ends_on:
        verb, when = ("ends", " before that day") if told.ends_on >= today else ("ended", "")
        what = (
            f"{model.provider} says that {name} {verb} on {told.ends_on.day} {told.ends_on:%B %Y}"
        )
        yield Concern(what, f"Set {key} to {told.successor or 'another one'}{when}.")
    window = told.window_tokens if told.loaded else 0
    if said.server and 0 < window < _SMALL_TOKENS:
        effect = "leaves little room for a conversation"
        if said.server == "ollama":
            effect = "drops in silence what does not fit"
        what = f"{_CALLED[said.server]} gives {name} {window:,} tokens and {effect}"
        yield Concern(what, _LARGER[said.server])
    own = model.context_window
    if 0 < window < own:
        where = "advanced.context_window"
        if not window_set:
            where = f"providers.{model.provider}.context_window"
        yield Concern(
            f"{where} is {own:,} tokens, and the server gives {name} {window:,}",
            f"Set {where} to {window}, or 0 to ask the server.",
        )


def unsent(model: KnownModel, *, temperature: float | None, effort: str) -> Iterator[Concern]:
    """Settings of the owner's that a model's service did not take, and what it does not keep apart
    from the words, once it has been asked."""
    for said in sorted(model.aloud):
        yield Concern(f"{model.model} passes its {said} on as text", _PARSERS[said], urgent=False)
    sent = model.effort_for(effort)
    if effort and sent and sent != effort:
        what = f"{model.model} takes no provider.effort of {effort}; requests say {sent}"
        yield Concern(what, f"Set provider.effort to {sent}.")
    mended = {"provider.temperature": "null", "provider.effort": '""'}
    is_set = {"provider.temperature": temperature is not None, "provider.effort": bool(effort)}
    names = [name for name in model.left_out if is_set[name]]
    each = [f"{name} to {mended[name]}" for name in names]
    match names:
        case []:
            return
        case [name]:
            what = f"{name} is refused by {model.model}; requests go without it"
            yield Concern(what, f"Set {each[0]}.")
        case _:  # a refusal that names nothing may be about either
            what = f"{' or '.join(names)} is refused by {model.model}; requests go without both"
            fix = f"Set {', or '.join(each)}, and ask again: one alone may be taken."
            yield Concern(what, fix)
