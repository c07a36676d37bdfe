"""Nobody is let in by what is free, and who is let in by it gets nothing more than that."""

from __future__ import annotations

import pytest
from yarl import URL

from tests.path.dashboard.looking import dashboard
from tests.path.world import World


@pytest.mark.parametrize("path", ["/healthz", "/%68ealthz"])
@pytest.mark.parametrize("token", ["", "wrong"])
async def test_what_is_free_gives_no_cookie_for_a_wrong_token(
    world: World, path: str, token: str
) -> None:
    async with dashboard(world) as shown:
        address = URL(f"{shown.link.origin()}{path}?token={token}", encoded=True)
        async with shown.client.get(address, allow_redirects=False) as answer:
            assert answer.status == 200
        async with shown.client.get(shown.link.with_path("/api/usage").with_query({})) as usage:
            status = usage.status
        cookies = list(shown.client.cookie_jar)

    assert status == 401
    assert cookies == []
