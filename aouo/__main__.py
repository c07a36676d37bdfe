"""The program: `aouo VERB` or `python -m aouo VERB`."""

from __future__ import annotations


def main() -> None:
    """Run one command line verb and leave with its exit code."""
    import os

    from aouo.cli.main import aouo

    os.umask(0o077)  # what we write is the owner's alone
    aouo(prog_name="aouo")


if __name__ == "__main__":
    main()
