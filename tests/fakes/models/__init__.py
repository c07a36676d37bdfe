"""Local model services: each family's rules as data, and a loopback server that enforces them."""

from tests.fakes.models.profile import names, profile
from tests.fakes.models.service import KEY, ModelService
from tests.fakes.models.telling import CallPart, Fails, Meets, Raw, Reply, Says

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
