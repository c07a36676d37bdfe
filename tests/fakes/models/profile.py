"""The format of profile files: what one family of model services takes, refuses and sends.

A profile is data with its sources. `loading` reads it, `judging` checks requests with it, and
`speaking` makes answers by it. `$name` inside a body is replaced by a fact of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import yaml
from pydantic import TypeAdapter, ValidationError

from aouo.facts.errors import SetupError

Wire: TypeAlias = Literal["chat", "responses", "gemini"]
Sound: TypeAlias = Literal["speech", "transcription"]
"""What a service does with sound: it speaks a text, or transcribes a file."""
_Certainty: TypeAlias = Literal["reproduced", "sourced", "memory"]
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
    """One error answer in the service's words; a body that is a str is sent as text.

    `inside`: the status is 200 and the body comes as an event of the stream.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    status: int = 400
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    inside: bool = False
    certainty: _Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Back:
    """What a client must send back with a call in the history: `at` is its dotted path.

    `within` says where the path begins: in the message with the call, or in the call. `same`: it
    must equal what was sent, else it only must exist. `accept` are values that are allowed too.
    `filled`: an empty value counts as missing. `paired`: an item with an id must name a call of its
    message. `foreign`: also for calls of another service. `turn`: only calls after the person's
    newest words. `first`: only the first call of a message.
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
    """What is refused, and by which trouble. A request breaks a rule if all its conditions hold.

    Keys are dotted paths in the request's body. `differs`: the value is there and none of these.
    `unless`: the rule is off if the value is one of these. `above`, `below`: the number is beyond.
    `fields` are all known fields, `message_fields` all of a message. `unmatched`: a call's id does
    not match. `thinking`: the model thinks at this request. `too_long`: the prompt exceeds the
    window; with `with_answer` `max_tokens` counts too. `terms`: the model's terms were not
    accepted. A request for sound also has fields of ours: `characters` of a text, `bytes` of a file
    and the `ending` of its name; only rules that name it in `wires` apply to it.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    about: str
    answer: str
    source: str
    certainty: _Certainty = "sourced"
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
    """One model; `dead` names the trouble of a model that was shut down, `loaded` is the window in
    force (0 = the whole), `thinks` whether it thinks always, unasked (`on`), when asked (`off`) or
    never."""

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
    certainty: _Certainty = "sourced"

    @property
    def in_force(self) -> int:
        """The window in force, in tokens."""
        return self.loaded or self.window


@dataclass(frozen=True, slots=True)
class Limit:
    """A plan's limit: `amount` in `seconds`. `used_up` is the trouble of a request that must wait,
    `too_large` of one that alone exceeds the limit ("" = as `used_up`). `reserves`: the answer's
    room counts at once. `refills`: the limit refills evenly, else when its time is over."""

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
    """How the service caches prompts: up to `cache_control` (`marked`), or in blocks of so many
    tokens. `marked_models` are those models of a service that need marks; without the field `wants`
    nothing is cached."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    source: str
    kind: Literal["blocks", "marked", "none"] = "blocks"
    block_tokens: int = 128
    least_tokens: int = 1_024
    wants: str = ""
    marked_models: tuple[str, ...] = ()
    certainty: _Certainty = "sourced"


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
    """What happens with a prompt that is too long, if no rule refuses it."""


@dataclass(frozen=True, slots=True)
class Aloud:
    """Text that a server passes on as an answer though a part of it is none: thoughts, channels,
    calls that it did not read. `says` is the answer in it."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    about: str
    text: str
    says: str
    source: str
    certainty: _Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the service; `$models` is replaced by a list with `each` for every model."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    path: str
    source: str
    body: Any = None
    each: Mapping[str, Any] = field(default_factory=dict[str, Any])
    method: Literal["GET", "POST"] = "GET"
    certainty: _Certainty = "sourced"


@dataclass(frozen=True, slots=True)
class Profile:
    """One family. `backend` is its name in aouo's configuration (`providers.<name>` if it is not
    built in), `address` is its base path after the host; `sounds` are the paths for sound."""

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
    aloud: tuple[Aloud, ...] = ()
    pages: tuple[Page, ...] = ()
    plans: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict[str, tuple[Limit, ...]])
    key: Literal["bearer", "google", "none"] = "bearer"
    built_in: bool = True

    def settings(self, url: str, model: str = "", *, key: str = "sk-local") -> Body:
        """Return the part of aouo's configuration that points to this service at `url`."""
        where = {"base_url": url + self.address} | ({} if self.key == "none" else {"api_key": key})
        provider = {"backend": self.backend, "model": model or self.model}
        if self.built_in:
            parts = {"speech": "tts", "transcription": "stt"}
            sounds = {parts[sound]: {"backend": self.backend} for sound in self.sounds}
            return {"provider": provider, self.backend: where, **sounds}
        return {"provider": provider, "providers": {self.backend: where}}

    def loaded_with(self, tokens: int) -> Profile:
        """Return the same family with a window of that size for each model."""
        models = {name: replace(model, loaded=tokens) for name, model in self.models.items()}
        return replace(self, models=models)

    def model_named(self, name: str) -> Model | None:
        """Return that model, or `*` if the service takes every name; None = neither."""
        return self.models.get(name) or self.models.get("*")

    @property
    def living(self) -> dict[str, Model]:
        return {name: model for name, model in self.models.items() if not model.dead}


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns matches; no patterns match everything."""
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""They read the same; the first one eight times as fast."""
_FOLDER = Path(__file__).with_name("profiles")


def names() -> list[str]:
    """Return the names of all profiles."""
    return sorted(path.stem for path in _FOLDER.glob("*.yml"))


@cache
def profile(name: str) -> Profile:
    """Return a profile. Raises `SetupError`: there is none of that name, or its file is broken."""
    if name not in names():
        raise SetupError(
            f"There is no local service {name!r}.", fix=f"Choose: {', '.join(names())}."
        )
    path = _FOLDER / f"{name}.yml"
    return _parse(path.read_text("utf-8"), path.name)


def _parse(text: str, file: str) -> Profile:
    """Parse a profile. Raises `SetupError`: the text is no valid profile."""
    try:
        found = _adapter().validate_python(yaml.load(text, _Loader))
    except yaml.YAMLError as error:
        raise SetupError(f"{file}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SetupError(f"{file}: {where}: {first['msg']}.") from error
    if problem := _lacks(found):
        raise SetupError(f"{file}: {problem}.")
    return found


@cache
def _adapter() -> TypeAdapter[Profile]:
    return TypeAdapter(Profile)


def _lacks(profile: Profile) -> str:
    """Return a reference in a profile to something that it lacks, "" = none."""
    known = profile.troubles
    wanted: dict[str, Any] = {f"rule {rule.about!r}": rule.answer for rule in profile.rules}
    wanted |= {f"model {name}": model.dead for name, model in profile.models.items() if model.dead}
    wanted |= {
        f"plan {plan}": name
        for plan, limits in profile.plans.items()
        for limit in limits
        for name in (limit.used_up, limit.too_large)
        if name
    }
    wanted |= {"every request": "no_model"}
    wanted |= {"requests with a key": "wrong_key"} if profile.key != "none" else {}
    if any(model.wires for model in profile.models.values()):
        wanted |= {"models of one wire": "wrong_wire"}
    for who, name in wanted.items():
        if name not in known:
            return f"{who} needs the trouble {name!r}"
    return "" if profile.model in profile.living else f"the model {profile.model!r} is not alive"
