"""Well-formed requests in each wire's format, and what an answer in it says."""

from __future__ import annotations

from typing import Any

from tests.fakes.models import ModelService
from tests.fakes.models.profile import Body, Profile, Wire

ADD: Body = {
    "name": "add",
    "description": "Add a row.",
    "parameters": {"type": "object", "properties": {"row": {"type": "string"}}},
}


def path_of(service: ModelService, wire: Wire, model: str = "") -> str:
    path = service.profile.paths[wire]
    if wire != "gemini":
        return path
    return f"{path}{model or service.profile.model}:streamGenerateContent?alt=sse"


def plain(profile: Profile, wire: Wire, *, model: str = "", tools: bool = False) -> Body:
    """A greeting; with tools as much as the family takes them."""
    model = model or profile.model
    match wire:
        case "chat":
            said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]
            body: Body = {"model": model, "messages": said, "stream": True}
            return body | ({"tools": [{"type": "function", "function": ADD}]} if tools else {})
        case "responses":
            given = [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
            body = {"model": model, "instructions": "Be kind.", "input": given, "stream": True}
            return body | ({"tools": [{"type": "function"} | ADD]} if tools else {})
        case "gemini":
            contents = [{"role": "user", "parts": [{"text": "Hello"}]}]
            system = {"parts": [{"text": "Be kind."}]}
            body = {"systemInstruction": system, "contents": contents}
            return body | ({"tools": [{"functionDeclarations": [ADD]}]} if tools else {})


def said_in(wire: Wire, events: list[Any]) -> str:
    match wire:
        case "chat":
            deltas = [one["delta"] for event in events for one in event["choices"]]
            return "".join(_text(delta.get("content")) for delta in deltas)
        case "responses":
            kind = "response.output_text.delta"
            return "".join(event["delta"] for event in events if event["type"] == kind)
        case "gemini":
            parts = [p for event in events for p in event["candidates"][0]["content"]["parts"]]
            return "".join(part.get("text", "") for part in parts)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
