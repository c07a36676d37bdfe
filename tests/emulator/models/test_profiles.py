"""What every profile keeps, whatever its family (issue 12, "A body of refusals")."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from aouo.facts.errors import SetupError
from tests.emulator.models.conftest import Ask
from tests.emulator.models.requests import path_of, plain, said_in
from tests.fakes.models import ModelService, names, profile
from tests.fakes.models.profile import Profile, Wire, _parse

EVERY = [(name, wire) for name in names() for wire in profile(name).paths]


@pytest.mark.parametrize("name", names())
def test_every_rule_and_trouble_says_where_it_was_read_and_the_file_when(name: str) -> None:
    found = profile(name)

    parts = [*found.rules, *found.troubles.values(), *found.models.values(), *found.pages]
    assert all(len(part.source) > 5 for part in parts)
    assert found.stream.source
    assert found.caching.source
    assert found.read.isoformat() >= "2026-11-01"


@pytest.mark.parametrize("name", names())
def test_every_trouble_has_a_body_that_says_something(name: str) -> None:
    for trouble in profile(name).troubles.values():
        assert trouble.body
        assert trouble.status >= 400
        json.dumps(trouble.body)


@pytest.mark.parametrize(("name", "wire"), EVERY)
async def test_a_plain_conversation_is_answered_in_the_form_of_its_wire(
    name: str, wire: Wire, ask: Ask
) -> None:
    async with ModelService(profile(name)) as service:
        service.say("Good morning")
        path = path_of(service, wire)

        status, events = await ask(service, path, plain(service.profile, wire))

    assert (status, service.refusals) == (200, [])
    assert said_in(wire, events) == "Good morning"


@pytest.mark.parametrize(("name", "wire"), EVERY)
async def test_a_model_that_nobody_knows_is_refused(name: str, wire: Wire, ask: Ask) -> None:
    async with ModelService(profile(name)) as service:
        body = plain(service.profile, wire, model="gpt-nobody")

        status, _ = await ask(service, path_of(service, wire, "gpt-nobody"), body)

    assert status in (400, 404)
    assert service.refusals[0].trouble == "no_model"


@pytest.mark.parametrize("name", [name for name in names() if profile(name).key != "none"])
async def test_a_wrong_key_is_refused_before_anything_else(name: str, ask: Ask) -> None:
    async with ModelService(profile(name), api_key="another") as service:
        wire = next(iter(service.profile.paths))

        status, _ = await ask(service, path_of(service, wire), plain(service.profile, wire))

    assert status in (400, 401)
    assert [wrong.trouble for wrong in service.refusals] == ["wrong_key"]
    assert service.requests == []


@pytest.mark.parametrize("name", names())
async def test_every_trouble_can_be_called_up_and_the_next_request_is_answered(
    name: str, ask: Ask
) -> None:
    async with ModelService(profile(name)) as service:
        wire = next(iter(service.profile.paths))
        path, body = path_of(service, wire), plain(service.profile, wire)
        for trouble, known in service.profile.troubles.items():
            service.trouble(trouble)

            status, told = await ask(service, path, body)

            assert status == (200 if known.inside else known.status)
            assert not re.search(r"\$[a-z{]", json.dumps(told))
            assert (await ask(service, path, body))[0] == 200


@pytest.mark.parametrize("name", names())
async def test_its_pages_name_the_living_models(name: str, ask: Ask) -> None:
    async with ModelService(profile(name)) as service:
        for page in service.profile.pages:
            asked = {"model": service.profile.model} if page.method == "POST" else None

            status, body = await ask(service, page.path, asked)

            assert status == 200
            assert "$" not in json.dumps(body)
            if page.each:
                told = json.dumps(body)
                assert all(model in told for model in service.profile.living)
                dead = set(service.profile.models) - set(service.profile.living)
                assert not [model for model in dead if f'"{model}"' in told]


def test_an_unknown_service_is_told_the_names_that_there_are() -> None:
    with pytest.raises(SetupError, match="groq, "):
        profile("nobody")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tittle": "x"}, "tittle"),
        ({"title": None}, "title"),
        ({"rules": [{"about": "x", "answer": "nothing", "source": "somewhere"}]}, "nothing"),
        ({"rules": [{"about": "x", "answer": "no_model"}]}, "source"),
        ({"rules": [{"about": "x", "answer": "no_model", "source": "y", "hass": ["z"]}]}, "hass"),
        ({"read": None}, "read"),
        ({"model": "nobody"}, "nobody"),
        ({"models": {"m": {"source": "somewhere", "dead": "buried"}}}, "buried"),
    ],
)
def test_a_broken_profile_is_an_error_that_says_where(change: Any, problem: str) -> None:
    sound: dict[str, Any] = {
        "name": "x",
        "title": "X",
        "read": "2026-11-23",
        "backend": "x",
        "address": "/v1",
        "paths": {"chat": "/v1/chat/completions"},
        "key": "none",
        "model": "m",
        "models": {"m": {"source": "somewhere"}},
        "rules": [],
        "troubles": {"no_model": {"source": "somewhere", "status": 404, "body": "no"}},
        "stream": {"source": "somewhere"},
        "caching": {"source": "somewhere"},
    }
    assert isinstance(_parse(json.dumps(sound), "x.yml"), Profile)
    broken = {key: value for key, value in (sound | change).items() if value is not None}

    with pytest.raises(SetupError, match=problem):
        _parse(json.dumps(broken), "x.yml")
