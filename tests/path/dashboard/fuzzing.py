"""Sends the page what its OpenAPI document allows and what it does not, and judges each answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

from tests.path.dashboard.looking import dashboard
from tests.path.looking import settled
from tests.path.world import World

PATIENCE_S = 30.0
KINDS = {200, 400, 404}
_KNOWN_MOST = 400
_SIZES_AND_TIMES = (
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
    HealthCheck.too_slow,
)
_STRANGERS: tuple[tuple[int, dict[str, str]], ...] = (
    (401, {"X-Aouo-Token": ""}),
    (403, {"Host": "evil.example"}),
    (403, {"Origin": "http://evil.example"}),
)


@dataclass
class Fuzzing:
    """What was sent to the page at `address`, and what was wrong with the answers.

    `hidden` are secrets that no answer may have. Values of answers are sent back as names, so that
    what is there is asked for, too.
    """

    address: str
    token: str
    hidden: tuple[str, ...]
    seed: int = 0
    faults: list[str] = field(default_factory=list[str])
    statuses: Counter[int] = field(default_factory=Counter[int])
    slowest: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        self._random = random.Random(self.seed)
        self._known = list[Any]()
        self._met = False
        found = self._session.get(
            f"{self.address}/api/openapi.json", headers={"X-Aouo-Token": self.token}, timeout=30
        )
        self.document = found.json()

    def run(self, examples: int, until_s: float) -> None:
        """Send so many examples to each operation, allowed ones and others, until `until_s`
        (monotonic) or later, until answers of each kind have come.

        Streams are opened by strangers only.
        """
        for operation in self._operations():
            self._met = False
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                if time.monotonic() < until_s or not set(self.statuses) >= KINDS:
                    self._send_examples(operation, mode, examples)
        self.seed += 1

    def _operations(self) -> list[Any]:
        """Return them in another order each time, for when there is no time for all of them; with
        the token in a header of ours, which is no part of what is made up."""
        document = {key: value for key, value in self.document.items() if key != "security"}
        document["components"] = {}
        schema: Any = schemathesis.openapi.from_dict(document)
        found = [one.ok() for one in schema.get_all_operations()]
        self._random.shuffle(found)
        return found

    def _send_examples(self, operation: Any, mode: GenerationMode, examples: int) -> None:
        @seed(self.seed)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=_SIZES_AND_TIMES,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case: Case[Any]) -> None:
            self._ask_for_what_is_there(case)
            self._send(case)

        with suppress(Unsatisfiable):  # nothing is forbidden there
            send()

    def _ask_for_what_is_there(self, case: Case[Any]) -> None:
        """Put values of earlier answers in the place of some that are made up."""
        if not self._known:
            return
        parts: tuple[Any, ...] = (case.path_parameters, case.query, case.body)
        for values, share in zip(parts, (0.6, 0.3, 0.3), strict=True):
            for name, value in values.items() if isinstance(values, dict) else ():
                known = self._random.choice(self._known)
                if self._random.random() >= share:
                    continue
                if values is case.path_parameters:
                    values[name] = quote(str(known), safe="")
                elif type(value) is type(known):
                    values[name] = known

    def _send(self, case: Case[Any]) -> None:
        sent = case.as_transport_kwargs(base_url=self.address)
        sent["headers"] = {**sent["headers"], "X-Aouo-Token": self.token}
        streams = case.path == "/api/live" or _streams(self.document, case)
        if not streams:
            began_s = time.monotonic()
            answer = self._answered(sent)
            if answer is not None:
                took_s = time.monotonic() - began_s
                self.slowest[case.path] = max(self.slowest.get(case.path, 0.0), took_s)
                self._judge(sent, answer)
                self._remember(answer)
        if not self._met:
            self._met = True
            self._send_as_stranger(case, sent)

    def _send_as_stranger(self, case: Case[Any], sent: dict[str, Any]) -> None:
        free = self.document["paths"][case.path][case.method.lower()].get("security") == []
        for status, headers in _STRANGERS:
            if not (free and status == 401):
                stranger = {**sent, "headers": {**sent["headers"], **headers}}
                answer = self._answered(stranger)
                if answer is not None and answer.status_code != status:
                    self._blame(stranger, f"{answer.status_code} for a stranger, not {status}")

    def _answered(self, sent: dict[str, Any]) -> requests.Response | None:
        try:
            return self._session.request(**sent, timeout=PATIENCE_S, allow_redirects=False)
        except (ValueError, requests.exceptions.InvalidHeader):
            return None  # it cannot be sent
        except requests.exceptions.RequestException as error:
            self._blame(sent, f"no answer: {type(error).__name__}")
            return None

    def _judge(self, sent: dict[str, Any], answer: requests.Response) -> None:
        self.statuses[answer.status_code] += 1
        text = f"{answer.headers} {answer.text}"
        wrong = {
            "a server error": answer.status_code >= 500 and not sent["url"].endswith("/healthz"),
            "a secret": any(secret in text for secret in self.hidden),
            "no headers": answer.headers.get("X-Frame-Options") != "DENY",
            "no sentence": 400 <= answer.status_code < 500 and not _sentence(answer),
        }
        for fault in (name for name, found in wrong.items() if found):
            self._blame(sent, f"{fault}: {answer.status_code} {answer.text[:200]}")

    def _remember(self, answer: requests.Response) -> None:
        if answer.headers.get("Content-Type", "").startswith("application/json"):
            for value in _values(answer.json()):
                if len(self._known) < _KNOWN_MOST:
                    self._known.append(value)
                else:
                    self._known[self._random.randrange(_KNOWN_MOST)] = value

    def _blame(self, sent: dict[str, Any], fault: str) -> None:
        parts = {name: sent.get(name) for name in ("params", "json", "data") if sent.get(name)}
        told = f"{sent['method']} {sent['url'].removeprefix(self.address)} {parts}"
        self.faults.append(f"{told[:400]}: {fault}".replace(self.token, "TOKEN"))


def _streams(document: dict[str, Any], case: Case[Any]) -> bool:
    content = document["paths"][case.path][case.method.lower()]["responses"]["200"]["content"]
    return "text/event-stream" in content


def _sentence(answer: requests.Response) -> str:
    try:
        return answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        return ""


def _values(facts: Any) -> Iterator[Any]:
    """Names and numbers that could be asked for."""
    if isinstance(facts, dict):
        for name, value in facts.items():
            yield from (name, *_values(value))
    elif isinstance(facts, list):
        for value in facts[:20]:
            yield from _values(value)
    elif isinstance(facts, str | int) and facts != "" and len(str(facts)) < 200:
        yield facts


# A bot with a past, with secrets in its configuration, whose page is sent whatever there is


SECRET = "sk-hidden-4f9a7c21d0b8"
"""No answer of the model or of a tool says it."""


@asynccontextmanager
async def fuzzed(world: World, seed: int = 0) -> AsyncGenerator[Fuzzing]:
    """Run the bot; yield what sends."""
    world.install("notes", "vocab")
    world.config = {
        "providers": {"fake": {"base_url": world.model.base_url, "api_key": SECRET}},
        "dashboard": {"token": f"{SECRET}-page"},
    }
    async with dashboard(world) as shown:
        for said in ("/use notes", "remember the bees", "<script>alert(1)</script> \u202e"):
            await shown.bot.ask(said)
        await settled(shown.bot)
        await shown.get("/healthz")  # from the first connection on there is a key
        hidden = (SECRET, world.emulator.token, world.home.dashboard_key.read_text())
        address = str(shown.link.origin())
        yield await asyncio.to_thread(Fuzzing, address, f"{SECRET}-page", hidden, seed)
