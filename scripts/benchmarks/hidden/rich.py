"""Hides what only the development tools bring; structlog would import it, 3 MB and 40 ms of it."""

raise ImportError("not part of the runtime")
