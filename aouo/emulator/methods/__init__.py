"""The methods the emulator knows, by their lower-case names."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from aouo.emulator.files import Parameters
from aouo.emulator.methods import bot, editing, sending
from aouo.emulator.world import World

Handler: TypeAlias = Callable[[World, Parameters, float], Any]

# getUpdates is not here: it waits, so it lives in `polling`.
METHODS: Mapping[str, Handler] = {
    handler.__name__.replace("_", ""): handler
    for handler in (*bot.METHODS, *sending.METHODS, *editing.METHODS)
} | {f"send{kind}": partial(sending.send_file, kind=kind) for kind in sending.KINDS}
