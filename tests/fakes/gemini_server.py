"""Gemini's own format on loopback: its profile, for models of any name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.fakes.model_server import Body, ModelServer, Script, family

FOREIGN = "skip_thought_signature_validator"
_DECLINED = {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED"}


class GeminiServer(ModelServer):
    """Scripted like `ModelServer`; it sends its thoughts unasked, and no ids of calls but those
    that it is told."""

    def __init__(self, script: Script | None = None, *, port: int = 0, api_key: str = "") -> None:
        gemini = family("gemini")
        stream = replace(gemini.stream, thoughts="parts", call_ids="none")
        rules = replace(gemini, stream=stream)
        super().__init__(script, port=port, api_key=api_key, rules=rules)

    def decline(self, status: int, name: str = "", *details: Body) -> None:
        """Refuse as the service does: a status, its name, perhaps typed details."""
        self.fail(status, error(status, name or _DECLINED.get(status, "INTERNAL"), *details))

    def fail(
        self, status: int, body: object = None, headers: Mapping[str, str] | None = None
    ) -> None:
        told = body or error(status, _DECLINED.get(status, "INTERNAL"))
        super().fail(status, told, headers)


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
