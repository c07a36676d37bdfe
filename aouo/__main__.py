"""The program: `aouo VERB` or `python -m aouo VERB`."""

from __future__ import annotations


def main() -> None:
    """Run one command line verb and leave with its exit code."""
    import os
    import sys
    from typing import TextIO, cast

    from aouo.cli.main import aouo
    from aouo.plumbing.printable import PrintableStream

    # What verbs print is full of what strangers wrote, and terminals obey some signs.
    sys.stdout = cast("TextIO", PrintableStream(sys.stdout))
    sys.stderr = cast("TextIO", PrintableStream(sys.stderr))

    os.umask(0o077)  # what we write is the owner's alone
    aouo(prog_name="aouo")


if __name__ == "__main__":
    main()
