"""Asks model servers in the background, to keep what is known of the models true."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial

from aouo.agent.spending.money import Paid, lacking
from aouo.facts.ports import Clock
from aouo.flow.generations import Generations
from aouo.outbound.outbox import OwnerNotices
from aouo.plumbing.logs import log
from aouo.providers.fallback import models_in
from aouo.providers.known.concerns import Concern, concerns, key_of
from aouo.providers.known.knowing import Inquiry, KnownModel, learn
from aouo.words import sentences

_AGAIN_S = 86_400.0


@dataclass(slots=True, eq=False)
class KnownModels:
    """Asks when a model is new, after its first answer, and once a day, while it is configured.

    At first the catalogue stays closed: it costs memory, and the table of names was made from it.
    """

    generations: Generations
    clock: Clock
    owner_notices: OwnerNotices
    _concerns: dict[str, tuple[Concern, ...]] = field(
        init=False, default_factory=dict[str, tuple[Concern, ...]]
    )
    _asked: set[tuple[str, str]] = field(init=False, default_factory=set[tuple[str, str]])
    _unpriced: tuple[Paid, ...] = field(init=False, default=())

    @property
    def told(self) -> list[str]:
        """What the owner should know, as lines."""
        found = dict.fromkeys(one for each in self._concerns.values() for one in each)
        lines = [f"{one.what}. {one.fix}" for one in found]
        return lines + [". ".join(one.concern) for one in self._unpriced]

    async def run(self) -> None:
        following: dict[tuple[str, KnownModel], asyncio.Task[None]] = {}
        now = self.generations.now
        async with asyncio.TaskGroup() as group:
            while True:
                wanted = [
                    (key_of(at), model)
                    for at, model in enumerate(models_in(now.model))
                    if isinstance(model, KnownModel)
                ]
                for one in following.keys() - wanted:
                    following.pop(one).cancel()
                    self._concerns.pop(one[0], None)
                for one in wanted:
                    if one not in following:
                        following[one] = group.create_task(self._follow(*one))
                await self._look_for_prices()
                now = await self.generations.after(now)

    async def _follow(self, key: str, model: KnownModel) -> None:
        try:
            await self._keep_asking(model, key)
        except Exception as error:  # what is not known by asking is known by name
            log.exception("model_not_known", model=model.model, error=repr(error))

    async def _keep_asking(self, model: KnownModel, key: str) -> None:
        await self._tell(model, key, await model.learn())
        await model.answered.wait()
        while True:
            await self._tell(model, key, await learn(model))
            await self.clock.sleep(_AGAIN_S)

    async def _tell(self, model: KnownModel, key: str, said: Inquiry) -> None:
        today = self.clock.now().date()
        window_set = bool(self.generations.now.advanced.context_window)
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
            told = partial(sentences.model_concern, one.what, one.fix)
            await self.owner_notices.tell(told, daily=False)
        self._asked.add((model.provider, model.model))
        await self._look_for_prices()

    async def _look_for_prices(self) -> None:
        """Tell the owner what has no price, if a budget is set: once for what is set, and not
        before a server that may say the price was asked."""
        now = self.generations.now
        if not now.quota.budgeted:
            self._unpriced = ()
            return
        found = await asyncio.to_thread(lacking, now.paid, now.quota.limits.budget.prices)
        models = {
            (one.provider, one.model) for one in models_in(now.model) if isinstance(one, KnownModel)
        }
        unasked = models - self._asked
        self._unpriced = tuple(one for one in found if (one.provider, one.name) not in unasked)
        for one in self._unpriced:
            told = partial(sentences.model_concern, *one.concern)
            about = str(now.quota.limits.budgets)
            await self.owner_notices.tell(told, daily=False, about=about)
