"""What one family of model services takes, refuses and sends: the shape of a profile file.

A profile is data with its sources. `loading` reads it, `judging` holds a request against it and
`speaking` gives an answer its form. `$name` inside a body is filled in from the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatch
from typing import Any, ClassVar, Literal, TypeAlias, get_args

Wire: TypeAlias = Literal["chat", "responses", "gemini"]
Sound: TypeAlias = Literal["speech", "transcription"]
"""What a service does with sound: it speaks a text, or writes down what is said."""
Certainty: TypeAlias = Literal["reproduced", "sourced", "memory"]
Body: TypeAlias = dict[str, Any]
Order: TypeAlias = Literal[
    "broken_arguments",
    "empty_assistant",
    "empty_part",
    "first_user",
    "last_assistant",
    "orphan_result",
    "results_together",
    "system_first",
    "system_late",
    "unanswered_call",
    "user_after_tool",
    "users_in_a_row",
]
SOUNDS: tuple[Sound, ...] = get_args(Sound)
_STRICT: dict[str, str] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One answer that is none, as the service words it; a body that is a str goes out as text.

    `inside`: the status is 200 and the body comes as an event of the stream.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    status: int = 400
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    inside: bool = False
    certainty: Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Back:
    """What a call in the history has to bring back: `at` is its place, dotted.

    `within` says where the place begins: in the message that holds the call, or in the call. `same`
    compares it with what was sent; else it must be there. `accept` are values that serve too.
    `filled`: an empty value is none. `paired`: an item with an id names a call of its message.
    `foreign`: also where another service made the call.
    `turn`: only calls after the newest words of the person. `first`: only a message's first one.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    at: str
    within: Literal["message", "call"] = "message"
    same: bool = False
    filled: bool = False
    paired: bool = False
    accept: tuple[str, ...] = ()
    foreign: bool = False
    turn: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """What is refused, and how. All conditions that a rule has must hold.

    Places are dotted paths in the request's body. `differs`: it is there and is none of these.
    `unless`: the rule is off where it is one of these. `above`, `below`: it is a number beyond.
    `fields` are all that are known, `message_fields` all that a message has. `unmatched`: an id
    of a call is not of this form. `thinking`: the model thinks at this request. `too_long`: the
    prompt does not fit the window, `max_tokens` counted along where it says `with_answer`.
    `terms`: those of the model were not accepted. A request for sound has fields of ours too:
    `characters` of a text, `bytes` of a file and the `ending` of its name; it is held to the rules
    alone that name it among their `wires`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    about: str
    answer: str
    source: str
    certainty: Certainty = "sourced"
    finding: int = 0
    wires: tuple[Wire | Sound, ...] = ()
    models: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    differs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    unless: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    above: Mapping[str, float] = field(default_factory=dict[str, float])
    below: Mapping[str, float] = field(default_factory=dict[str, float])
    fields: tuple[str, ...] = ()
    message_fields: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    order: Order | None = None
    unmatched: str = ""
    back: Back | None = None
    thinking: bool = False
    pictures: bool = False
    terms: bool = False
    too_long: Literal["", "prompt", "with_answer"] = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One model; `dead` names the trouble that a request meets, `loaded` is the window in force
    (0 = all of it), `thinks` whether it does so unasked (`on`), when asked (`off`) or never."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    window: int = 32_768
    output: int = 8_192
    sees: bool = False
    thinks: Literal["always", "on", "off", "never"] = "never"
    wires: tuple[Wire | Sound, ...] = ()
    loaded: int = 0
    shutdown: date | None = None
    dead: str = ""
    listed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    certainty: Certainty = "sourced"

    @property
    def in_force(self) -> int:
        """The window that counts, in tokens."""
        return self.loaded or self.window


@dataclass(frozen=True, slots=True)
class Limit:
    """So much in that time on a plan. `too_large` answers a request that alone is more (""=as
    `used_up`), `used_up` one that has to wait; `reserves`: the answer's room counts at once.
    `refills`: what was used comes back evenly, else all of it when its time is over."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    of: Literal["tokens", "requests"]
    seconds: int
    amount: int
    used_up: str
    source: str
    too_large: str = ""
    reserves: bool = False
    refills: bool = False
    models: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True)
class Caching:
    """How the service finds a prompt that it has read before; `marked`: only up to
    `cache_control`, else by itself in blocks of that many tokens. `marked_models` are those of
    a service of many families that want marks, `wants` is a field without which nothing is."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    kind: Literal["blocks", "marked", "none"] = "blocks"
    block_tokens: int = 128
    least_tokens: int = 1_024
    wants: str = ""
    marked_models: tuple[str, ...] = ()
    certainty: Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Stream:
    """The form of a streamed answer on the `chat` wire."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    comments: tuple[str, ...] = ()
    role_first: bool = True
    whole_calls: bool = False
    index: Literal["own", "zero", "none"] = "own"
    call_ids: Literal["call", "nine", "functions", "uuid", "none"] = "call"
    done: bool = True
    usage: Literal["last_chunk", "asked", "with_finish", "x_groq", "none"] = "asked"
    cached: Literal["details", "hit_tokens", "none"] = "details"
    thoughts: Literal["reasoning_content", "reasoning", "reasoning_details", "parts", "silent"] = (
        "silent"
    )
    signature: Literal["", "extra_content"] = ""
    calls_reason: str = "tool_calls"
    overflow: Literal["refused", "cut", "empty"] = "refused"
    """What happens where no rule speaks of a prompt that is too long."""


@dataclass(frozen=True, slots=True)
class Page:
    """One list or fact that the service gives; `$models` is a list with `each` per model."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    path: str
    source: str
    body: Any = None
    each: Mapping[str, Any] = field(default_factory=dict[str, Any])
    method: Literal["GET", "POST"] = "GET"
    certainty: Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Profile:
    """One family. `backend` is the name aouo's configuration knows it by (`providers.<name>`
    where it is not built in), `address` what its address has after the host; `sounds` are the
    paths where it speaks and hears."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    name: str
    title: str
    read: date
    backend: str
    address: str
    paths: Mapping[Wire, str]
    model: str
    models: Mapping[str, Model]
    rules: tuple[Rule, ...]
    troubles: Mapping[str, Trouble]
    stream: Stream
    caching: Caching
    sounds: Mapping[Sound, str] = field(default_factory=dict[Sound, str])
    pages: tuple[Page, ...] = ()
    plans: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict[str, tuple[Limit, ...]])
    key: Literal["bearer", "google", "none"] = "bearer"
    built_in: bool = True

    def settings(self, url: str, model: str = "", *, key: str = "sk-local") -> Body:
        """The part of aouo's configuration that points at this service at `url`."""
        where = {"base_url": url + self.address} | ({} if self.key == "none" else {"api_key": key})
        provider = {"backend": self.backend, "model": model or self.model}
        if self.built_in:
            parts = {"speech": "tts", "transcription": "stt"}
            sounds = {parts[sound]: {"backend": self.backend} for sound in self.sounds}
            return {"provider": provider, self.backend: where, **sounds}
        return {"provider": provider, "providers": {self.backend: where}}

    def loaded_with(self, tokens: int) -> Profile:
        """The same family, each model with a window of that size."""
        models = {name: replace(model, loaded=tokens) for name, model in self.models.items()}
        return replace(self, models=models)

    def model_named(self, name: str) -> Model | None:
        """That model, or the one named `*` where the service takes every name."""
        return self.models.get(name) or self.models.get("*")

    @property
    def living(self) -> dict[str, Model]:
        return {name: model for name, model in self.models.items() if not model.dead}


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns fits; none at all fits everything."""
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)
