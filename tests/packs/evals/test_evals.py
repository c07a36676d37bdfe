"""`evals/*.yml`: what may stand in it, and what its expectations mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import PackError
from aouo.packs.authoring import validate
from aouo.packs.data.storage import PackStore
from aouo.packs.evals import process as eval_rows
from aouo.packs.evals.cases import (
    Eval,
    Expect,
    ExpectedCall,
    ExpectedRows,
    Reply,
    Step,
    _parse,
    load,
)
from aouo.packs.evals.checks import Seen, SeenCall, failures
from aouo.packs.load import load_pack
from tests.packs.writing import MakePack

NOW = "2026-11-22T10:00:00.000Z"

WHOLE = """\
name: a word is kept and asked for
language: de-at
start: {words: [{word: Haus, meaning: house}]}
memory: {USER.md: "- Learns German."}
steps:
  - say: "add Baum"
    model:
      - call: persist
        arguments: {action: upsert, data: {word: Baum}}
      - say: "Kept **Baum**."
    expect:
      reply: "Kept"
      not_reply: [error, sorry]
      reply_matches: "B..m"
      buttons: [Again]
      calls: [persist, {name: persist, arguments: {action: upsert}}]
      not_calls: fetch
      rows: [{table: words, where: {word: Baum}}]
      memory: {USER.md: German}
      model_calls: 2
      prompt_bytes_max: 6144
      cost_usd_max: 0.01
  - tap: Again
"""


def said(text: str) -> list[str]:
    return [str(problem) for problem in _parse(text, "evals/a.yml")[1]]


def wrong(expect: Expect, seen: Seen, rows: int = 0) -> list[str]:
    return list(failures(expect, seen, lambda wanted: rows))


def test_a_whole_eval_is_read() -> None:
    found, problems = _parse(WHOLE, "evals/word.yml")

    assert problems == ()
    assert found is not None
    assert found.lines == (6, 23)
    assert found.steps[0].model[1] == Reply(say="Kept **Baum**.")
    assert found.steps[0].expect == Expect(
        reply=("Kept",),
        not_reply=("error", "sorry"),
        reply_matches=("B..m",),
        buttons=("Again",),
        calls=(ExpectedCall("persist"), ExpectedCall("persist", {"action": "upsert"})),
        not_calls=("fetch",),
        rows=(ExpectedRows("words", {"word": "Baum"}),),
        memory={"USER.md": ("German",)},
        model_calls=2,
        prompt_bytes_max=6144,
        cost_usd_max=0.01,
    )


def test_an_eval_is_named_by_its_file_unless_it_says_else() -> None:
    found, _ = _parse("steps: [{say: hi}]", "evals/greets-back.yml")

    assert found == Eval(
        (Step("hi"),), name="greets-back", file="evals/greets-back.yml", lines=(1,)
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "evals/a.yml: steps: is required"),
        ("steps: []", "evals/a.yml:1: steps: must not be empty"),
        ("- a", "evals/a.yml:1: must be a mapping of keys to values"),
        ("steps: [", "not valid YAML"),
        ("step: [{say: hi}]", 'evals/a.yml:1: step: unknown key; did you mean "steps"?'),
        ("file: x\nsteps: [{say: hi}]", "evals/a.yml:1: file: unknown key"),
        ("model: fake\nsteps: [{say: hi}]", "evals/a.yml:1: model: input should be 'scripted'"),
        ("steps: [{sai: hi}]", 'steps[0].sai: unknown key; did you mean "say"?'),
        ("steps: [{}]", "steps[0]: needs either say (words) or tap"),
        ("steps:\n  - say: a\n    tap: b", "evals/a.yml:2: steps[0]: needs either say"),
        ("steps: [{say: a, model: [{}]}]", "steps[0].model[0]: needs say, call or calls"),
        (
            "steps: [{say: a, model: [{call: x, calls: [{call: y}]}]}]",
            "steps[0].model[0]: has call and calls",
        ),
        (
            "steps: [{say: a, model: [{say: x, arguments: {a: 1}}]}]",
            "steps[0].model[0].arguments: belongs to call",
        ),
        ("model: real\nsteps: [{say: a, model: [{say: x}]}]", "a real model answers here"),
        ("steps: [{say: a, expect: {reply: [1]}}]", "expect.reply[0]: input should be a valid"),
        ("steps: [{say: a, expect: {reply_matches: (}}]", "is not a regular expression"),
        ("steps: [{say: a, expect: {memory: {X.md: y}}}]", "X.md: is not a memory file"),
        ("steps: [{say: a, expect: {rows: [{table: a b}]}}]", "table: is not a table name"),
        ("steps: [{say: a, expect: {rows: [{tabel: a}]}}]", 'did you mean "table"?'),
        ("steps: [{say: a, expect: {calls: [{nam: a}]}}]", 'did you mean "name"?'),
        ("steps: [{say: a, expect: {model_calls: -1}}]", "greater than or equal to 0"),
        ("start: {a b: []}\nsteps: [{say: a}]", "start.a b: is not a table name"),
        ("memory: {USER: x}\nsteps: [{say: a}]", 'did you mean "USER.md"?'),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, problem: str) -> None:
    assert any(problem in line for line in said(text)), said(text)


def test_one_mistake_hides_no_other() -> None:
    text = """steps:
  - say: hi
    model: [{say: x}]
    expect: {reply_matches: "(", buttons: 5}
  - expect: {memory: {USR.md: x}}
  - tap: 5
"""

    assert [str(problem) for problem in _parse(text, "evals/x.yml")[1]] == [
        "evals/x.yml:4: steps[0].expect.buttons: must be a list",
        "evals/x.yml:4: steps[0].expect.reply_matches[0]: is not a regular expression: "
        "missing ), unterminated subpattern at position 0",
        "evals/x.yml:5: steps[1]: needs either say (words) or tap (the label of a button)",
        "evals/x.yml:5: steps[1].expect.memory.USR.md: is not a memory file; "
        'did you mean "USER.md"?',
        "evals/x.yml:6: steps[2].tap: input should be a valid string, not 5",
    ]


@given(st.text(max_size=60))
def test_any_text_is_an_eval_or_has_a_problem(text: str) -> None:
    found, problems = _parse(text, "evals/a.yml")

    assert (found is None) == bool(problems)


def test_a_broken_eval_makes_a_pack_unsound_and_keeps_it_loading(make_pack: MakePack) -> None:
    folder = make_pack(files={"evals/a.yml": "step: 1", "evals/b.yml": "steps: [{say: hi}]"})

    assert [str(problem) for problem in validate(folder)] == [
        "evals/a.yml: steps: is required",
        'evals/a.yml:1: step: unknown key; did you mean "steps"?',
    ]
    assert load_pack(folder).pack is not None
    assert [found.name for found in load(folder)[0]] == ["b"]


@pytest.mark.parametrize(
    ("expect", "seen"),
    [
        (Expect(reply=("Kept",)), Seen(("Kept.",))),
        (Expect(not_reply=("error",)), Seen(("Kept.",))),
        (Expect(reply_matches=("^K.pt",)), Seen(("Kept.",))),
        (Expect(buttons=("b", "a")), Seen(buttons=("a", "b"))),
        (Expect(calls=()), Seen()),
        (Expect(calls=(ExpectedCall("b"),)), Seen(calls=(SeenCall("a", {}), SeenCall("b", {})))),
        (
            Expect(calls=(ExpectedCall("a", {"data": {"word": "x"}}),)),
            Seen(calls=(SeenCall("a", {"data": '{"word": "x", "n": 1}', "table": "t"}),)),
        ),
        (Expect(failed_calls=("a",)), Seen(calls=(SeenCall("a", {}, "no"),), scripted=0)),
        (Expect(memory={"USER.md": ("x",)}), Seen(memory={"USER.md": "xy"})),
        (Expect(model_calls=2), Seen(model_calls=2)),
        (Expect(prompt_bytes_max=10), Seen(prompt_bytes=10)),
        (Expect(cost_usd_max=0.1), Seen(cost_usd=0.1)),
    ],
)
def test_what_was_expected_and_seen_is_no_failure(expect: Expect, seen: Seen) -> None:
    assert wrong(expect, seen) == []


@pytest.mark.parametrize(
    ("expect", "seen", "told"),
    [
        (Expect(reply=("Kept",)), Seen(("No.",)), "a reply with 'Kept'"),
        (Expect(not_reply=("No",)), Seen(("No.",)), "no reply with 'No'"),
        (Expect(reply_matches=("^K",)), Seen(("No.",)), "a reply that matches '^K'"),
        (Expect(buttons=("a",)), Seen(buttons=("b",)), "the button 'a'; there are 'b'"),
        (Expect(calls=()), Seen(calls=(SeenCall("a", {}),)), "no tool call"),
        (
            Expect(calls=(ExpectedCall("a"), ExpectedCall("b"))),
            Seen(calls=(SeenCall("b", {}), SeenCall("a", {}))),
            "the call b, in this order",
        ),
        (
            Expect(calls=(ExpectedCall("a"),)),
            Seen(calls=(SeenCall("a", {}, "no such table"),)),
            "the call a, in this order",
        ),
        (
            Expect(),
            Seen(calls=(SeenCall("a", {}, "no such table"),), model_calls=1, scripted=1),
            "the scripted call a to work; it failed: no such table",
        ),
        (Expect(failed_calls=("a",)), Seen(calls=(SeenCall("a", {}),)), "the call a to fail"),
        (Expect(not_calls=("a",)), Seen(calls=(SeenCall("a", {}, "no"),)), "no call of a"),
        (
            Expect(),
            Seen(model_calls=1, scripted=2),
            "the model to be asked 2 times, as `model` is written; it was asked once",
        ),
        (Expect(rows=(ExpectedRows("t", {"a": 1}),)), Seen(), '1 row in t where {"a": 1}; there'),
        (
            Expect(memory={"USER.md": ("x",)}),
            Seen(memory={"USER.md": "y"}),
            "'x' in USER.md, which holds 'y'",
        ),
        (Expect(model_calls=2), Seen(model_calls=1), "2 model calls; there were 1"),
        (Expect(prompt_bytes_max=10), Seen(prompt_bytes=11), "at most 10 bytes; it had 11"),
        (Expect(cost_usd_max=0.1), Seen(cost_usd=0.2), "at most $0.1; it was $0.2"),
    ],
)
def test_what_was_expected_and_not_seen_is_told(expect: Expect, seen: Seen, told: str) -> None:
    found = wrong(expect, seen)

    assert len(found) == 1
    assert told in found[0]


def test_rows_are_put_in_and_counted_by_value(make_pack: MakePack, tmp_path: Path) -> None:
    file = _database(make_pack, tmp_path)
    row = {"name": "a", "created_at": "2026-01-01"}
    eval_rows.put_rows(file, {"Items": [row, row | {"name": "b", "count": 2}]}, NOW)

    assert eval_rows.count_rows(file, "items", {}) == 2
    assert eval_rows.count_rows(file, "items", {"count": 2}) == 1
    assert eval_rows.count_rows(file, "items", {"session_id": None}) == 2
    assert [row["name"] for row in eval_rows.newest_row(file, "items")] == ["b", "a"]


def test_the_times_that_persist_fills_in_need_not_be_written(
    make_pack: MakePack, tmp_path: Path
) -> None:
    file = _database(make_pack, tmp_path)
    eval_rows.put_rows(file, {"items": [{"name": "a"}, {"name": "b", "Created_At": "2020"}]}, NOW)

    assert eval_rows.count_rows(file, "items", {"created_at": NOW}) == 1
    assert eval_rows.count_rows(file, "items", {"created_at": "2020"}) == 1


@pytest.mark.parametrize(
    ("table", "row", "told"),
    [
        ("itms", {}, "there is no table 'itms' in this pack; did you mean \"items\"?"),
        ("items", {"nam": 1}, "has no column 'nam'; did you mean \"name\"?"),
        ("items", {"created_at": "2026"}, "start.items: NOT NULL constraint failed"),
    ],
)
def test_rows_that_do_not_fit_are_told_and_none_is_put_in(
    make_pack: MakePack, tmp_path: Path, table: str, row: dict[str, Any], told: str
) -> None:
    file = _database(make_pack, tmp_path)
    good = {"name": "a", "created_at": "2026-01-01"}
    with pytest.raises(PackError) as refused:
        eval_rows.put_rows(file, {"items": [good], table: [good, row]}, NOW)

    assert told in str(refused.value)
    assert eval_rows.count_rows(file, "items", {}) == 0


def _database(make_pack: MakePack, tmp_path: Path) -> Path:
    pack = load_pack(make_pack()).pack
    assert pack is not None
    file = tmp_path / "pack.db"
    PackStore(file, pack.manifest, pack.schema_sql).close()
    return file


def test_the_name_of_an_eval_is_one_short_line_that_a_terminal_does_not_obey() -> None:
    for name in ("\\e[2Jpassed", "a\\nb", "a" * 201):
        found, problems = _parse(f'name: "{name}"\nsteps: [{{say: hi}}]\n', "evals/a.yml")

        assert (found, problems[0].field) == (None, "name")
