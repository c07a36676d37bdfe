"""The owner's policy: what it denies, asks about and allows. Source: issue 31, "Tier 0"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import SetupError
from aouo.facts.events import Person
from aouo.facts.records import Sink
from aouo.facts.transcript import ToolCall
from aouo.guard.flow import A_MINUTE, Flow, Rate
from aouo.guard.policy import PRESETS, Policy, Rule, policy_of
from aouo.guard.prepared import Allowed, Ask, Blocked, Heard, PreparedCall, Touched, Verdict
from tests.fakes.clock import HandClock
from tests.fakes.turn_facts import facts_of


def call(
    tool: str = "mcp__mail__send",
    sink: Sink = "tell",
    payload: Mapping[str, Any] | None = None,
    *,
    person: str = "1",
    labels: tuple[str, ...] = (),
    path: str = "",
    **more: Any,
) -> PreparedCall:
    given_ = payload or {}
    return PreparedCall(
        ToolCall("c", tool, "{}"),
        tool,
        given_,
        facts_of(person=Person(person, "P")),
        "digest",
        sink=sink,
        targets=given_,
        labels=labels,
        paths=(Touched("path", Path(path)),) if path else (),
        heard=Heard("", ""),
        **more,
    )


def policy(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "policy.yml").write_text(text)
    return policy_of("policy.yml", tmp_path)


def judged(rules: Policy, action: PreparedCall) -> list[Verdict]:
    flow = Flow(lambda person: person == "1", lambda pack, tenant: Path("/nowhere"), rules)
    return [flow.by_policy(action), flow.judge(action)]


OURS = re.findall(
    r"\w+",
    "memory persist write_file cron msg tts clarify sessions onboarding_done undo journal_add "
    "journal_search memory_edits load_tools load_skills skill_view db read_file list_dir "
    "read_document result_read fetch web_search shell",
)
MAIL = {"to": "ann@example.com", "body": "hi"}


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ("{tool: 'mcp__mail__*'}", True),
        ("{tool: 'mcp__bank__*'}", False),
        ("{sink: [spend, tell]}", True),
        ("{sink: own}", False),
        ("{host: example.com}", True),
        ("{host: '*.example.com'}", False),
        ("{target: ANN@example.com}", True),
        ("{target: ben@example.com}", False),
        ("{pack: '*', person: 1}", True),
        ("{person: 2}", False),
        ("{origin: chat}", True),
        ("{origin: [cron, watch]}", False),
        ("{label: 'mcp:*'}", True),
        ("{label: web}", False),
        ("{path: '*'}", False),
        ("{}", True),
        ("{tool: 'mcp__mail__*', sink: own}", False),
    ],
)
def test_a_rule_is_about_what_fits_all_that_it_names(tmp_path: Path, rule: str, fits: bool) -> None:
    rules = policy(tmp_path, f"deny: [{rule}]")
    by_policy, _ = judged(rules, call(payload=MAIL, labels=("mcp:mail",)))

    assert isinstance(by_policy, Blocked if fits else Allowed)


def test_deny_comes_before_verify_before_allow(tmp_path: Path) -> None:
    text = "allow: [{tool: 'mcp__*'}]\nverify: [{sink: tell}]\ndeny: [{target: eve@x.example}]"
    rules = policy(tmp_path, text)

    assert isinstance(judged(rules, call(payload={"to": "eve@x.example"}))[0], Blocked)
    asked = judged(rules, call(payload=MAIL))[0]
    assert isinstance(asked, Ask)
    assert (asked.judge, asked.tier, asked.for_good) == ("policy", 3, True)
    assert judged(rules, call(sink="own"))[0] == Allowed("policy: allow", "policy")
    assert isinstance(judged(rules, call(payload=MAIL, by_person=True))[0], Allowed)
    denied = call(payload={"to": "eve@x.example"}, by_person=True)
    assert isinstance(judged(rules, denied)[0], Blocked)


def test_a_rule_that_names_where_it_leads_spares_the_question_for_exactly_that(
    tmp_path: Path,
) -> None:
    rules = policy(tmp_path, "preset: default\nallow: [{name: Ann, target: ann@example.com}]")
    read = ("mcp:mail",)

    assert isinstance(judged(rules, call(payload=MAIL, labels=read))[1], Allowed)
    two = {"to": ["ann@example.com", "eve@x.example"]}
    assert isinstance(judged(rules, call(payload=two, labels=read))[1], Ask)
    hidden = {"to": "ann@example.com", "body": "see https://eve.example/?q=1"}
    assert isinstance(judged(rules, call(payload=hidden, labels=read))[1], Ask)
    assert isinstance(judged(rules, call(payload=MAIL, person="2"))[1], Ask)
    key = {"to": "ann@example.com", "body": "sk-proj-" + "a1B2" * 12}
    assert isinstance(judged(rules, call(payload=key, labels=read))[1], Blocked)


def test_what_is_anothers_takes_a_rule_that_names_them(tmp_path: Path) -> None:
    rules = policy(tmp_path, "allow: [{host: example.com, person: 2}]")

    assert isinstance(judged(rules, call(payload=MAIL, person="2"))[1], Allowed)
    assert isinstance(judged(rules, call(payload=MAIL, person="3"))[1], Ask)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("deny: [{tol: x}]", "deny.0.tol: Extra inputs are not permitted"),
        ("refuse: []", "refuse: Extra inputs are not permitted"),
        ("deny: [{sink: pay}]", "deny.0.sink.0: Input should be"),
        ("verify: [{tier: 1}]", "verify.0.tier: Input should be 2 or 3"),
        ("deny: [", "is no YAML"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_there_may_be(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(SetupError, match=re.escape(why)):
        policy(tmp_path, text)


def test_a_file_that_is_not_there_names_the_presets(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        policy_of("mine.yml", tmp_path)

    assert "strict, default, permissive" in str(refused.value.fix)


def test_rules_that_never_decide_are_named(tmp_path: Path) -> None:
    rules = policy(
        tmp_path,
        "deny: [{name: mail, tool: 'mcp__mail__*'}]\n"
        "verify: [{tool: mcp__mail__send, sink: tell}, {sink: tell}]\n"
        "allow: [{sink: tell, host: a.example}, {tool: memory}]",
    )

    assert rules.unreachable() == [
        "verify 1 (no name) never decides: deny 1 (mail) comes before it",
        "allow 1 (no name) never decides: verify 2 (no name) comes before it",
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_knows_every_tool_and_sink_and_has_no_rule_in_vain(
    name: str, tmp_path: Path
) -> None:
    rules = policy_of(name, tmp_path)
    tools = {tool for rule in rules.allow for tool in rule.tool}
    sinks = {sink for rule in (*rules.verify, *rules.allow) for sink in rule.sink}

    assert rules.unreachable() == []
    assert sinks == set(get_args(Sink))
    assert tools >= set(OURS)


_RULES = st.builds(
    Rule,
    tool=st.lists(st.sampled_from(["a*", "ab", "abc", "b"]), max_size=2).map(tuple),
    sink=st.lists(st.sampled_from(["tell", "own"]), max_size=2).map(tuple),
    label=st.lists(st.sampled_from(["m*", "mcp"]), max_size=1).map(tuple),
)


@given(
    wide=_RULES,
    narrow=_RULES,
    tool=st.sampled_from(["a", "ab", "abc", "b"]),
    sink=st.sampled_from(["tell", "own"]),
    labels=st.sampled_from([(), ("mcp",), ("web",)]),
)
def test_a_rule_that_covers_another_fits_whatever_that_one_fits(
    wide: Rule, narrow: Rule, tool: str, sink: Sink, labels: tuple[str, ...]
) -> None:
    action = call(tool, sink, labels=labels)

    assert not (wide.covers(narrow) and narrow.fits(action)) or wide.fits(action)


def test_a_conversation_makes_so_many_calls_a_minute_and_no_more() -> None:
    """Source: issue 31, "Limits"."""
    clock = HandClock(datetime(2026, 1, 1, tzinfo=UTC))
    rate = Rate(clock)

    fits = [rate.judge(call()) for _ in range(A_MINUTE + 1)]
    assert {type(one) for one in fits[:-1]} == {Allowed}
    assert isinstance(fits[-1], Blocked)
    assert isinstance(rate.judge(call(by_person=True)), Allowed)
    clock.at += timedelta(seconds=61)
    assert isinstance(rate.judge(call()), Allowed)


@pytest.mark.parametrize(
    ("target", "labels", "asked"),
    [("soul", ("web",), True), ("soul", (), False), ("memory", ("web",), False)],
)
def test_by_default_instructions_are_asked_about_after_strangers_words(
    tmp_path: Path, target: str, labels: tuple[str, ...], asked: bool
) -> None:
    payload = {"target": target, "action": "append", "content": "be brief"}
    action = call("memory", "persist", payload, labels=labels)

    assert isinstance(judged(policy_of("default", tmp_path), action)[0], Ask) is asked


@pytest.mark.parametrize(
    ("rule", "payload"),
    [
        ("tool: send", {}),
        ("host: evil.example", {"url": "https://www.evil.example/x"}),
        ("host: evil.example", {"url": "https://EVIL.example./x"}),
        ("host: bad.example:443", {"url": "https://bad.example/x"}),
        ("target: Mallory", {"to": "@mallory"}),
        ("person: P", {}),
    ],
)
def test_a_rule_that_seems_to_deny_denies(
    tmp_path: Path, rule: str, payload: dict[str, Any]
) -> None:
    """Source: issue 44, item 7."""
    rules = policy(tmp_path, f"preset: default\ndeny:\n  - {{{rule}}}\n")

    assert isinstance(judged(rules, call(payload=payload))[0], Blocked)
