"""What tests of every route start from."""

import pytest

from memex.api.examples import NEW
from tests.behaviour.documented import Json
from tests.fixtures.app import Running


@pytest.fixture
async def described(service: Running) -> Json:
    found: Json = (await service.client.get("/openapi.json")).json()
    return found


@pytest.fixture
async def identity(service: Running) -> str:
    """A memory that there is, for paths that want one."""
    stored: str = (await service.client.post("/v1/memories", json=NEW)).json()["id"]
    return stored
