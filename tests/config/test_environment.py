"""Keys in the environment and in files of secrets. Source: issue 30, number 12."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aouo.config import environment
from aouo.config.file import ConfigBroken, parse
from aouo.config.settings import Settings

TOKEN = "123:abc"


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A container's folder of secrets."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setattr(environment, "SECRETS", folder)
    return folder


def read(text: str = "", **environ: str) -> Settings:
    return parse(text, environ).settings


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_secret_is_read_from_its_file_with_and_without_a_last_line_break(
    secrets: Path, ending: str
) -> None:
    (secrets / "telegram__bot_token").write_bytes(f"{TOKEN}{ending}".encode())
    (secrets / "providers__lab__api_key").write_text("sk-1")
    (secrets / "providers__lab__base_url").write_text("http://lab/v1")
    (secrets / "somebody_elses").write_text("x")

    settings = read()

    assert settings.telegram.bot_token.get_secret_value() == TOKEN
    assert settings.providers["lab"].api_key.get_secret_value() == "sk-1"


def test_systemds_credentials_are_read_as_a_containers_secrets_are(tmp_path: Path) -> None:
    (tmp_path / "openai__api_key").write_text("sk-2")

    settings = read(CREDENTIALS_DIRECTORY=str(tmp_path))

    assert settings.openai.api_key.get_secret_value() == "sk-2"


def test_the_file_stands_above_a_secret_but_where_it_is_empty_and_a_variable_above_both(
    secrets: Path,
) -> None:
    for name in ("openai", "groq", "gemini"):
        (secrets / f"{name}__api_key").write_text("of the secret")
    text = '{"openai": {"api_key": "of the file"}, "groq": {"api_key": ""}}'

    settings = read(text, AOUO_GEMINI__API_KEY="of the variable")

    keys = (settings.openai.api_key, settings.groq.api_key, settings.gemini.api_key)
    assert [key.get_secret_value() for key in keys] == [
        "of the file",
        "of the secret",
        "of the variable",
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("openai__api_key", b"x" * 1_000_000, "openai.api_key: .* too long"),
        ("telegramm__bot_token", b"x", "telegramm.bot_token: there is no such key"),
        ("openai__api_key", b"\xff\xfe", "the secrets cannot be read"),
        ("telegram__bot_tokn", b"x", "telegram.bot_tokn"),
    ],
)
def test_a_secret_that_cannot_be_one_is_a_problem_that_names_it(
    secrets: Path, name: str, content: bytes, problem: str
) -> None:
    (secrets / name).write_bytes(content)

    with pytest.raises(ConfigBroken, match=problem):
        read()


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("AOUO_LOGG__LEVEL", "info", "logg"),
        ("AOUO_TELEGRAM__ALLOWED_USER_IDS", "[1,", "telegram.allowed_user_ids: not JSON"),
        ("AOUO_TELEGRAM__STREAMING", "maybe", "AOUO_TELEGRAM__STREAMING"),
    ],
)
def test_a_variable_that_cannot_be_a_problem_names_its_key(
    variable: str, value: str, problem: str
) -> None:
    with pytest.raises(ConfigBroken, match=problem):
        read(**{variable: value})


def test_where_there_is_neither_nothing_is_imported_for_them() -> None:
    code = (
        "import sys; from aouo.config.file import parse; parse('', {}); "
        "print('pydantic_settings' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
