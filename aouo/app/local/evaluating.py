"""Runs a pack's evals, each in its own home, with the real channel, on a local Telegram."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aouo.app.local import eval_home
from aouo.app.local.conversing import running
from aouo.config.settings import Settings
from aouo.emulator import ActRefused, Emulator, EmulatorClient
from aouo.facts.errors import AouoError, PackError
from aouo.facts.ports import Clock
from aouo.guard.sandbox.levels import Wish
from aouo.packs.evals.cases import Eval, ExpectedRows, Step
from aouo.packs.evals.checks import EvalResult, Outcome, Seen, StepResult, failures
from aouo.packs.evals.process import count_rows, newest_row
from aouo.packs.load import Pack
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor
from aouo.plumbing.trees import workshop
from aouo.plumbing.waiting import one_setup_error
from aouo.plumbing.web.session import secrets_of
from aouo.queue.lanes import idle
from aouo.store import usage
from aouo.store.database import Database, Tx

_LIMIT_S = 60.0
_LOOK_EVERY_S = 0.005


async def evaluate(
    pack: Pack,
    found: Eval,
    *,
    beside: Sequence[Path] = (),
    real: Settings | None = None,
    sandbox: Wish = "auto",
) -> EvalResult:
    """Run one eval in a temporary home.

    `beside` are the folders of packs that it depends on. `real` are the owner's settings, whose
    model answers evals that want a real one; None = skip those. `sandbox` is the owner's setting,
    so that the pack's tools run as they will once it is installed.
    """
    if found.model == "real" and real is None:
        return EvalResult(found.name, found.file, "skipped", why="needs a real model: --real")
    began_s = time.perf_counter()
    results: list[StepResult] = []
    try:
        with one_setup_error():
            async with (
                asyncio.timeout(_LIMIT_S),
                _Play.of(pack, found, beside, real, sandbox) as play,
            ):
                for index in range(len(found.steps)):
                    results.append(await play.step(index))
                    if results[-1].wrong:
                        break
    except TimeoutError:
        results.append(_broken(found, len(results), f"an end within {_LIMIT_S:g} s"))
    except AouoError as error:
        results.append(_broken(found, len(results), str(error)))
    failed = any(result.wrong for result in results)
    ms = round((time.perf_counter() - began_s) * 1000)
    outcome: Outcome = "failed" if failed else "passed"
    return EvalResult(found.name, found.file, outcome, ms, steps=tuple(results))


def _broken(found: Eval, done: int, why: str) -> StepResult:
    """Return the result of the step in which an eval broke off, or of none before the first."""
    at = min(done, len(found.steps) - 1)
    return StepResult(done and done + 1, found.lines[at], _did(found.steps[at]), (why,))


@dataclass(slots=True, eq=False, kw_only=True)
class _Play:
    """A running eval: a home, a local Telegram, a runtime and a person."""

    found: Eval
    emulator: Emulator
    people: EmulatorClient
    database: Database
    clock: Clock
    files: PackStores
    pack: str
    model: eval_home.WatchedModel
    script: eval_home.ScriptedModel | None

    @classmethod
    @asynccontextmanager
    async def of(
        cls, pack: Pack, found: Eval, beside: Sequence[Path], real: Settings | None, sandbox: Wish
    ) -> AsyncGenerator[_Play]:
        """Set everything up, and tear it down after the block."""
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(workshop("aouo-eval-"))
            home = Home(folder / "home")
            stores = eval_home.furnish(home, pack, found, beside)
            emulator = await stack.enter_async_context(Emulator(parts=()))
            loaded = eval_home.configure(
                home, emulator, real if found.model == "real" else None, sandbox
            )
            script = eval_home.ScriptedModel() if found.model == "scripted" else None
            clock: Clock = eval_home.Impatient() if script else SystemClock()
            model = eval_home.WatchedModel(
                script or await eval_home.real_model(loaded.settings, stack)
            )
            stack.enter_context(home.lock())
            redactor = Redactor(secrets_of(loaded.settings.secrets()))
            stack.enter_context(Logs(file=home.log_file, redactor=redactor, quiet=True))
            people = await stack.enter_async_context(EmulatorClient(emulator.base_url))
            await people.create_user("Eve", user_id=eval_home.PERSON, language=found.language)
            app, _ = await stack.enter_async_context(
                running(home, loaded, clock=clock, model=model, online=script is None)
            )
            if beside:
                await eval_home.bind(app.shared.database, clock, pack.name)
            yield cls(
                found=found,
                emulator=emulator,
                people=people,
                database=app.shared.database,
                clock=clock,
                files=stores,
                pack=pack.name,
                model=model,
                script=script,
            )

    async def step(self, index: int) -> StepResult:
        """Do one step, and compare its outcome with the expectations."""
        step = self.found.steps[index]
        before = await self._shown()
        spent = await self.database.read(usage.newest)
        self.model.begin()
        if self.script:
            self.script.follow(step.model)
        result = StepResult(index + 1, self.found.lines[index], _did(step))
        try:
            told = await self._act(step)
        except (ActRefused, TimeoutError) as error:
            return replace(result, wrong=(str(error),))
        await self._quiet()
        after = await self._shown()
        new = [after[key] for key in after if after[key] != before.get(key)]
        seen = Seen(
            replies=(*(text for text, _ in new), *told),
            buttons=tuple(label for _, labels in new for label in labels),
            calls=self.model.calls,
            memory={name: self._memory(name) for name in step.expect.memory},
            model_calls=self.model.requests,
            prompt_bytes=self.model.first_bytes,
            cost_usd=await self.database.read(lambda tx: _cost(tx, spent)),
            scripted=len(step.model) if self.script else -1,
        )
        try:
            wrong = tuple(failures(step.expect, seen, self._count))
            rows = self._rows(step) if wrong else ()
        except PackError as error:
            wrong, rows = (str(error),), ()
        return replace(
            result,
            wrong=wrong,
            said=seen.replies,
            buttons=seen.buttons,
            calls=tuple(_call_line(call.name, call.arguments, call.failure) for call in seen.calls),
            rows=rows,
            model_calls=seen.model_calls,
            prompt_bytes=seen.prompt_bytes,
            cost_usd=round(seen.cost_usd, 8),
        )

    async def _act(self, step: Step) -> tuple[str, ...]:
        """Write a message or tap a button; return the bot's immediate answer to a tap."""
        if step.say:
            await self.people.say(eval_home.PERSON, eval_home.PERSON, step.say)
            return ()
        message_id, data = await _button(self.people, step.tap)
        answer = await self.people.tap(eval_home.PERSON, eval_home.PERSON, message_id, data)
        return (answer["text"],) if answer.get("text") else ()

    async def _quiet(self) -> None:
        """Wait until everything is read, answered and shown, or a question is open."""
        while len(self.emulator.world.updates):
            await self.clock.sleep(_LOOK_EVERY_S)
        await idle(self.database, self.clock, asking=True, look_every_s=_LOOK_EVERY_S)

    async def _shown(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return what the bot shows now: message id → text and button labels."""
        found = await self.people.messages(eval_home.PERSON)
        return {
            one.id: (one.text, tuple(button.text for button in one.buttons))
            for one in found
            if one.from_bot
        }

    def _memory(self, name: str) -> str:
        file = self.files.private(self.pack, eval_home.OWNER) / name
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def _count(self, wanted: ExpectedRows) -> int:
        file = self.files.file(self.pack, eval_home.OWNER)
        return count_rows(file, wanted.table, wanted.where)

    def _rows(self, step: Step) -> tuple[str, ...]:
        """Return the newest rows of the tables that the step's expectations name."""
        file = self.files.file(self.pack, eval_home.OWNER)
        return tuple(
            f"{table}: {json.dumps(row, ensure_ascii=False, default=str)}"
            for table in dict.fromkeys(wanted.table for wanted in step.expect.rows)
            for row in newest_row(file, table)
        )


async def _button(people: EmulatorClient, label: str) -> tuple[int, str]:
    """Return (message id, data) of a button of the newest message that has buttons."""
    shown = [one for one in await people.messages(eval_home.PERSON) if one.from_bot and one.buttons]
    if not shown:
        raise ActRefused(f"a button {label!r}, and there is no message with buttons")
    for button in shown[-1].buttons:
        if button.text == label and button.data:
            return shown[-1].id, button.data
    there = ", ".join(repr(button.text) for button in shown[-1].buttons)
    raise ActRefused(f"a button {label!r}; the newest message with buttons has {there}")


def _cost(tx: Tx, before: int) -> float:
    return sum(row.cost_usd for row in usage.since(tx, before))


def _did(step: Step) -> str:
    return f"say {step.say!r:.120}" if step.say else f"tap {step.tap!r:.120}"


def _call_line(name: str, arguments: object, failure: str) -> str:
    line = f"{name} {json.dumps(arguments, ensure_ascii=False)}"
    return f"{line} failed: {failure:.300}" if failure else line
