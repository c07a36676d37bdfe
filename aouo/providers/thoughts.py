"""Keeps what a service of the chat format wants back: ids of calls, thoughts, signatures.

These go back only to the service and the family of models that they came from, under the names and
in the form they came in:
- `reasoning_content` (DeepSeek, Kimi), `reasoning` (vLLM, OpenRouter) with calls; without calls
  no service wants them (api-docs.deepseek.com/guides/thinking_mode, "Tool calls").
- `reasoning_details`, whole and in order: a block of Claude's is signed as a whole
  (openrouter.ai/docs/use-cases/reasoning-tokens, agno-agi/agno#8794 of July 2026).
- `extra_content` of a message or a call, which holds Gemini's signatures at Google's compatible
  address (ai.google.dev/gemini-api/docs/thought-signatures, openai/openai-agents-python#2137).
- The ids of calls: Mistral refuses others than its own nine letters and digits
  (nearai/ironclaw#1241 of March 2026), Kimi falls silent over others than `functions.NAME:N`
  (getkimchi/kimchi#1063 of August 2026), OpenRouter's details name them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast

from aouo.facts.transcript import AssistantSaid, Message, ModelRequest

_WIRE = "chat"
_CHARS_MAX = 200_000
"""The most thoughts of one answer; longer ones are dropped whole, since a part would be wrong."""
NATIVE_CHARS_MAX = 2 * _CHARS_MAX
"""The longest `AssistantSaid.native`, on any wire."""

NONE_KEPT = " "
"""Sent in place of unknown thoughts. DeepSeek V4 Pro and Kimi refuse an empty text, others do
not: NousResearch/hermes-agent#18263, charmbracelet/crush#2696 (May 2026),
experientiallabs/experiential#890 (September 2026)."""

FOREIGN = "skip_thought_signature_validator"
"""Gemini's documented signature for a call that another model made.

Source: ai.google.dev/gemini-api/docs/thought-signatures, "FAQs"; Vertex takes this word alone
(pydantic/pydantic-ai#3881, December 2025).
"""
_UNSIGNED = ("gemini-1", "gemini-2", "gemma")
"""Google's models that need no signatures."""

_SPOKEN = ("reasoning_content", "reasoning")
_DETAILS: Final = "reasoning_details"
_EXTRA: Final = "extra_content"
THOUGHTS = (*_SPOKEN, _DETAILS)
"""The fields of a message that hold thoughts."""
_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_FIRST_WORD = re.compile(r"[a-z]*")
_WHOSE = re.compile(
    r'\{"wire": ?"(\w+)"(?:, ?"provider": ?"([^"\\]*)"(?:, ?"model": ?"([^"\\]*)")?)?'
)
"""Matches the beginning of `AssistantSaid.native`, on every wire."""


Signed: TypeAlias = Literal["", "extra_content", "reasoning_details"]
NO_FIELDS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Native:
    """The fields that go back with one answer: of the message, and of each call by its place."""

    message: Mapping[str, Any] = field(default_factory=lambda: NO_FIELDS)
    calls: Sequence[Mapping[str, Any]] = ()


NOTHING = Native()


def native_of(said: Message, provider: str, model: str) -> Native:
    """Return the fields of an answer that go back to this service; `NOTHING` if another gave it."""
    if not isinstance(said, AssistantSaid) or not said.native:
        return NOTHING
    kept: dict[str, Any] = json.loads(said.native)
    if kept.get("wire") != _WIRE or kept.get("provider") != provider:
        return NOTHING
    if family(kept["model"]) != family(model):
        return NOTHING
    calls = cast("list[dict[str, Any]]", kept["calls"])
    return Native(kept["message"], calls if len(calls) == len(said.calls) else ())


def sent_of(said: AssistantSaid, provider: str, model: str) -> tuple[str, ...]:
    """Return the texts of an answer that are sent to that model, to estimate their tokens.

    They are its words, its calls, and its `native` if that goes back to the model; Gemini reads its
    `native` instead. Only its beginning is parsed, since a turn asks this for hundreds of answers.
    """
    told = (said.text, *(text for call in said.calls for text in (call.name, call.arguments)))
    whose = _WHOSE.match(said.native) if said.native else None
    if whose is None:
        return told
    wire, by, of = whose.groups("")
    if wire == "gemini":
        return (said.native,) if provider == "gemini" else told
    same = of == model if wire == "responses" else not of or family(of) == family(model)
    return (*told, said.native) if by == provider and same else told


def family(model: str) -> str:
    """Return the maker and the first word of a model's name; other families cannot read its
    thoughts."""
    maker, _, name = model.lower().removeprefix("models/").rpartition("/")
    first = _FIRST_WORD.match(name)
    return f"{maker}/{first[0] if first else ''}"


def wants_thoughts(provider: str, model: str) -> bool:
    """Whether answers in the history need thoughts, also those of other models.

    Source: MoonshotAI/kimi-cli#2141, continuedev/continue#11806 (March to May 2026).
    """
    name = model.lower().rpartition("/")[2]
    return provider == "deepseek" or name.startswith(("kimi-", "deepseek-"))


def signed_in(provider: str, base_url: str, model: str) -> Signed:
    """Return the field in which a call says that it has no signature; only Gemini wants that.

    At OpenRouter in one entry of the message, which names the first call (RooCodeInc/Roo-Code
    #10640, January 2026); elsewhere in the first call, as at Google's compatible address.
    """
    name = model.lower().rpartition("/")[2]
    if not name.startswith("gemini-") or not wants_signatures(name):
        return ""
    return _DETAILS if is_at("openrouter", provider, base_url) else _EXTRA


def wants_signatures(name: str) -> bool:
    """Whether a model of Google's refuses calls without signatures."""
    return not name.startswith(_UNSIGNED)


def is_at(service: str, provider: str, base_url: str) -> bool:
    """Whether the service is `service`, by its name in the configuration or by its address."""
    return service in (provider, *re.split(r"[/.:]", base_url.lower()))


def sendable_id(call_id: str) -> str:
    """Return nine letters and digits as the id of a call that another service, or we, named."""
    if _NINE.fullmatch(call_id):
        return call_id
    digest = hashlib.blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return base64.b32encode(digest)[:9].decode()


def signed(message: dict[str, Any], where: Signed) -> dict[str, Any]:
    """Return a message with calls that says so where they have no signature."""
    first: dict[str, Any] = message["tool_calls"][0]
    if where == _EXTRA and _EXTRA not in first:
        extra = {_EXTRA: {"google": {"thought_signature": FOREIGN}}}
        return message | {"tool_calls": [first | extra, *message["tool_calls"][1:]]}
    if where == _DETAILS and _DETAILS not in message:
        detail = {"type": "reasoning.encrypted", "data": FOREIGN, "id": first["id"], "index": 0}
        return message | {_DETAILS: [detail | {"format": "google-gemini-v1"}]}
    return message


def _unsigned(said: AssistantSaid, provider: str, model: str) -> AssistantSaid:
    """Return an answer without what only the key and the model can read that made it; itself if
    nothing of that goes to this model."""
    if not said.native or said.native not in sent_of(said, provider, model):
        return said
    kept: dict[str, Any] = json.loads(said.native)
    if kept.get("wire") != _WIRE:
        return replace(said, native="")
    if "thoughts" in kept:
        return said
    message, *calls = (
        {name: value for name, value in one.items() if name not in (_DETAILS, _EXTRA)}
        for one in (kept["message"], *kept["calls"])
    )
    if (message, calls) == (kept["message"], kept["calls"]):
        return said
    return replace(said, native=json.dumps(kept | {"message": message, "calls": calls}))


_FORGOTTEN_MAX = 2_000


class Forgotten:
    """Signatures and encrypted thoughts that a service did not take back: another key, project,
    route or version of the model made them.

    Sources: "Corrupted thought signature" (docs.apiyi.com/en/faq/gemini-thought-signature-missing,
    15 Oct 2026), `invalid_encrypted_content` (github.com/openai/codex/issues/8119, Dec 2025).
    """

    def __init__(self) -> None:
        self._bare: dict[AssistantSaid, AssistantSaid] = {}

    def forget(self, request: ModelRequest, provider: str, model: str) -> list[AssistantSaid]:
        """Send the answers of this request without them from now on; return those that change."""
        said = [one for one in request.messages if type(one) is AssistantSaid]
        found = {one: _unsigned(one, provider, model) for one in said if one not in self._bare}
        new = {one: bare for one, bare in found.items() if bare != one}
        self._bare |= new
        for one in list(self._bare)[: max(0, len(self._bare) - _FORGOTTEN_MAX)]:
            del self._bare[one]
        return list(new)

    def recall(self, answers: Sequence[AssistantSaid]) -> None:
        """Send them again: it was not for them that the request was refused."""
        for one in answers:
            self._bare.pop(one, None)

    def without(self, request: ModelRequest) -> ModelRequest:
        """Return the request as it is sent."""
        if not self._bare:
            return request
        messages = (
            self._bare.get(one, one) if type(one) is AssistantSaid else one
            for one in request.messages
        )
        return replace(request, messages=tuple(messages))


class Thoughts:
    """Collects the fields of one answer besides words and calls, while its pieces arrive."""

    def __init__(self) -> None:
        self._spoken: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._extra: dict[str, Any] = {}
        self._chars = 0

    def take(self, said: Mapping[str, Any]) -> None:
        """Add the fields of a piece of the message."""
        for name in _SPOKEN:
            piece = said.get(name)
            if isinstance(piece, str) and self._has_room(piece):
                self._spoken.setdefault(name, []).append(piece)
        details = said.get(_DETAILS)
        for detail in cast("list[object]", details) if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._grow(cast("dict[str, Any]", detail))
        self._extra = merged(self._extra, said.get(_EXTRA))

    def native(
        self, provider: str, model: str, ids: Sequence[str], extras: Sequence[Mapping[str, Any]]
    ) -> str:
        """Return `AssistantSaid.native`, "" if there is nothing to send back."""
        whole = self._chars <= _CHARS_MAX
        message: dict[str, Any] = {}
        if ids and whole:
            message |= {name: "".join(pieces) for name, pieces in self._spoken.items()}
        if self._details and whole:
            message[_DETAILS] = self._details
        if self._extra:
            message[_EXTRA] = self._extra
        calls = [
            ({"id": given} if given else {}) | ({_EXTRA: extra} if extra else {})
            for given, extra in zip(ids, extras, strict=True)
        ]
        if not message and not any(calls):
            return ""
        kept = {"wire": _WIRE, "provider": provider, "model": model}
        native = json.dumps(kept | {"message": message, "calls": calls}, ensure_ascii=False)
        return native if len(native) <= NATIVE_CHARS_MAX else ""

    def _grow(self, piece: dict[str, Any]) -> None:
        """Add a piece to the last block, if that is of the same kind and not signed yet, else as a
        new block. `index` alone does not decide: in a stream it is 0 for every block.

        Source: OpenRouterTeam/ai-sdk-provider#423 and #520 (February and July 2026).
        """
        last = self._details[-1] if self._details else {}
        grows = _GROWING.get(str(piece.get("type")))
        if not grows or not _continues(last, piece):
            if self._has_room(piece):
                self._details.append(dict(piece))
            return
        # Fields that a piece only repeats do not count.
        if not self._has_room("".join([str(v) for k, v in piece.items() if v != last.get(k)])):
            return
        said = f"{last.get(grows) or ''}{piece.get(grows) or ''}"
        last |= {key: value for key, value in piece.items() if value is not None}
        if said or grows in last:
            last[grows] = said

    def _has_room(self, piece: object) -> bool:
        self._chars += len(piece) if isinstance(piece, str) else len(json.dumps(piece))
        if self._chars > _CHARS_MAX:
            self._spoken.clear()
            self._details.clear()
        return self._chars <= _CHARS_MAX


def _continues(last: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    same = all(
        last.get(key) == piece.get(key) or last.get(key) is None or piece.get(key) is None
        for key in ("index", "id", "format")
    )
    return same and last.get("type") == piece.get("type") and not last.get("signature")


def merged(old: Mapping[str, Any], new: object) -> dict[str, Any]:
    """Return both objects merged, with the newer value where they differ."""
    found = dict(old)
    for key, value in cast("dict[str, Any]", new).items() if isinstance(new, dict) else ():
        inner: object = found.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            value = merged(cast("dict[str, Any]", inner), cast("object", value))
        found[key] = value
    return found
