"""Keeps what is known of the configured models true: servers are asked beside everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import structlog

from aouo.app.owner import OwnerNotices
from aouo.config.settings import Settings
from aouo.facts.ports import ChatModel, Clock
from aouo.flow.generations import Generations
from aouo.outbound.wording import sentences
from aouo.providers.fallback import FallbackModel
from aouo.providers.known import catalogue
from aouo.providers.known.inquiry import Inquiry
from aouo.providers.known.knowing import KnownModel, with_word
from aouo.providers.known.told import nearest
from aouo.spending.money import Price

log = structlog.get_logger()

AGAIN_S = 86_400.0
SMALL_TOKENS = 16_384
"""Below it our instructions and tools leave little room for a conversation."""

_CALLED = {"ollama": "Ollama", "llama.cpp": "llama.cpp", "lm studio": "LM Studio"}
_LARGER = {
    "ollama": f"Start it with `OLLAMA_CONTEXT_LENGTH={SMALL_TOKENS} ollama serve`.",
    "llama.cpp": f"Start llama-server with `-c {SMALL_TOKENS}`.",
    "lm studio": f"Load it there with a context length of {SMALL_TOKENS} or more.",
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


def concerns(
    model: KnownModel, said: Inquiry, key: str, today: date, *, window_set: bool
) -> Iterator[Concern]:
    """What the owner should know of a model whose server has been asked. `window_set`: they have
    set the window of all models, in `advanced.context_window`."""
    name, told = model.model, said.told
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
    if said.server and 0 < window < SMALL_TOKENS:
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


def unsent(settings: Settings, model: KnownModel) -> Iterator[Concern]:
    """Settings of the owner's that a model's service did not take, once it has been asked."""
    wish = settings.provider
    mended = {"provider.temperature": "null", "provider.effort": '""'}
    is_set = {
        "provider.temperature": wish.temperature is not None,
        "provider.effort": bool(wish.effort),
    }
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


async def look_up(model: KnownModel, clock: Clock) -> int:
    """The window in tokens that the catalogue has, 0 = none; the model knows it from then on."""
    found = await asyncio.to_thread(catalogue.listed, model.base_url, model.model, clock.now())
    tokens = found.window_tokens if found else 0
    model.facts = with_word(model.facts, None, tokens)
    return tokens


async def learn(model: KnownModel, clock: Clock) -> Inquiry:
    """Ask a model's server and the catalogue."""
    return await model.learn(await look_up(model, clock))


class Knowing:
    """Asks at the start, after the first answer of each model, and once a day.

    At the start the catalogue stays closed: it costs memory, and the table of names was made
    from it.
    """

    def __init__(self, generations: Generations, clock: Clock, owner_notices: OwnerNotices) -> None:
        self._generations = generations
        self._clock = clock
        self._owner_notices = owner_notices
        self._concerns: dict[str, tuple[Concern, ...]] = {}

    @property
    def told(self) -> list[str]:
        """What the owner should know, as lines."""
        found = dict.fromkeys(one for each in self._concerns.values() for one in each)
        return [f"{one.what}. {one.fix}" for one in found]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for at, model in enumerate(models_in(self._generations.now.model)):
                if isinstance(model, KnownModel):
                    group.create_task(self._follow(model, key_of(at)))

    async def _follow(self, model: KnownModel, key: str) -> None:
        try:
            await self._keep_asking(model, key)
        except Exception as error:  # what is not known by asking is known by name
            log.exception("model_not_known", model=model.model, error=repr(error))

    async def _keep_asking(self, model: KnownModel, key: str) -> None:
        await self._tell(model, key, await model.learn())
        await model.answered.wait()
        while True:
            await self._tell(model, key, await learn(model, self._clock))
            await self._clock.sleep(AGAIN_S)

    async def _tell(self, model: KnownModel, key: str, said: Inquiry) -> None:
        today = self._clock.now().date()
        window_set = bool(self._generations.now.limits.context_window)
        found = tuple(concerns(model, said, key, today, window_set=window_set))
        self._concerns[key] = found
        log.info(
            "model_known",
            provider=model.provider,
            model=model.model,
            window_tokens=model.context_window,
            window_from=model.facts.window_from,
            sees=model.sees,
            status=said.status,
        )
        for one in found:
            if not one.urgent:
                continue
            told = sentences.model_concern(one.what, one.fix)
            await self._owner_notices.tell(told, daily=False)


def served_price(model: ChatModel, provider: str, name: str) -> Price | None:
    """What the server of one of the configured models says that it costs."""
    for one in models_in(model):
        if isinstance(one, KnownModel) and (one.provider, one.model) == (provider, name):
            told = one.facts.told
            return Price(*told.usd) if told and told.usd else None
    return None


def models_in(model: ChatModel) -> Sequence[ChatModel]:
    """Each configured model, in order."""
    return model.models if isinstance(model, FallbackModel) else (model,)
