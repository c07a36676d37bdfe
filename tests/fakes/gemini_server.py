"""Gemini's own service on loopback that says what a test tells it to, and refuses what it would.

    async with GeminiServer(api_key="k") as server:
        server.say("Hello")
        model = GeminiModel(base_url=server.base_url, ...)

Scripted like `ModelServer`; a request that the real service would not take (a call without its
results, an empty part, a lost signature with a Gemini 3 model, …) gets its 400.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.model_server import Body, Fails, ModelServer, Raw, Says

MODELS = "/v1beta/models/"
FOREIGN = "skip_thought_signature_validator"
_DECLINED = {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED"}


@dataclass(frozen=True, slots=True)
class Thinks(Says):
    """An answer with a signature on its first call, else behind its last words, and perhaps with
    the service's own ids of its calls."""

    signature: str = ""
    call_ids: bool = False


class GeminiServer(ModelServer):
    """The service; an async context manager that listens while it is open."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def decline(self, status: int, name: str = "", *details: Body) -> None:
        """Refuse as the service does: a status, its name, perhaps typed details."""
        self.fail(status, error(status, name or _DECLINED.get(status, "INTERNAL"), *details))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, verb = request.path.partition(":")
        model = path.removeprefix(MODELS)
        if model == path or verb != "streamGenerateContent" or request.query.get("alt") != "sse":
            return _refused(404, error(404, "NOT_FOUND"))
        if self._api_key and request.headers.get("x-goog-api-key") != self._api_key:
            return _refused(400, error(400, "INVALID_ARGUMENT", reason("API_KEY_INVALID")))
        body: Body = json.loads(await request.read())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        if wrong := next(faults(body, signed=model.startswith("gemini-3")), ""):
            return _refused(400, error(400, "INVALID_ARGUMENT", message=wrong))
        match self._next(body):
            case Fails() as fails:
                refusal = fails.body or error(fails.status, _DECLINED.get(fails.status, "INTERNAL"))
                return _refused(fails.status, refusal, dict(fails.headers))
            case Raw() as raw:
                return await self._write(request, list(raw.pieces), raw.content_type, cut=raw.cut)
            case says:
                pieces = [b"data: %b\r\n\r\n" % json.dumps(c).encode() for c in chunks(says)]
                return await self._write(
                    request,
                    pieces if says.cut_after is None else pieces[: says.cut_after],
                    cut=says.cut_after is not None,
                    stall_after=says.stall_after,
                )

    def _next(self, body: Body) -> Says | Fails | Raw:
        if self._script is not None:
            reply = self._script(body)
            return Says(reply) if isinstance(reply, str) else reply
        return self._replies.popleft() if self._replies else Says(last_words(body))


def last_words(body: Body) -> str:
    """What the last words of a user say."""
    for content in reversed(body["contents"]):
        if content["role"] == "user" and "text" in content["parts"][-1]:
            return str(content["parts"][-1]["text"])
    return ""


def error(status: int, name: str, *details: Body, message: str = "") -> Body:
    told = {"code": status, "message": message or f"status {status}", "status": name}
    return {"error": told | ({"details": list(details)} if details else {})}


def reason(name: str) -> Body:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": name,
        "domain": "googleapis.com",
    }


def over_quota(span: str) -> Body:
    """The detail that names the limits that were reached, of a "PerMinute" or a "PerDay"."""
    named = f"GenerateRequests{span}PerProjectPerModel-FreeTier"
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": named}],
    }


def retry_in(seconds: float) -> Body:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}


def _is_empty(part: Body) -> bool:
    """Empty words are fine where they carry a signature: the service sends such parts itself."""
    return not part.get("text", "-") and "thoughtSignature" not in part


def faults(body: Body, *, signed: bool) -> Iterator[str]:
    """What the service would refuse in a request."""
    contents: list[Body] = body.get("contents", [])
    if not contents or contents[0]["role"] != "user":
        yield "a conversation begins with a user's turn"
    for at, content in enumerate(contents):
        if content["role"] not in ("user", "model"):
            yield f"there is no role {content['role']}"
        if not content["parts"] or any(map(_is_empty, content["parts"])):
            yield "an empty part"
        calls = [part for part in content["parts"] if "functionCall" in part]
        after = contents[at + 1]["parts"] if at + 1 < len(contents) else []
        results = [part["functionResponse"] for part in after if "functionResponse" in part]
        named = [{"name": r["name"], "id": r.get("id")} for r in results]
        if [_named(call) for call in calls] != (named if calls else []):
            yield "each call of a turn is answered in the very next one, in order"
        if any(not isinstance(result["response"], dict) for result in results):
            yield "a response is an object"
        if calls and signed and not calls[0].get("thoughtSignature"):
            yield "a function call misses its thought_signature"
    if before := [c for c in contents if c["role"] == "model" and not _has_words(c)]:
        yield f"a model's turn says nothing: {before}"


def chunks(says: Says) -> list[Body]:
    """The events of an answer, each with the totals so far."""
    thinks = says if isinstance(says, Thinks) else Thinks()
    size = max(1, -(-len(says.text) // max(1, says.chunks)))
    parts: list[Body] = [{"text": says.thoughts, "thought": True}] if says.thoughts else []
    parts += [{"text": says.text[at : at + size]} for at in range(0, len(says.text), size)]
    for at, call in enumerate(says.calls):
        function: Body = {"name": call.tool, "args": json.loads(call.text)}
        parts.append({"functionCall": function | ({"id": f"fc-{at}"} if thinks.call_ids else {})})
    if thinks.signature:
        signed = next((part for part in parts if "functionCall" in part), None)
        if signed is None:
            parts.append(signed := {"text": ""})
        signed["thoughtSignature"] = thinks.signature
    events = [_event(says, [part]) for part in parts] or [_event(says, [])]
    events[-1]["candidates"][0]["finishReason"] = says.reason or "STOP"
    return events


def _event(says: Says, parts: list[Body]) -> Body:
    event: Body = {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]}
    if says.usage:
        prompt, cached, said = says.usage
        event["usageMetadata"] = {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": said - says.reasoning_tokens,
            "thoughtsTokenCount": says.reasoning_tokens,
            "totalTokenCount": prompt + said,
        }
    return event | {"modelVersion": "gemini-fake", "responseId": "r1"}


def _named(call: Body) -> Body:
    return {"name": call["functionCall"]["name"], "id": call["functionCall"].get("id")}


def _has_words(content: Body) -> bool:
    return any(part.keys() & {"text", "functionCall"} for part in content["parts"])


def _refused(status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
    if isinstance(body, str):
        return web.Response(status=status, text=body, headers=headers)
    return web.json_response(body, status=status, headers=headers)
