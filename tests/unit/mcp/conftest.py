"""The MCP surface over services that only note what reached them."""

from typing import Any

import pytest
from mcp.server import Server

from memex.mcp.exchange import Exchange
from memex.mcp.server import create_server
from memex.service import Limiter, Services, Share
from memex.settings import Limits
from tests.unit.api.conftest import Backend, services


@pytest.fixture
def backend() -> Backend:
    return Backend(Limiter(Limits(writes_per_minute=0, searches_per_minute=0), Share()))


@pytest.fixture
def server(backend: Backend) -> Server[Any]:
    return serving(backend)


@pytest.fixture
def exchange(server: Server[Any]) -> Exchange:
    return Exchange(server)


def serving(backend: Backend, *, lenient: bool = False) -> Server[Any]:
    async def ready() -> Services:
        return services(backend)

    return create_server(ready, lenient=lenient)
