"""The program as a shell sees it: exit codes, one line for an error, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aouo import __version__
from aouo.cli.main import _VERBS, aouo
from aouo.facts.errors import SetupError

ROOT = Path(__file__).parents[2]
HEAVY = ("telegram", "aiohttp", "pydantic", "structlog", "asyncio", "aouo.config.settings")


def test_help_names_every_verb_and_loads_none_of_the_heavy_libraries():
    """`aouo --help` answers at once (contract: each verb imports only what it needs)."""
    program = (
        "import sys\n"
        "from aouo.__main__ import main\n"
        "sys.argv = ['aouo', '--help']\n"
        "try: main()\n"
        "except SystemExit as done: assert not done.code\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "loaded: []"
    assert all(f"  {verb} " in done.stdout for verb in _VERBS["aouo"])


def test_a_shell_completes_verbs():
    words = {"COMP_WORDS": "aouo pack in", "COMP_CWORD": "2", "_AOUO_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "aouo"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **words},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["plain,install", "plain,info"]


def test_every_verb_of_ours_answers_to_help_and_takes_a_home(runner: CliRunner):
    written_elsewhere = {"start", "try", "chat", "dev"}
    for verb in _VERBS["aouo"].keys() - written_elsewhere:
        result = runner.invoke(aouo, [verb, "--help"])

        assert result.exit_code == 0, verb
        assert "--home" in result.output


@pytest.mark.parametrize(
    ("verb", "how"),
    [
        (["config", "set"], "takes it up at once"),
        (["reload"], "config.json and its packs"),
        (["pack", "link"], "aouo reload"),
        (["dev"], "Edits count at once"),
    ],
)
def test_what_changes_a_pack_or_a_setting_says_when_it_counts(
    runner: CliRunner, verb: list[str], how: str
):
    """Packs and settings are taken up while the bot runs (README, "Running")."""
    assert how in " ".join(runner.invoke(aouo, [*verb, "--help"]).output.split())


def test_the_version_is_the_package_s(runner: CliRunner):
    assert runner.invoke(aouo, ["--version"]).output == f"aouo {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["status", "--nonsense"], ["config", "set", "log.level"]]
)
def test_wrong_usage_is_exit_2(runner: CliRunner, arguments: list[str]):
    assert runner.invoke(aouo, arguments).exit_code == 2


def test_a_mistyped_verb_is_answered_with_the_nearest(runner: CliRunner):
    assert "Did you mean status?" in runner.invoke(aouo, ["statsu"]).stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SetupError("It\nis so.", fix="Do this."), 3),
        (SetupError("It is so.", fix="Do this.", exit_code=4), 4),
    ],
)
def test_a_set_up_error_is_one_line_on_stderr_and_its_exit_code(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch, error: SetupError, code: int
):
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr("aouo.cli.status.status", failing)

    result = runner.invoke(aouo, ["status"])

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr == "It is so. Do this.\n"


@pytest.mark.parametrize("order", ["before", "after"])
def test_home_may_stand_before_or_after_the_verb(runner: CliRunner, tmp_path: Path, order: str):
    option = ["--home", str(tmp_path / "other")]
    arguments = [*option, "init"] if order == "before" else ["init", *option]

    assert runner.invoke(aouo, arguments).exit_code == 0
    assert (tmp_path / "other" / "config.json").exists()
