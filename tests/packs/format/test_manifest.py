"""What `pack.yml` may say, and how we say what is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo import __version__
from aouo.packs.format.manifest import Dependency, Manifest, Memory, Permissions, Watch
from aouo.packs.format.manifest_text import Parsed, parse
from aouo.packs.format.problems import DEFAULT_TOOLS, Problem

HEAD = "name: test\nversion: 1.0.0\ndisplay_name: Test\n"

EVERYTHING = """\
name: english
version: 1.2.3-beta
display_name: English Coach
description: Listening and speaking
requires_core: ">=0.1.0"
depends_on: [notes, {name: vocab, inheritance: extends}]
provided_skills:
  - onboarding
  - dictation
fast_paths: {menu: ./menu.json, i18n: ./i18n/zh-CN.json}
schema:
  file: ./schema.sql
  owned_tables: [samples]
  shared_tables: [people]
  extends_columns: {samples: {mood: TEXT, score: REAL NOT NULL DEFAULT 0}}
  scope: person
persist_contract:
  skill_type_prefix: "english."
  required_fields: [skill_type, response]
  optional_fields: [subcap_scores]
  subcap_keys: [listening.gist]
cron_defaults:
  - {id: morning, schedule: "0 8 * * *", skill: dictation, enabled_by_default: false}
custom_tools:
  - {name: pronAssess, path: tools/pron.py}
permissions:
  tools: [msg, persist, files, "mcp:search", english__pronAssess]
  files: ["~/imports"]
  network: ["https://api.example.com"]
  platforms: [telegram]
  cron: true
  external_commands: [legacy]
runtime:
  js: {tools: true}
  external_tools:
    - {name: legacy, command: python tools/importer.py, permissions: ["network:x"]}
context:
  skill_loading: lazy
  history_window: 8
  memory_policy: summary_plus_query
  max_tokens: 6000
memory: {user: memory/user.md, state: memory/state.md, max_bytes: 4096}
budget: {daily_usd: 0.5, daily_tokens: 100000}
watches:
  - {id: late, every: 15m, sql: SELECT 1, skill: dictation, prompt: Say so, quiet: true}
"""


def problems(text: str, *, strict: bool = False) -> tuple[Problem, ...]:
    return parse(text, strict=strict).problems


def read(text: str) -> Manifest:
    parsed = parse(text)
    assert parsed.manifest is not None, parsed.problems
    return parsed.manifest


def test_every_documented_field_is_read_and_none_is_complained_about() -> None:
    parsed = parse(EVERYTHING, strict=True)

    assert parsed.problems == (Problem("pack.yml", 42, "memory.user", "unknown key", "warning"),)
    assert parsed.manifest is not None
    manifest = parsed.manifest
    assert manifest.depends_on == (Dependency("notes"), Dependency("vocab", "extends"))
    assert manifest.context.memory_policy == "full"
    assert manifest.schema.extends_columns == {
        "samples": {"mood": "TEXT", "score": "REAL NOT NULL DEFAULT 0"}
    }
    assert manifest.memory == Memory(state=True, max_bytes=4096)
    assert manifest.budget.daily_usd == 0.5
    (watch,) = manifest.watches
    assert watch == Watch("late", "15m", "SELECT 1", "", "", "dictation", "Say so", True)


def test_three_lines_are_a_manifest() -> None:
    assert read(HEAD) == Manifest("test", "1.0.0", "Test")


def test_empty_keys_are_as_good_as_absent_ones() -> None:
    assert read(HEAD + "permissions:\nschema:\n  file:\n") == read(HEAD)


def test_without_a_list_of_tools_the_defaults_and_the_packs_own_are_allowed() -> None:
    assert read(HEAD).permissions.tools == DEFAULT_TOOLS


def test_an_empty_list_of_tools_allows_none() -> None:
    assert read(HEAD + "permissions: {tools: []}\n").permissions == Permissions(tools=())


def test_the_short_forms_skills_and_cron_of_the_documentation_are_understood() -> None:
    text = (
        "skills: [a]\ncron:\n  - {id: x, schedule: every 2h, skill: a}\npermissions: {cron: true}\n"
    )

    manifest = read(HEAD + text)

    assert manifest.provided_skills == ("a",)
    assert manifest.cron_defaults[0].schedule == "every 2h"


def test_values_are_read_as_the_original_reads_them() -> None:
    """YAML 1.2: `yes`, `on`, times and dates are text."""
    text = "display_name: yes\ndescription: 21:00\nprovided_skills: [2026-01-01]\n"

    manifest = read("name: test\nversion: 1.0.0\n" + text)

    assert (manifest.display_name, manifest.description) == ("yes", "21:00")
    assert manifest.provided_skills == ("2026-01-01",)


def test_an_alias_may_be_used_for_what_it_is_meant() -> None:
    manifest = read(HEAD + "provided_skills: &all [a]\nschema: {shared_tables: *all}\n")

    assert manifest.schema.shared_tables == ("a",)


TOOLS_HINT = "unknown key; tools are listed as permissions.tools: [fetch]"


def test_an_unknown_key_is_a_warning_at_load_and_an_error_in_validate() -> None:
    text = HEAD + "permissions:\n  fetch: true\n  crom: true\n"

    assert problems(text) == (
        Problem("pack.yml", 5, "permissions.fetch", TOOLS_HINT, "warning"),
        Problem("pack.yml", 6, "permissions.crom", 'unknown key; did you mean "cron"?', "warning"),
    )
    assert parse(text).manifest == read(HEAD)
    assert {problem.severity for problem in problems(text, strict=True)} == {"error"}
    assert parse(text, strict=True).manifest is None


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("web_search: true", (*DEFAULT_TOOLS, "web_search")),
        ("web_search: false", DEFAULT_TOOLS),
        ("{web_search: true, tools: [msg]}", ("msg", "web_search")),
        ("{web_search: true, tools: [web_search]}", ("web_search",)),
        ("{web_search: false, tools: [web_search]}", ("web_search",)),
    ],
)
def test_the_originals_leave_to_search_is_the_tool(written: str, tools: tuple[str, ...]) -> None:
    text = f"{HEAD}permissions: {written if written[0] == '{' else '{' + written + '}'}\n"

    assert problems(text, strict=True) == ()
    assert read(text).permissions.tools == tools


def test_a_key_that_another_begins_with_is_nearest_to_it() -> None:
    """ "cron" has as many letters in common with "version"."""
    (problem,) = problems(HEAD + "cron: {daily: x}\n")
    assert problem.message == 'unknown key; did you mean "cron_defaults"?'


def test_an_unknown_tool_is_a_warning_with_the_nearest_name() -> None:
    (problem,) = problems(HEAD + "permissions: {tools: [persits]}\n", strict=True)

    assert problem.severity == "warning"
    assert problem.message == 'no tool or group is named "persits"; did you mean "persist"?'


def test_schedules_without_the_permission_are_off_at_load_and_an_error_in_validate() -> None:
    text = HEAD + "provided_skills: [a]\ncron_defaults: [{id: x, schedule: every 2h, skill: a}]\n"

    assert [problem.severity for problem in problems(text)] == ["warning"]
    assert [problem.severity for problem in problems(text, strict=True)] == ["error"]


def test_everything_wrong_is_said_at_once() -> None:
    text = """\
name: state
version: 1.0
provided_skills: [a, a, ../b]
cron_defaults: [{id: x, schedule: every 2h, skill: c}]
custom_tools: [{name: t, path: tools/t.ts}]
"""
    found = problems(text, strict=True)
    fields = [problem.field for problem in found if problem.severity == "error"]

    assert fields == [
        "display_name",
        "name",
        "version",
        "provided_skills[1]",
        "provided_skills[2]",
        "cron_defaults[0].skill",
        "cron_defaults",
        "custom_tools[0].path",
    ]


def test_a_tool_in_javascript_is_refused_with_what_to_do() -> None:
    """The rest of the pack loads without it."""
    text = HEAD + "custom_tools: [{name: pron, path: tools/pron.ts}]\n"
    (problem,) = problems(text)
    (refused,) = problems(text, strict=True)

    assert problem.message == (
        "JavaScript tools do not run here: port it to Python as tools/pron.py and name that file"
    )
    assert (problem.severity, refused.severity) == ("warning", "error")
    assert read(text).custom_tools == ()


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (
            "context: {skill_loading: ahead}\n",
            "context.skill_loading",
            "must be 'lazy' or 'eager', not 'ahead'",
        ),
        ("memory: {soul: maybe}\n", "memory.soul", "must be true or false, not 'maybe'"),
        (
            'requires_core: ">=2"\n',
            "requires_core",
            f"the pack needs aouo >=2, and this is {__version__}",
        ),
        (
            "depends_on: [{name: b, version: new}]\n",
            "depends_on[0].version",
            "'new' is not written like \">=0.1,<2\"",
        ),
        (
            "budget: {daily_usd: -1}\n",
            "budget.daily_usd",
            "input should be greater than or equal to 0, not -1",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_can(text: str, field: str, message: str) -> None:
    assert problems(HEAD + text, strict=True) == (Problem("pack.yml", 4, field, message),)


@pytest.mark.parametrize(
    ("text", "line", "field", "words"),
    [
        (HEAD + "name: again\n", 4, "name", "written twice"),
        (HEAD + "x: !!python/object/apply:os.system [id]\n", 4, "x", "not allowed"),
        (HEAD + "? [a]\n: b\n", 4, "", "must be text"),
        (HEAD + "x: [1\n", 5, "", "not valid YAML"),
        (HEAD + "x: *nothing\n", 4, "", "undefined alias"),
        ("- a\n- b\n", 1, "", "must be a mapping"),
        ("name: \x00", 0, "", "not valid YAML"),
    ],
)
def test_yaml_that_is_not_plain_data_is_refused(
    text: str, line: int, field: str, words: str
) -> None:
    (problem,) = problems(text)

    assert (problem.line, problem.field) == (line, field)
    assert words in problem.message


KEYS = st.sampled_from(
    [
        "name",
        "version",
        "schema",
        "permissions",
        "cron_defaults",
        "runtime",
        "depends_on",
        "tools",
        "id",
        "schedule",
        "skill",
        "path",
        "command",
        "custom_tools",
        "external_tools",
        "network",
        "extends_columns",
        "owned_tables",
        "provided_skills",
        "context",
        "memory",
        "max_tokens",
        "skills",
        "cron",
        "<<",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.text() | st.text(alphabet="ab:-[]{}&*!\n '\"#?|>"))
def test_garbage_is_a_problem_and_never_an_exception(text: str) -> None:
    parsed = parse(text)

    assert parsed.manifest is None
    assert parsed.problems


@given(st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=6), st.booleans())
def test_wrong_shapes_are_problems_and_never_an_exception(
    values: dict[str, object], strict: bool
) -> None:
    text = json.dumps(values)
    parsed = parse(text, strict=strict)

    failed = any(problem.severity == "error" for problem in parsed.problems)
    assert (parsed.manifest is None) == failed
    assert all(str(problem) and problem.line == 1 for problem in parsed.problems)


@pytest.mark.parametrize(
    "host",
    ["[*]", "*.", "*:", "* ", "*.com.", "e\u0301vil.example", "**", "a" * 300 + ".example", ""],
)
def test_a_host_that_a_card_would_show_as_something_else_is_refused(host: str) -> None:
    """Each of these opened everything, or something, and did not look like it."""
    text = HEAD + f"permissions: {{network: [{json.dumps(host)}]}}\n"

    (problem,) = problems(text, strict=True)

    assert (problem.field, problem.severity) == ("permissions.network[0]", "error")
    assert "is no host" in problem.message


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "*.example.com:8443",
        "*",
        "*:8443",
        "1.1.1.1:80",
        "2606:4700::1111",
        "[2606:4700::1111]:443",
    ],
)
def test_hosts_are_written_with_a_star_before_and_a_port_behind(host: str) -> None:
    assert problems(HEAD + f"permissions: {{network: [{json.dumps(host)}]}}\n", strict=True) == ()


@pytest.mark.parametrize(
    "host", ["127.0.0.1:80", "192.168.1.7", "[::1]:443", "fe80::1", "[2001:db8::1]", "0x7f.1:80"]
)
def test_a_host_that_no_pack_ever_reaches_is_told(host: str) -> None:
    text = HEAD + f"permissions: {{network: [{json.dumps(host)}]}}\n"

    (problem,) = problems(text, strict=True)

    assert (problem.field, problem.severity) == ("permissions.network[0]", "warning")
    assert "no place on the internet" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "schema: {file: .schema.sql}",
        "schema: {file: aouo.sig}",
        "fast_paths: {menu: aouo.sig}",
        "fast_paths: {i18n: .i18n}",
        "custom_tools: [{name: x, path: tools/.x.py}]",
        "custom_tools: [{name: x, path: tools/__pycache__/x.py}]",
    ],
)
def test_no_manifest_names_a_file_that_the_hash_of_a_pack_leaves_out(text: str) -> None:
    """Nobody agreed to what is in it, and nobody would notice that it changed."""
    found = problems(HEAD + text + "\n")

    assert "is no part of a pack that is shared" in " ".join(str(one) for one in found)


def test_what_a_terminal_would_obey_is_not_in_the_words_of_a_problem() -> None:
    found = problems(HEAD + 'permissions: {tools: ["\\e[2J\\e[Hfine"]}\n')

    assert "fine" in str(found[0])
    assert "\x1b" not in str(found[0])


def test_a_list_in_a_list_is_found_where_it_is_written_also_behind_what_was_left_out() -> None:
    """As `runtime.external_tools[1].permissions` behind a tool that could not be read."""
    places = Parsed(None)
    places.leave_out(("tools",), 0)
    places.leave_out(("tools", 0, "permissions"), 0)

    assert places.as_written(("tools", 0, "permissions", 0)) == ("tools", 1, "permissions", 1)


def test_a_problem_is_one_line_whatever_it_quotes() -> None:
    found = problems(HEAD + 'provided_skills: ["x\\nlingua is sound."]\n')

    assert [str(one).count("\n") for one in found] == [0]


def test_a_command_may_have_a_hyphen_in_its_name_and_a_wrong_name_says_what_may_be_in_it() -> None:
    listed = "permissions: {external_commands: [youtube-dl, two words]}\n"
    tools = (
        "runtime: {external_tools: [{name: youtube-dl, command: y}, {name: two words, command: y}]}"
    )

    (problem,) = problems(HEAD + listed + tools, strict=True)

    assert (problem.line, problem.field) == (5, "runtime.external_tools[1].name")
    assert problem.message == (
        "is no name of a tool: at most 48 of a-z A-Z 0-9 _ -, a letter first, not 'two words'"
    )


WATCHES = """\
permissions: {{cron: true, files: [~/in, ~/of/*.csv], network: [example.com]}}
provided_skills: [tell]
watches:
  - {}
"""


def watched(watch: str) -> list[tuple[str, str]]:
    found = problems(HEAD + WATCHES.format(watch), strict=True)
    return [(problem.field, problem.message) for problem in found]


@pytest.mark.parametrize(
    "source",
    [
        "sql: SELECT 1",
        "file: ~/in",
        "file: ~/in/box/today.md",
        "file: ~/of/prices.csv",
        "url: https://example.com/feed",
    ],
)
def test_a_watch_looks_at_one_thing_that_its_pack_may_look_at(source: str) -> None:
    assert watched(f"{{id: a, every: 5m, skill: tell, {source}}}") == []


@pytest.mark.parametrize(
    ("watch", "field", "message"),
    [
        ("{id: a, every: 5m, prompt: x}", "", "give one of sql, file and url, not none"),
        ("{id: a, every: 5m, prompt: x, sql: S, url: u}", "", "not sql and url"),
        ("{id: a, every: 5m, sql: S}", "", "give a skill, a prompt, or both"),
        ("{id: a, every: 5m, sql: S, skill: tel}", ".skill", 'did you mean "tell"?'),
        ("{id: a, every: 59s, sql: S, prompt: x}", ".every", "between 1m and 366d"),
        ("{id: a, every: often, sql: S, prompt: x}", ".every", "30m"),
        ("{id: a, every: 5m, file: in/x, prompt: x}", ".file", "a whole path"),
        ("{id: a, every: 5m, file: ~/other, prompt: x}", ".file", "permissions.files"),
        ("{id: a, every: 5m, url: 'https://example.org', prompt: x}", ".url", "example.com"),
        ("{id: a, every: 5m, sql: S, prompt: x, evry: 5m}", ".evry", 'did you mean "every"?'),
        ("{id: a b, every: 5m, sql: S, prompt: x}", ".id", "at most 64"),
    ],
)
def test_a_watch_that_is_wrong_is_named_with_its_field(
    watch: str, field: str, message: str
) -> None:
    ((where, said),) = watched(watch)

    assert where == f"watches[0]{field}"
    assert message in said


def test_watches_without_the_permission_are_off_at_load_and_an_error_in_validate() -> None:
    text = HEAD + "watches: [{id: a, every: 5m, sql: SELECT 1, prompt: x}]\n"

    assert [problem.severity for problem in problems(text)] == ["warning"]
    assert [problem.severity for problem in problems(text, strict=True)] == ["error"]
