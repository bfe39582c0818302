"""What tests of every route and of every surface start from."""

from collections.abc import AsyncIterator

import pytest

from memex.api.examples import NEW
from tests.behaviour.documented import Json
from tests.behaviour.surfaces import SURFACES, Surface, open_surface
from tests.fixtures.agents import held
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


@pytest.fixture(params=SURFACES)
async def surface(request: pytest.FixtureRequest, service: Running) -> AsyncIterator[Surface]:
    """Whoever takes it is run over every surface."""
    async with held(open_surface(request.param, service)) as opened:
        yield opened
