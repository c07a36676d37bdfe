"""The JSON Schema of pack.yml says what loading says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aouo.cli.main import aouo
from aouo.packs.authoring import json_schema
from aouo.packs.format.manifest_text import parse
from aouo.packs.format.texts import read_mapping
from tests.packs.format.test_manifest import EVERYTHING, HEAD, KEYS, VALUES

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
ROOT = Path(__file__).parents[3]
SAMPLES = sorted(ROOT.glob("packs/*/pack.yml")) + sorted(
    ROOT.glob("tests/sample_packs/original*/pack.yml")
)


def accepts(values: Any) -> bool:
    return VALIDATOR.is_valid(values)


def test_the_command_prints_a_schema_of_the_draft_it_names() -> None:
    printed = CliRunner().invoke(aouo, ["pack", "schema"])

    assert json.loads(printed.output) == SCHEMA
    Draft202012Validator.check_schema(SCHEMA)


def test_every_field_has_a_description() -> None:
    def undescribed(name: str, kind: dict[str, Any]) -> list[str]:
        fields: dict[str, dict[str, Any]] = kind.get("properties", {})
        return [f"{name}.{key}" for key, field in fields.items() if not field.get("description")]

    kinds = {"Manifest": SCHEMA, **SCHEMA["$defs"]}
    assert [found for name, kind in kinds.items() for found in undescribed(name, kind)] == []


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.parent.name)
def test_it_accepts_the_sample_packs(file: Path) -> None:
    assert accepts(read_mapping(file.read_text(encoding="utf-8")).values)


def test_it_accepts_every_documented_field() -> None:
    assert accepts(read_mapping(EVERYTHING).values)


@pytest.mark.parametrize(
    "text",
    [
        "name: state\n",
        "name: a__b\n",
        "name: a_\n",
        "version: one\n",
        "permisions: {}\n",
        "permissions: {cron: [1]}\n",
        "context: {memory_policy: some}\n",
        "schema: {scope: everybody}\n",
        "budget: {daily_usd: -1}\n",
        "cron_defaults: [{id: a b, schedule: x, skill: y}]\n",
    ],
)
def test_it_refuses_what_loading_refuses(text: str) -> None:
    values = {**read_mapping(HEAD).values, **read_mapping(text).values}

    assert not accepts(values)
    assert parse(json.dumps(values), strict=True).manifest is None


@given(st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=6))
def test_what_loads_strictly_is_accepted(values: dict[str, object]) -> None:
    whole = {**read_mapping(HEAD).values, **values}
    read = parse(json.dumps(whole), strict=True)

    if read.manifest is not None:
        assert accepts(read_mapping(json.dumps(whole)).values)
