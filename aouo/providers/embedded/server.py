"""Runs llama.cpp's own HTTP server for one weights file: the child process of `local`.

It reads one line from stdin, the key that callers must send, and prints one JSON line,
`{"port": …}` or `{"error": …}`. It ends when its stdin does, so it never outlives the runtime. It
imports only the standard library and xllamacpp, so it starts without the rest of the project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

_CACHE_MIB = 64  # cache of prompts, for the next turn


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--context", type=int, default=4096)
    options = parser.parse_args()
    key = sys.stdin.readline().strip()
    # Threads that spin while they wait make it up to eight times slower on a busy machine
    # (measured on two cores); read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        server: Any = _serve(options.model, options.threads, options.context, key)
    except Exception as error:  # noqa: BLE001 - the parent must get any error
        _tell({"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _tell({"port": urlsplit(str(server.listening_address)).port})
    sys.stdin.buffer.read()
    os._exit(0)  # the destructor would wait for a running answer


def _serve(model: str, threads: int, context: int, key: str) -> Any:
    xllamacpp: Any = import_module("xllamacpp")  # after the variable above is set
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = context
    params.n_parallel = 1
    params.port = 0
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [key]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or os.cpu_count() or 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.cache_prompt = True
    params.cache_ram_mib = _CACHE_MIB
    params.warmup = False
    params.ui = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def _tell(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
