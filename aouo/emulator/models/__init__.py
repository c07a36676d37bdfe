"""Local model services: each family's rules as data, and a loopback server that enforces them."""

from aouo.emulator.models.profile import names, profile
from aouo.emulator.models.service import KEY, ModelService
from aouo.emulator.models.telling import CallPart, Fails, Meets, Raw, Reply, Says

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
