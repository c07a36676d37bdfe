"""Reads one document in a child process: a job as JSON on its command line, bytes on stdin.

Only this process reads strangers' files: the system limits its memory, processor time and writing,
and the parent ends it when it takes too long. It prints one JSON line.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from typing import Any

from aouo.agent.documents import kinds, plain
from aouo.agent.documents.kinds import Extract, Unreadable, parse_range

MEMORY_BYTES = 1_500_000_000
_CPU_S = 30


def _main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    _limit("RLIMIT_AS", MEMORY_BYTES)
    _limit("RLIMIT_CPU", _CPU_S)
    _limit("RLIMIT_FSIZE", 0)
    _limit("RLIMIT_CORE", 0)
    try:
        data = sys.stdin.buffer.read()
        kind = job["kind"] or kinds.kind_of(data, job["name"])
        said: dict[str, Any] = {**asdict(_read(data, kind, job)), "kind": kind}
    except Unreadable as error:
        said = {"problem": str(error)}
    except MemoryError:
        said = {"problem": "It needs more memory than a document may."}
    except Exception as error:  # noqa: BLE001 - any failure on a stranger's file is an answer
        said = {"problem": f"It could not be read ({type(error).__name__}); it may be damaged."}
    sys.stdout.write(json.dumps(said))
    sys.stdout.flush()


def _limit(name: str, value: int) -> None:
    """Set one resource limit of this process; macOS may refuse one, Linux must not."""
    try:
        resource.setrlimit(int(getattr(resource, name)), (value, value))
    except (ValueError, OSError):
        if sys.platform == "linux":  # where all of them hold
            raise


def _read(data: bytes, kind: str, job: dict[str, Any]) -> Extract:
    wanted = parse_range(job["range"])
    match kind:
        case "pdf":
            return plain.pdf(data, wanted)
        case "docx" | "xlsx":
            from aouo.agent.documents import office

            return (office.docx if kind == "docx" else office.xlsx)(data, wanted)
        case "csv":
            return plain.table(data, wanted)
        case "html":
            return plain.page(data, wanted, charset=job["charset"], base_url=job["base_url"])
        case _:
            return plain.text(data, wanted)


if __name__ == "__main__":
    _main()
