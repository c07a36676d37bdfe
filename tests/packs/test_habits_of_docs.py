"""The pack that docs/packs.md shows under "Actions" is sound and works as it says."""

from __future__ import annotations

import re
from pathlib import Path

from aouo.packs.authoring import validate
from aouo.packs.data.storage import PackStore
from aouo.packs.load import load_pack

PAGE = Path(__file__).parents[2] / "docs" / "packs.md"
BLOCK = re.compile(r"`habits/([\w./]+)`[^\n]*\n```\w+\n(.*?)```", re.DOTALL)


def written(folder: Path) -> Path:
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    for name, text in blocks:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_it_is_sound_and_short(tmp_path: Path) -> None:
    folder = written(tmp_path)

    assert [str(problem) for problem in validate(folder)] == []
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) == 6
    assert sum(len(file.read_text().splitlines()) for file in files) <= 70


def test_its_statements_change_what_they_say_and_can_be_put_back(tmp_path: Path) -> None:
    pack = load_pack(written(tmp_path)).pack
    assert pack is not None
    store = PackStore(tmp_path / "a.db", pack.manifest, pack.schema_sql)
    actions = pack.declared.actions
    try:
        store.act(actions["add"].sql, {"called": "Running"}, call_id="1", now="n")
        day = {"habit": 1, "today": "2026-03-02"}
        assert store.act(actions["tick"].sql, day, call_id="2", now="n")["changed"] == 1
        assert store.act(actions["tick"].sql, day, call_id="3", now="n")["changed"] == 0
        store.act(actions["drop"].sql, {"habit": 1}, call_id="4", now="n")
        assert store.undo("4", "n")
        assert len(store.read("SELECT * FROM ticks")) == 1
    finally:
        store.close()
