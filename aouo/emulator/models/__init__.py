"""Local model services: each family's rules as data, and a loopback server that enforces them."""

from aouo.emulator.models.loading import names, profile
from aouo.emulator.models.replies import CallPart, Fails, Meets, Raw, Reply, Says
from aouo.emulator.models.service import KEY, ModelService

__all__ = [
    "KEY",
    "CallPart",
    "Fails",
    "Meets",
    "ModelService",
    "Raw",
    "Reply",
    "Says",
    "names",
    "profile",
]
