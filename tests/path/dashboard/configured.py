"""Looks at the configuration as the page shows it, and saves changes of it."""

from __future__ import annotations

from typing import Any

from tests.path.dashboard.looking import Dashboard

SECRETS = {
    "openai": {"api_key": "ownersfirstsecret"},
    "groq": {"api_key": "ownerssecondsecret"},
    "mcp": {
        "servers": {
            "hub": {
                "url": "http://someone:ownersthirdsecret@127.0.0.1:9/mcp",
                "headers": {"Authorization": "ownersfourthsecret"},
            }
        }
    },
}


async def keys(shown: Dashboard) -> dict[str, Any]:
    """Every key as the page shows it."""
    status, facts = await shown.get("/api/settings")
    assert status == 200
    return {key["key"]: key for section in facts["sections"] for key in section["keys"]}


async def save(shown: Dashboard, changes: dict[str, Any], **more: Any) -> tuple[int, Any]:
    """Save changes of the file as it is now."""
    _, facts = await shown.get("/api/settings")
    body = {"version": facts["version"], "changes": changes, **more}
    return await shown.send("POST", "/api/settings", body)
