"""Describes the endpoints as OpenAPI 3.1, from the same rows that answer them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from aouo import __version__
from aouo.dashboard.endpoints import NAME_MAX, Endpoint
from aouo.plumbing.verbs import Facts, fields_of

_ANSWERS = {
    "200": "The facts.",
    "400": "A value is not what it has to be; `error` says which.",
    "401": "The token is missing or wrong.",
    "403": "Another page asks, or another name leads here, or the page's token is missing.",
    "404": "There is nothing of that name.",
    "409": "It cannot be done as things are; `error` says why.",
    "413": "There is too much to show, or to take.",
    "429": "Twenty wrong tokens came within a minute.",
}
_ANSWERS_FREE = {
    "200": "It is well.",
    "403": _ANSWERS["403"],
    "503": "It is not; `reasons` say why.",
}
_GIVES = {"facts": "application/json", "file": "*/*", "frames": "text/event-stream"}
_TYPES: dict[type, Facts] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    dict: {"type": "object"},
}


def document(endpoints: Sequence[Endpoint]) -> Facts:
    """Return the document that describes the endpoints."""
    paths: dict[str, Facts] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "aouo", "version": __version__},
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Aouo-Token"},
            }
        },
        "security": [{"bearer": []}, {"header": []}],
        "paths": paths,
    }


def _operation(endpoint: Endpoint) -> Facts:
    answers = _ANSWERS if endpoint.needs_token else _ANSWERS_FREE
    facts: Facts = {
        "summary": endpoint.about,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": _NAME}
                for name in endpoint.names
            ),
            *(
                {"name": one.name, "in": "query", "description": one.about, "schema": one.schema}
                for one in endpoint.query
            ),
        ],
        "responses": {
            status: {
                "description": about,
                "content": {
                    _GIVES[endpoint.gives if status == "200" else "facts"]: {
                        "schema": {} if status == "200" and endpoint.gives != "facts" else _OBJECT
                    }
                },
            }
            for status, about in answers.items()
        },
    }
    if endpoint.body:
        content = {"application/json": {"schema": _body_schema(endpoint)}}
        facts["requestBody"] = {"required": True, "content": content}
    if endpoint.takes_file:
        any_bytes: Facts = {"application/octet-stream": {"schema": {}}}
        facts["requestBody"] = {"required": True, "content": any_bytes}
    return facts if endpoint.needs_token else {**facts, "security": []}


_NAME: Facts = {"type": "string", "minLength": 1, "maxLength": NAME_MAX}
_OBJECT: Facts = {"type": "object"}


def _body_schema(endpoint: Endpoint) -> Facts:
    """Return the schema of the object that a request brings."""
    fields = fields_of(endpoint.answer, endpoint.in_address)
    return {
        "type": "object",
        "properties": {name: _TYPES[kind] for name, (kind, _) in fields.items()},
        "required": [name for name, (_, is_required) in fields.items() if is_required],
    }
