"""Serves the pages of a service besides answers: its models, their windows, its state."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from aouo.emulator.models.judging import filled, refused
from aouo.emulator.models.profile import Body, Model, Page, Profile


def page_for(request: web.Request, data: bytes, profile: Profile) -> web.Response | None:
    """Return the page at a request's path, None = there is none; `data` is the request's body.

    Raises: as `json.loads`, or `AttributeError`, if a POST's body is no JSON object.
    """
    for page in profile.pages:
        if page.each and page.method == request.method == "GET":
            one = request.path.removeprefix(f"{page.path}/")
            if one in profile.models:
                return _one(page, profile, one)
        if (page.method, page.path) != (request.method, request.path):
            continue
        name = _named(data) if page.method == "POST" else ""
        if page.method == "POST" and name not in profile.models:
            wrong = refused(profile, "no_model", None, "no such model", {"model": name})
            return web.json_response(wrong.body, status=wrong.status)
        return web.json_response(_body(page, profile, name or profile.model))
    return None


def _one(page: Page, profile: Profile, name: str) -> web.Response:
    """Return a list's entry of one model as a page."""
    model = profile.models[name]
    if not model.dead:
        return web.json_response(_each(page, name, model))
    wrong = refused(profile, model.dead, None, "the model was shut down", {"model": name})
    return web.json_response(wrong.body, status=wrong.status)


def _named(data: bytes) -> str:
    body: Any = json.loads(data or b"{}")
    return str(body.get("model") or body.get("name") or "")


def _body(page: Page, profile: Profile, name: str) -> Any:
    listed = [_each(page, one, model) for one, model in profile.living.items()]
    facts = _facts(name, profile.models[name]) | {"models": listed}
    return filled(page.body, facts)


def _each(page: Page, name: str, model: Model) -> Body:
    return {**filled(dict(page.each), _facts(name, model)), **model.listed}


def _facts(name: str, model: Model) -> Body:
    return {
        "model": name,
        "path": f"models/{name}",
        "kind": "vlm" if model.sees else "llm",
        "window": model.window,
        "loaded": model.in_force,
        "output": model.output,
        "modalities": ["text", "image"] if model.sees else ["text"],
        "sees": model.sees,
        "shutdown": model.shutdown.isoformat() if model.shutdown else None,
    }
