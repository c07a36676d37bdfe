"""The walk of docs/packs.md, "Ten minutes": its files and verbs, as a reader types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aouo.cli.main import aouo
from aouo.plumbing.home import Home

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "packs.md"
_FILE = re.compile(r"^`(shopping/[^`]+)`[^\n]*:\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEP_5 = {
    "version: 0.1.0": "version: 0.2.0",
    "[msg, skill_view, ": "[fetch, msg, skill_view, ",
    "  cron: true": "  cron: true\n  network: [prices.example]",
}


def files_of_the_page() -> dict[str, str]:
    walk = PAGE.read_text("utf-8").partition("## Ten minutes")[2].partition("\n## ")[0]
    return dict(_FILE.findall(walk))


def test_the_pack_of_the_page_is_sound_passes_its_evals_is_shared_and_upgraded(
    runner: CliRunner, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # an upgrade plays evals in a child process

    def run(*arguments: str) -> Result:
        result = runner.invoke(aouo, ["pack", *arguments])
        assert result.exit_code == 0, result.output
        return result

    run("new", "shopping")
    files = files_of_the_page()
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, "utf-8")

    assert run("validate", "shopping").output == "shopping is sound.\n"
    played = json.loads(run("test", "shopping", "--json").stdout)
    assert (played["ok"], len(played["evals"])) == (True, 2)

    run("keygen", "ada.key")
    run("export", "shopping", "--key", "ada.key")
    card = run("install", "shopping-0.1.0.aouo", "--yes").stdout
    manifest = files["shopping/pack.yml"]
    for old, new in _STEP_5.items():
        assert old in manifest
        manifest = manifest.replace(old, new)
    Path("shopping/pack.yml").write_text(manifest, "utf-8")
    schema = files["shopping/schema.sql"]
    Path("shopping/schema.sql").write_text(schema.replace("  price ", "  brand TEXT,\n  price "))
    run("export", "shopping", "--key", "ada.key")
    upgrade = run("upgrade", "shopping", "shopping-0.2.0.aouo", "--yes").stdout

    page = PAGE.read_text("utf-8")
    shown = [line for line in page.splitlines() if line.startswith("• ")]
    assert len(shown) == 8
    assert [line for line in shown if f"{line}\n" not in card + upgrade] == []
    assert run("uninstall", "shopping", "--yes").stdout in page
