"""A pack's tools are read as text: what the model is told, and what is wrong, by file and line.

Source: issue 5 "Pack tools"; contract "Packs".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aouo.packs.authoring import validate
from aouo.packs.format.problems import errors
from aouo.packs.format.tools_text import PackTool
from aouo.packs.load import load_pack

HEAD = "name: desk\nversion: 1.0.0\ndisplay_name: Desk\n"


def pack(folder: Path, python: str, manifest: str = "", file: str = "tools/a.py") -> Path:
    (folder / "tools").mkdir(exist_ok=True)
    (folder / "pack.yml").write_text(HEAD + manifest)
    (folder / file).write_text(python)
    return folder


def tools(folder: Path) -> dict[str, PackTool]:
    loaded = load_pack(folder)
    assert loaded.pack is not None, loaded.problems
    return {tool.name: tool for tool in loaded.pack.tools}


def properties(folder: Path) -> dict[str, Any]:
    (tool,) = tools(folder).values()
    return dict(tool.schema["properties"])


def test_types_docstring_and_defaults_become_what_the_model_reads(tmp_path: Path) -> None:
    folder = pack(
        tmp_path,
        '''
from typing import Literal, NotRequired, Optional, TypedDict

class Word(TypedDict):
    text: str
    hint: NotRequired[str]

async def add(
    word: Word,
    level: Literal["a1", "a2"] = "a1",
    tags: list[str] | None = None,
    counts: "dict[str, int]" = {},
    *,
    half: Optional[float] = 0.5,
    loud: bool = False,
) -> None:
    """Add a word
    to the list.

    More for readers of the code. Reads only.

    Args:
        word: the word,
            with its hint
        level (str): how hard
    Returns:
        loud: nothing
    """
''',
    )
    (tool,) = tools(folder).values()

    assert (tool.name, tool.runs, tool.function, tool.reads) == (
        "add",
        ("tools/a.py",),
        "add",
        True,
    )
    assert tool.description == "Add a word to the list."
    assert tool.schema["required"] == ["word"]
    assert tool.schema["properties"] == {
        "word": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "hint": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
            "description": "the word, with its hint",
        },
        "level": {
            "type": "string",
            "enum": ["a1", "a2"],
            "default": "a1",
            "description": "how hard",
        },
        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "half": {"type": ["number", "null"], "default": 0.5},
        "loud": {"type": "boolean", "default": False},
    }


def test_a_pack_is_never_imported(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    folder = pack(
        tmp_path, f'open({str(ran)!r}, "w")\ndef go() -> str:\n    """Go."""\n    return ""\n'
    )

    assert validate(folder) == ()
    assert list(tools(folder)) == ["go"]
    assert not ran.exists()


def test_private_functions_and_files_are_no_tools(tmp_path: Path) -> None:
    folder = pack(
        tmp_path, 'def _a(): ...\nclass B:\n    def c(self): ...\ndef d():\n    """D."""\n'
    )
    (folder / "tools" / "_shared.py").write_text("def e(): ...\n")

    assert list(tools(folder)) == ["d"]


@pytest.mark.parametrize(
    ("python", "line", "words"),
    [
        ('def go(a):\n    """Go."""\n', 1, "go: a has no type"),
        ('\ndef go(\n    *all: str):\n    """Go."""\n', 3, "name each argument instead of *all"),
        ('def go(**all: str):\n    """Go."""\n', 1, "name each argument instead of *all"),
        ('def go(a: str, /):\n    """Go."""\n', 1, "passed by its name"),
        ("def go(a: str): ...\n", 1, "go has no docstring"),
        ('def go(a: bytes):\n    """Go."""\n', 1, "go: a: bytes is no type of an argument"),
        ('def go(a: set[str]):\n    """Go."""\n', 1, "set[...] is no type"),
        ('def go(a: int | str):\n    """Go."""\n', 1, "a union of types"),
        ('def go(a: dict[int, str]):\n    """Go."""\n', 1, "is dict[str, ...]"),
        ('def go(a: Literal["x", 1]):\n    """Go."""\n', 1, "all of one type"),
        ('def go(a: "str["):\n    """Go."""\n', 1, "is no type"),
        ("def go(:\n", 1, "is not Python"),
        ("x = " + "(" * 500 + ")" * 500, 1, "is not Python"),
        ('def go() -> str:\n    """Go."""\n\ndef go():\n    """Go."""\n', 4, "are named"),
        (f'def {"x" * 60}():\n    """Go."""\n', 1, "is no name of a tool"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_an_error_with_its_line_in_validate(
    tmp_path: Path, python: str, line: int, words: str
) -> None:
    (problem,) = errors(validate(pack(tmp_path, python)))

    assert (problem.file, problem.line) == ("tools/a.py", line)
    assert words in problem.message


def test_at_load_such_a_tool_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    folder = pack(tmp_path, 'def bad(a): ...\ndef good():\n    """Good."""\n')

    assert list(tools(folder)) == ["good"]
    assert {problem.severity for problem in load_pack(folder).problems} == {"warning"}


def test_custom_tools_are_those_that_are_named(tmp_path: Path) -> None:
    python = 'def pron():\n    """P."""\ndef other():\n    """O."""\n'
    named = "custom_tools: [{name: pron, path: tools/a.py}, {name: only, path: tools/b.py}]\n"
    folder = pack(tmp_path, python, named)
    (folder / "tools" / "b.py").write_text('def whatever(x: str):\n    """B."""\n')

    assert [(name, tool.runs, tool.function) for name, tool in tools(folder).items()] == [
        ("pron", ("tools/a.py",), "pron"),
        ("only", ("tools/b.py",), "whatever"),
    ]


def test_a_custom_tool_without_its_function_names_the_nearest(tmp_path: Path) -> None:
    python = 'def prom():\n    """P."""\ndef other():\n    """O."""\n'
    folder = pack(tmp_path, python, "custom_tools: [{name: pron, path: tools/a.py}]\n")
    (problem,) = errors(validate(folder))

    assert problem.field == "custom_tools[0]"
    assert problem.message == 'tools/a.py has no public function pron; did you mean "prom"?'


def external(command: str, more: str = "") -> str:
    return (
        "permissions: {tools: [pack], external_commands: [go]}\n"
        f"runtime: {{external_tools: [{{name: go, command: {command!r}{more}}}]}}\n"
    )


def test_a_command_without_parameters_takes_one_object(tmp_path: Path) -> None:
    folder = pack(tmp_path, "", external("python tools/a.py --fast 'two words'"))
    (tool,) = tools(folder).values()

    assert tool.runs == ("python", "tools/a.py", "--fast", "two words")
    assert not tool.function
    assert (list(tool.schema["properties"]), tool.whole) == (["input"], False)


@pytest.mark.parametrize(
    ("command", "more", "field", "words"),
    [
        ("/bin/sh -c id", "", "command", "is not inside the pack"),
        ("../other/run", "", "command", "is not inside the pack"),
        ("tools/none.sh", "", "command", "there is no file tools/none.sh"),
        ("tools/a.py", "", "command", "chmod +x tools/a.py"),
        ('say "', "", "command", "cannot be split"),
        ("say", ", parameters: {type: string}", "parameters", "no JSON Schema"),
        ("say", ", parameters: {properties: {a: {type: word}}}", "parameters", "no JSON Schema"),
    ],
)
def test_a_command_that_cannot_run_is_an_error_at_its_field(
    tmp_path: Path, command: str, more: str, field: str, words: str
) -> None:
    (problem,) = errors(validate(pack(tmp_path, "", external(command, more))))

    assert problem.field == f"runtime.external_tools[0].{field}"
    assert words in problem.message


def test_a_link_out_of_the_pack_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    pack(folder, "")
    outside = tmp_path / "outside.py"
    outside.write_text('def go():\n    """Go."""\n')
    (folder / "tools" / "b.py").symlink_to(outside)
    (problem,) = errors(validate(folder))

    assert problem.file == "tools/b.py"
    assert "links are not followed" in problem.message


def test_tools_that_the_manifest_does_not_permit_are_warned_of(tmp_path: Path) -> None:
    folder = pack(tmp_path, 'def go():\n    """Go."""\n', "permissions: {tools: [msg]}\n")
    (problem,) = validate(folder)

    assert (problem.severity, problem.field) == ("warning", "permissions.tools")


def test_a_name_longer_than_services_take_is_refused(tmp_path: Path) -> None:
    name = "d" * 32
    folder = pack(tmp_path, f'def {"t" * 40}():\n    """Go."""\n')
    (folder / "pack.yml").write_text(HEAD.replace("name: desk", f"name: {name}"))
    (problem,) = errors(validate(folder))

    assert "is longer than 64 characters" in problem.message
