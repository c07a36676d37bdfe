"""`aouo people` and `aouo ask`: the owner's words in a terminal, with a bot or without one.

Source: issue 29, "Letting in" and "Forget me".
"""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_setup import run


async def test_people_are_let_in_put_out_and_forgotten_at_rest(tmp_path: Path) -> None:
    await run(tmp_path, "init", "--yes", "--owner", "7")
    await run(tmp_path, "pack", "install", "notes", "--yes")
    let_in = await run(tmp_path, "people", "member", "8")
    asked = await run(tmp_path, "ask", "note: buy figs")
    put_out = await run(tmp_path, "people", "out", "8")
    forgotten = await run(tmp_path, "people", "forget", "8", "--yes")
    no_id = await run(tmp_path, "people", "forget")

    assert "• 8: member" in let_in[1]
    assert asked == (0, "Saved: “buy figs”. 1 note now.\n")
    assert "• 8: not let in" in put_out[1]
    assert "It is erased" in forgotten[1]
    assert no_id[0] == 2
