"""Builds what answers, speaks, listens and looks at pictures, and what that may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import aiohttp

from aouo.agent.side_calls import Describe, describe
from aouo.agent.spending.money import Budget, Offer, Paid, Price, Prices, Unit
from aouo.agent.spending.quota import Quota
from aouo.config.sections import OpenAI, SpeechToText
from aouo.config.sections import Price as PriceSetting
from aouo.config.settings import Settings
from aouo.facts.attachments import Lack
from aouo.facts.errors import SetupError
from aouo.facts.ports import NO_MODEL, ChatModel, Clock
from aouo.packs.format.manifest import Budget as PackBudget
from aouo.packs.library import Library
from aouo.plumbing.resources import Holder
from aouo.plumbing.zones import zone_of
from aouo.providers.dialect import Dialects
from aouo.providers.fallback import FallbackModel, NoModel, models_in
from aouo.providers.http import Session
from aouo.providers.known import windows
from aouo.providers.known.knowing import Facts, KnownModel, facts_of, inquire
from aouo.providers.known.windows import window_of
from aouo.providers.service import CompatibleModel
from aouo.providers.speech.audio import RULES, Backend, ears_model
from aouo.providers.speech.services import Ears, PriceOf, Speaker, SpeechService, Transcriber, Voice

if TYPE_CHECKING:
    from aouo.providers.gemini import GeminiModel

DEFAULT_MODELS = {
    "openai": "gpt-6-luna",
    "groq": "openai/gpt-oss-120b",
    "gemini": "gemini-3.5-flash-lite",
    "deepseek": "deepseek-flash",
}
"""Models that lived on 23 November 2026: all four are in genai-prices 0.2.3 of that month, none is
marked as deprecated there. The services announce their ends at developers.openai.com/api/docs/
deprecations, console.groq.com/docs/deprecations, ai.google.dev/gemini-api/docs/deprecations and
api-docs.deepseek.com; `aouo doctor` says what their own lists say."""


def configured(settings: Settings) -> tuple[tuple[str, str], ...]:
    """(backend, model) of the primary and of those that step in for it; "" = none is chosen."""
    wanted = (settings.provider, *settings.provider.fallback)
    return tuple((one.backend, one.model or DEFAULT_MODELS.get(one.backend, "")) for one in wanted)


def offers(settings: Settings, prices: Prices) -> tuple[Offer, ...]:
    """Return what `/model` offers: the configured models, the default ones of other backends with
    a key, then those that the owner named; nothing while none is to answer."""
    if settings.provider.backend == NO_MODEL:
        return ()
    named = ((one.backend, one.model) for one in settings.models.offered)
    ready = (
        (name, model)
        for name, model in DEFAULT_MODELS.items()
        if settings.provider_endpoint(name).api_key
    )
    found: list[Offer] = []
    for backend, model in dict.fromkeys((*configured(settings), *ready, *named)):
        model = model or DEFAULT_MODELS.get(backend, "")
        if backend == NO_MODEL or not model:
            continue
        own = settings.advanced.context_window or settings.provider_endpoint(backend).context_window
        facts = facts_of(model, own_window=own, vision=settings.provider.vision, tries=False)
        price = partial(prices.of, backend, model)
        found.append(Offer(backend, model, facts.window_tokens, facts.sees, price))
    return tuple(found)


def key_missing(settings: Settings, backend: str) -> bool:
    """Whether a backend cannot be asked because no key is set; a server of one's own may need none.

    Raises:
        SetupError: there is no such backend.
    """
    if settings.provider_endpoint(backend).api_key or backend not in DEFAULT_MODELS:
        return False
    return not (backend == "openai" and settings.openai.base_url != OpenAI().base_url)


async def model_of(
    settings: Settings,
    session: aiohttp.ClientSession,
    held: Holder,
    clock: Clock,
    dialects: Dialects | None = None,
) -> FallbackModel:
    """Build the configured models, or take those that were built from the same settings; what
    they start is closed with `held`. What they learn of their services is kept in `dialects`.

    Raises:
        SetupError: no key or no address; says what to edit.
    """
    wanted = settings.provider
    build = _Builder(settings, session, held, dialects or Dialects())
    primary = build.model(wanted.backend, wanted.model, "provider")
    others = [
        build.model(other.backend, other.model, f"provider.fallback.{at}")
        for at, other in enumerate(wanted.fallback)
    ]
    models, zone, retries = (primary, *others), zone_of(settings.cron.timezone), wanted.max_retries
    return held.take(
        ("models", models, retries, zone),
        lambda: FallbackModel(models, clock=clock, max_retries=retries, zone=zone),
    )


def with_model(settings: Settings, backend: str, model: str) -> Settings:
    """The same settings, but this model answers alone."""
    alone = {"backend": backend, "model": model, "fallback": ()}
    return settings.model_copy(update={"provider": settings.provider.model_copy(update=alone)})


@dataclass(slots=True, eq=False)
class _Builder:
    settings: Settings
    session: aiohttp.ClientSession
    held: Holder
    dialects: Dialects

    def model(self, backend: str, model: str, key: str) -> ChatModel:
        """One model; `key` is where the configuration names it."""
        if backend == NO_MODEL:
            return self.held.take(("no model",), NoModel)
        settings = self.settings
        endpoint = settings.provider_endpoint(backend)
        if key_missing(settings, backend):
            raise SetupError(
                f"There is no key for the model backend {backend!r}.",
                fix=f"Set {backend}.api_key, or {key}.backend to another one.",
            )
        model = model or DEFAULT_MODELS.get(backend, "")
        if not model:
            raise SetupError(
                f"No model is chosen for the backend {backend!r}.", fix=f"Set {key}.model."
            )
        eyes = bool(settings.gemini.vision_model and settings.provider_endpoint("gemini").api_key)
        facts = facts_of(
            model,
            own_window=settings.advanced.context_window or endpoint.context_window,
            vision=settings.provider.vision,
            tries=not eyes,
        )
        make = partial(
            _model_class(backend),
            provider=backend,
            model=model,
            base_url=settings.gemini.base_url if backend == "gemini" else endpoint.base_url,
            api_key=endpoint.api_key,
            context_window=facts.window_tokens,
            sees=facts.sees,
            session=self.session,
            request_timeout_s=float(settings.provider.request_timeout_s),
            stream_idle_timeout_s=float(settings.provider.stream_idle_timeout_s),
            dialects=self.dialects,
            headers=endpoint.headers,
            body=endpoint.body,
        )
        ask = partial(inquire, self.session, backend, endpoint, model)
        room = self.dialects.room(endpoint.base_url, model)
        return self.held.take(
            ("model", make.keywords, endpoint, facts, eyes),
            lambda: KnownModel(
                make(), facts, ask, base_url=endpoint.base_url, eyes=eyes, room=room
            ),
        )


def _model_class(backend: str) -> type[CompatibleModel | GeminiModel]:
    """Gemini speaks a format of its own; all others are compatible."""
    if backend != "gemini":
        return CompatibleModel
    from aouo.providers.gemini import GeminiModel

    return GeminiModel


def budget_of(
    settings: Settings,
    clock: Clock,
    served: Callable[[str, str], Price | None] = lambda provider, model: None,
) -> Budget:
    """The owner's ceilings, with every price that is known: theirs first, then the catalogue's,
    then what the model's server says (`served`), for it leaves out what large requests cost."""
    budgets = settings.budgets
    return Budget(
        budgets.daily_usd,
        budgets.per_person_daily_usd,
        dict(budgets.per_pack_daily_usd),
        Prices(
            _prices(budgets.prices),
            {name: _prices(custom.prices) for name, custom in settings.providers.items()},
            partial(_listed, settings, clock),
            served,
            {
                "minute": budgets.prices_per_minute,
                "million_characters": budgets.prices_per_million_characters,
                "call": {str(tool): usd for tool, usd in budgets.prices_per_call.items()},
            },
            partial(_listed_unit, settings, clock),
        ),
        {"member": settings.roles.member.daily_usd, "guest": settings.roles.guest.daily_usd},
    )


def paid_for(settings: Settings) -> tuple[Paid, ...]:
    """Everything that may cost money as the settings are: models, speech, sight and search."""
    models = [pair for pair in configured(settings) if pair[1]]
    found = [Paid("tokens", *pair) for pair in models]
    if settings.gemini.vision_model and settings.gemini.api_key.get_secret_value():
        found.append(Paid("tokens", "gemini", settings.gemini.vision_model))
    hears, speaks = settings.stt, settings.tts
    if hears.backend in ("openai", "groq") and settings.stt_api_key:
        found.append(Paid("minute", hears.backend, ears_model(hears.backend, hears.model)))
    if speaks.backend in ("openai", "groq") and settings.provider_endpoint(speaks.backend).api_key:
        name = speaks.model or RULES[speaks.backend].voice_model
        found.append(Paid("million_characters", speaks.backend, name))
    if settings.tools.web_search.api_key.get_secret_value():
        found.append(Paid("call", "", "web_search"))
    return tuple(dict.fromkeys(found))


def served_price(model: ChatModel, provider: str, name: str) -> Price | None:
    """What the server of one of the configured models says that it costs."""
    for one in models_in(model):
        if isinstance(one, KnownModel) and (one.provider, one.model) == (provider, name):
            return price_told(one.facts)
    return None


def price_told(facts: Facts | None) -> Price | None:
    """What a model's server says that it costs."""
    told = facts.told if facts else None
    return Price(*told.usd) if told and told.usd else None


def pack_budgets(library: Library) -> Mapping[str, PackBudget]:
    """What packs allow themselves; those without a ceiling are not there."""
    budgets = {name: pack.manifest.budget for name, pack in library.packs.items()}
    return {name: own for name, own in budgets.items() if own.daily_usd or own.daily_tokens}


def _listed(settings: Settings, clock: Clock, provider: str, model: str) -> Price | None:
    """What the catalogue of public services says a model costs now."""
    try:
        base_url = settings.provider_endpoint(provider).base_url
    except SetupError:  # no service of the settings: a model of a test
        return None
    rates = windows.listed_rates(base_url, model, clock.now())
    if not rates:
        return None
    each = [Price(rate.input, rate.cached, rate.output) for rate in rates]
    above = tuple((rate.above_tokens, one) for rate, one in zip(rates[1:], each[1:], strict=True))
    return Price(each[0].input, each[0].cached, each[0].output, above)


def _listed_unit(
    settings: Settings, clock: Clock, unit: Unit, provider: str, model: str
) -> float | None:
    """What the catalogue of public services says that one unit costs now."""
    try:
        base_url = settings.provider_endpoint(provider).base_url
    except SetupError:  # a tool, or no service of the settings
        return None
    return windows.listed_unit(base_url, model, unit, clock.now())


def _prices(named: Mapping[str, PriceSetting]) -> dict[str, Price]:
    return {model: Price(price.input, price.cached, price.output) for model, price in named.items()}


def speech_of(
    settings: Settings, session: Session, held: Holder, prices: Prices | None = None
) -> tuple[Ears | Lack, Voice | Lack]:
    """What is set up, or why there is nobody; what it starts is closed with `held`."""
    prices = prices or Prices()
    if "local" in (settings.stt.backend, settings.tts.backend):
        return _with_local(settings, session, held, prices)
    return _ears(settings, session, prices), _voice(settings, session, prices)


def _unit_price(prices: Prices, unit: Unit) -> PriceOf:
    return lambda provider, model: prices.of_unit(unit, provider, model)[0]


def own_ears(settings: Settings) -> str:
    """The folder of the owner's own model, "" = the packaged one.

    The default of `stt.model` names a service's model and was chosen by nobody.
    """
    model = settings.stt.model
    return "" if model == SpeechToText().model else model


def _with_local(
    settings: Settings, session: Session, held: Holder, prices: Prices
) -> tuple[Ears | Lack, Voice | Lack]:
    """One worker process for whichever of the two is `local`."""
    from aouo.providers.speech.local import LocalSpeech, lack_of_ears, lack_of_voice  # rare

    ears, weights = own_ears(settings), settings.tts.model
    patience_s = float(settings.provider.request_timeout_s)
    voice = settings.tts.voice
    local = held.take(
        ("local speech", ears, weights, voice, patience_s),
        lambda: LocalSpeech(ears, weights, usual_voice=voice, patience_s=patience_s),
        LocalSpeech.aclose,
    )
    return (
        lack_of_ears(ears) or local
        if settings.stt.backend == "local"
        else _ears(settings, session, prices),
        lack_of_voice(weights) or local
        if settings.tts.backend == "local"
        else _voice(settings, session, prices),
    )


def _voice(settings: Settings, session: Session, prices: Prices) -> Voice | Lack:
    """A service's voice; unset = `tts.backend` is off, or has no key."""
    wish = settings.tts
    if wish.backend not in ("openai", "groq"):
        return "unset"
    key = settings.provider_endpoint(wish.backend).api_key
    service = _service(settings, session, wish.backend, key)
    if service is None:
        return "unset"
    price = _unit_price(prices, "million_characters")
    return Speaker(service, model=wish.model, voice=wish.voice, price=price)


def _ears(settings: Settings, session: Session, prices: Prices) -> Ears | Lack:
    """A service that listens; unset = `stt.backend` is off, or has no key."""
    wish = settings.stt
    if wish.backend not in ("openai", "groq"):
        return "unset"
    service = _service(settings, session, wish.backend, settings.stt_api_key)
    if service is None:
        return "unset"
    return Transcriber(service, model=wish.model, price=_unit_price(prices, "minute"))


def _service(
    settings: Settings, session: Session, backend: Backend, key: str
) -> SpeechService | None:
    if not key:
        return None
    return SpeechService(
        backend=backend,
        base_url=settings.provider_endpoint(backend).base_url,
        api_key=key,
        session=session,
        request_timeout_s=float(settings.provider.request_timeout_s),
    )


def eyes_of(settings: Settings, session: aiohttp.ClientSession, quota: Quota) -> Describe | None:
    """None = `gemini.vision_model` is empty, or there is no key for it."""
    gemini = settings.gemini
    key = gemini.api_key.get_secret_value()
    if not gemini.vision_model or not key:
        return None
    from aouo.providers.gemini import GeminiModel  # few have it set up

    provider = settings.provider
    model = GeminiModel(
        provider="gemini",
        model=gemini.vision_model,
        api_key=key,
        base_url=gemini.base_url,
        context_window=window_of(gemini.vision_model),
        sees=True,
        session=session,
        request_timeout_s=float(provider.request_timeout_s),
        stream_idle_timeout_s=float(provider.stream_idle_timeout_s),
    )
    return partial(describe, quota, model)
