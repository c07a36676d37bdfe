"""Reads a pack's tools from its files; Python is read as text and never imported."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from aouo.facts.records import Sink
from aouo.packs.format.folder import NotInside, read_inside
from aouo.packs.format.manifest import FILE, CustomTool, ExternalTool, Manifest
from aouo.packs.format.problems import Problem, Severity, did_you_mean
from aouo.packs.format.tool_types import (
    MAX_DESCRIPTION_CHARS,
    READS,
    docstring,
    is_sound,
    is_typed_dict,
    plain,
    schema_of,
)

_FOLDER = "tools"
_SECRETS = re.compile(r"^Secrets: (.+)$", re.MULTILINE)
_DOES = re.compile(r"^Does: (own|persist|tell|spend|destroy|admit|run)\.?$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_MAX_FILES = 50
_MAX_NAME_CHARS = 64
"""Of `<pack>__<tool>`; every model's service takes names of that length."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Position: TypeAlias = tuple[str, int, str]
"""The file, line and field where a tool is written, for whoever mends it."""


@dataclass(frozen=True, slots=True)
class PackTool:
    """One tool of a pack: what the model reads of it, and what it `runs`: the words of a command
    that reads and writes JSON, or the Python file in the pack that has the `function`.

    `whole`: the arguments are its input as they are; else they lie in `input`. `reads`: it says
    that it changes nothing.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    runs: tuple[str, ...]
    function: str = ""
    reads: bool = False
    whole: bool = True
    does: Sink | Literal[""] = ""
    """What it does to the world: a line `Does: spend` of its docstring; "" = it does not say."""
    secrets: tuple[str, ...] = ()
    """The pack's secrets that it may ask for: a line `Secrets: name, name` of its docstring."""


def tools_of(
    folder: Path, manifest: Manifest, softly: Severity
) -> tuple[tuple[PackTool, ...], list[Problem]]:
    """The tools that can be offered, and what is wrong with the others, as `softly` says."""
    reader = _ToolsParser(folder, manifest, softly)
    found: dict[str, PackTool] = {}
    for tool, problem in reader.all():
        if len(f"{manifest.name}__{tool.name}") > _MAX_NAME_CHARS:
            message = f"{manifest.name}__{tool.name} is longer than {_MAX_NAME_CHARS} characters"
            reader.add(problem, f"{message}: give it a shorter name")
        elif tool.name in found:
            reader.add(problem, f'two tools of this pack are named "{tool.name}"')
        else:
            found[tool.name] = tool
    permitted = manifest.permissions.tools
    if found and not any(
        n in ("pack", *(f"{manifest.name}__{t}" for t in found)) for n in permitted
    ):
        message = 'the pack has tools of its own and permits none of them; add "pack"'
        problem = Problem(FILE, 0, "permissions.tools", message, "warning")
        reader.problems.append(problem)
    return tuple(found.values()), reader.problems


class _ToolsParser:
    """Reads everything that may be a tool."""

    def __init__(self, folder: Path, manifest: Manifest, softly: Severity) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._manifest = manifest
        self._softly: Severity = softly

    def all(self) -> Iterator[tuple[PackTool, _Position]]:
        if self._manifest.custom_tools:
            for index, named in enumerate(self._manifest.custom_tools):
                yield from self._custom(named, f"custom_tools[{index}]")
        else:
            for file in self._files():
                yield from self._public(file)
        for index, external in enumerate(self._manifest.runtime.external_tools):
            yield from self._external(external, f"runtime.external_tools[{index}]")

    def add(self, place: _Position, message: str) -> None:
        self.problems.append(Problem(*place, message, self._softly))

    def _files(self) -> list[str]:
        """The Python files at the top of tools/; a name that begins with _ is no tool."""
        try:
            names = sorted(
                entry.name
                for entry in (self._folder / _FOLDER).iterdir()
                if entry.suffix == ".py" and not entry.name.startswith(("_", "."))
            )
        except OSError:
            return []
        if len(names) > _MAX_FILES:
            self.add((_FOLDER, 0, ""), f"has more than {_MAX_FILES} files; the rest is not read")
        return [f"{_FOLDER}/{name}" for name in names[:_MAX_FILES]]

    def _public(self, file: str) -> Iterator[tuple[PackTool, _Position]]:
        if (module := self._module(file)) is not None:
            for function in _functions(module):
                if not function.name.startswith("_"):
                    yield from self._tool(file, module, function, function.name)

    def _custom(self, named: CustomTool, field: str) -> Iterator[tuple[PackTool, _Position]]:
        """The function of the tool's name, or the only public one of its file."""
        path = PurePosixPath(named.path)
        if path.suffix != ".py" or path.parts[:1] != (_FOLDER,) or ".." in path.parts:
            return  # the manifest's check has said so
        module = self._module(path.as_posix())
        if module is None:
            return
        public = {one.name: one for one in _functions(module) if not one.name.startswith("_")}
        function = public.get(named.name) or (
            next(iter(public.values())) if len(public) == 1 else None
        )
        if function is None:
            hint = did_you_mean(named.name, public)
            message = f"{path} has no public function {named.name}{hint}"
            self.add((FILE, 0, field), message)
            return
        yield from self._tool(path.as_posix(), module, function, named.name)

    def _module(self, file: str) -> ast.Module | None:
        try:
            return ast.parse(read_inside(self._folder, file))
        except FileNotFoundError:
            return None  # loading says so
        except NotInside as error:
            self.add((file, 0, ""), str(error))
        except SyntaxError as error:
            self.add((file, error.lineno or 0, ""), f"is not Python: {error.msg}")
        except (ValueError, RecursionError, MemoryError):
            self.add((file, 0, ""), "is not Python that can be read")
        return None

    def _tool(
        self, file: str, module: ast.Module, function: _Function, name: str
    ) -> Iterator[tuple[PackTool, _Position]]:
        place = (file, function.lineno, "")
        before = len(self.problems)
        if not _NAME.fullmatch(name):
            self.add(place, f"{name[:60]} is no name of a tool: at most 48 of a-z A-Z 0-9 _")
        text = ast.get_docstring(function) or ""
        description, told = docstring(text)
        if not description:
            self.add(place, f"{name} has no docstring; its first paragraph is what the model reads")
        schema = self._schema(file, module, function, told)
        if len(self.problems) == before:
            reads, named = READS in text, _SECRETS.search(text)
            secrets = tuple(_WORD.findall(named[1])) if named else ()
            for missing in (one for one in secrets if one not in self._manifest.secrets):
                self.add(place, f"{name} names the secret {missing}, which pack.yml does not")
            made = PackTool(name, description, schema, (file,), function.name, reads)
            yield replace(made, secrets=secrets, does=_does(text)), place

    def _schema(
        self, file: str, module: ast.Module, function: _Function, told: Mapping[str, str]
    ) -> Mapping[str, Any]:
        arguments = function.args
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                message = f"{function.name}: name each argument instead of *{extra.arg}"
                self.add((file, extra.lineno, ""), message)
        for one in arguments.posonlyargs:
            message = f"{function.name}: {one.arg} stands before /, and is passed by its name"
            self.add((file, one.lineno, ""), message)
        records = {
            one.name: one
            for one in module.body
            if isinstance(one, ast.ClassDef) and any(is_typed_dict(base) for base in one.bases)
        }
        properties: dict[str, Any] = {}
        required: list[str] = []
        for one, default in _with_defaults(arguments):
            place = (file, one.lineno, "")
            if one.annotation is None:
                self.add(place, f"{function.name}: {one.arg} has no type")
                continue
            try:
                schema = schema_of(one.annotation, records)
            except ValueError as error:
                self.add(place, f"{function.name}: {one.arg}: {error}")
                continue
            if default is None:
                required.append(one.arg)
            elif (value := plain(default)) is not None:
                schema["default"] = value
            if one.arg in told:
                schema["description"] = told[one.arg]
            properties[one.arg] = schema
        needed = {"required": required} if required else {}
        return MappingProxyType(
            {"type": "object", "properties": properties, **needed, "additionalProperties": False}
        )

    def _external(self, tool: ExternalTool, field: str) -> Iterator[tuple[PackTool, _Position]]:
        place = (FILE, 0, f"{field}.command")
        if tool.name not in self._manifest.permissions.external_commands:
            return  # the manifest's check has said so
        try:
            words = tuple(shlex.split(tool.command))
        except ValueError as error:
            self.add(place, f"cannot be split into words: {error}")
            return
        if not words:
            self.add(place, "names no program")
            return
        if problem := _misplaced(self._folder, words[0]):
            self.add(place, problem)
            return
        schema: Mapping[str, Any] = tool.parameters or _ONE_INPUT
        if schema.get("type", "object") != "object" or not is_sound(schema):
            self.add(
                (FILE, 0, f"{field}.parameters"), "is no JSON Schema of an object with properties"
            )
            return
        description = _DOES.sub("", tool.description.replace(READS, "")).strip() or tool.name
        reads = READS in tool.description
        whole = bool(tool.parameters)
        yield (
            PackTool(
                tool.name,
                description[:MAX_DESCRIPTION_CHARS],
                MappingProxyType({"type": "object", "properties": {}, **schema}),
                words,
                reads=reads,
                whole=whole,
                does=_does(tool.description),
            ),
            (FILE, 0, field),
        )


def _does(text: str) -> Sink | Literal[""]:
    found = _DOES.search(text)
    return cast("Sink", found[1]) if found else ""


_ONE_INPUT: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {"input": {"type": "object", "description": "what the command reads"}},
    }
)


def _functions(module: ast.Module) -> Iterator[_Function]:
    for line in module.body:
        if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef):
            yield line


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    plain = arguments.args
    missing: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    yield from zip(plain, [*missing, *arguments.defaults], strict=False)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _misplaced(folder: Path, program: str) -> str:
    """Say why a command's first word is refused, "" = it is a name on the PATH or a file inside."""
    if "/" not in program:
        return ""
    path = PurePosixPath(program)
    if path.is_absolute() or ".." in path.parts:
        return f"{program} is not inside the pack; name a program, or a file of the pack"
    file = folder / path
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        return f"there is no file {program}"
    if not file.stat().st_mode & 0o111:
        return f"{program} may not be executed; chmod +x {program}"
    return ""
