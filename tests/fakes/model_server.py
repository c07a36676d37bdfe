"""A local model service that takes any model's name, as strict as the strictest of all families.

    async with ModelServer() as server:
        server.say("Hello")
        model = CompatibleModel(base_url=server.base_url, ...)

It is told what to say as every `ModelService` is; a script is asked with the body. A request that
it refused by a rule fails the test at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import TypeAlias

from aiohttp import web

from tests.fakes.models.asked import Asked
from tests.fakes.models.profile import (
    Body,
    Caching,
    Model,
    Profile,
    Rule,
    Stream,
    Trouble,
    Wire,
    profile,
)
from tests.fakes.models.service import ModelService, failed
from tests.fakes.models.telling import CallPart, Fails, Raw, Says
from tests.fakes.models.telling import Reply as Said

Reply: TypeAlias = Says | Fails | Raw
Script: TypeAlias = Callable[[Body], Reply | str]

CONTEXT = "[From the runtime, not the person. "
"""What stands before the words that began a turn begins so."""
USAGE = (10, 0, 5)
"""Of an answer that says none: counted tokens would move with every word of our prompts."""
ANY = {"*": Model("here", window=10**9, sees=True)}
_WIRES: Mapping[str, Wire] = {"/chat/completions": "chat", "/responses": "responses"}
_CHAT: tuple[Wire, ...] = ("chat",)
_RULES = (
    Rule("roles", "roles", "deepseek", roles=("system", "user", "assistant", "tool"), wires=_CHAT),
    Rule("one system message, at the head", "order", "vllm", order="system_first"),
    Rule("taking turns", "order", "llamacpp", order="users_in_a_row", wires=_CHAT),
    Rule("after results the assistant", "order", "mistral", order="user_after_tool", wires=_CHAT),
    Rule("a person or a tool is last", "order", "mistral", order="last_assistant"),
    Rule("each call has its result", "order", "openai", order="unanswered_call"),
    Rule("a result needs its call", "order", "openai", order="orphan_result"),
)
"""By the families that refuse what breaks them (`tests/fakes/models/profiles`)."""


def _error(code: str, message: str = "$model") -> Body:
    return {"error": {"message": message, "type": None, "param": None, "code": code}}


STRICTEST = Profile(
    name="any",
    title="Any service",
    read=date(2026, 11, 23),
    backend="fake",
    address="/v1",
    paths={},
    model="*",
    models=ANY,
    rules=_RULES,
    troubles={
        "order": Trouble("here", body=_error("order", "$role after $after at $at: $ids $id")),
        "roles": Trouble("here", body=_error("role", "$role")),
        "wrong_key": Trouble("here", 401, _error("invalid_api_key")),
    },
    stream=Stream("here", role_first=False, thoughts="reasoning_content"),
    caching=Caching("here", kind="none"),
)


def family(name: str) -> Profile:
    """The rules and the form of a real family, for models of any name and without small talk."""
    real = profile(name)
    stream = replace(real.stream, role_first=False, comments=())
    return replace(real, models=ANY, model="*", stream=stream)


class ModelServer(ModelService):
    """The service; an async context manager that listens while it is open."""

    doors = ()  # it stands behind other names too

    def __init__(
        self,
        script: Script | None = None,
        *,
        port: int = 0,
        api_key: str = "",
        wires: tuple[str, ...] = ("/chat/completions",),
        rules: Profile = STRICTEST,
    ) -> None:
        """`wires`: the ends of the paths that are served; a body of `/responses` has `input`."""
        if rules.name == STRICTEST.name:
            rules = replace(rules, paths={_WIRES[end]: rules.address + end for end in wires})
        if "responses" in rules.paths:
            openai = profile("openai")
            more = [rule for rule in openai.rules if rule.wires == ("responses",)]
            troubles = {**openai.troubles, **rules.troubles}
            rules = replace(rules, rules=(*more, *rules.rules), troubles=troubles)
        if not api_key:
            rules = replace(rules, key="none")
        super().__init__(rules, port=port, api_key=api_key)
        self.script = script
        """Answers by the body of a request instead of reply by reply."""
        self.refused: dict[str, Fails] = {}
        """What requests to paths with these ends are always refused with."""
        self.says: dict[str, object] = {}
        """What it answers at other paths: JSON, or a str as it is (`/v1/models`, `/api/show`)."""

    async def __aexit__(self, *what: object) -> None:
        await super().__aexit__(*what)
        if what == (None, None, None):
            assert [one for one in self.refusals if one.trouble != "wrong_key"] == []

    async def _receive(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.says:
            return failed(200, self.says[request.path], {})
        return await super()._receive(request)

    def next_reply(self, asked: Asked) -> Said:
        path = next((path for wire, path in self.profile.paths.items() if wire == asked.wire), "")
        for end, fails in self.refused.items():
            if path.endswith(end):
                return fails
        reply = self._told(asked)
        reply = Says(reply) if isinstance(reply, str) else reply
        counted = not isinstance(reply, Says) or reply.usage
        return reply if counted else replace(reply, usage=USAGE)

    def _told(self, asked: Asked) -> Said | str:
        if self.script is not None:
            return self.script(asked.body)
        return super().next_reply(asked) if self.left else words_of({"content": asked.words})


def unavailable(body: Body) -> Reply:
    """A script: the service refuses every call, for now."""
    del body
    return Fails(503)


def last_words(body: Body) -> str:
    """What the last user message of a request says, without what the runtime says before it."""
    for message in reversed(body.get("messages") or body["input"]):
        if message.get("role") == "user":
            return words_of(message)
    return ""


def text_of(message: Body) -> str:
    """All text of a message, in one form or the other."""
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return str(content)


def words_of(message: Body) -> str:
    """A person's own words in a message, which stand after what the runtime says."""
    text = text_of(message)
    _, told, rest = text.partition(CONTEXT)
    return rest.partition("]\n\n")[2] if told else text


__all__ = ["Body", "CallPart", "Fails", "ModelServer", "Raw", "Reply", "Says"]
