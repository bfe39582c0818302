"""Store, search, count and delete over the embedded PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import httpx
import pytest

from bench.reference import storage
from bench.reference.application import compose
from bench.reference.encoding import PASSAGE, QUERY, Vector
from bench.reference.instruments import REGISTRY
from tests.fakes import embedding
from tests.fixtures.app import alive

WHO = {"agent_id": "a", "user_id": "u"}
TEXTS = ("she moved to Vienna", "the build is green", "the kettle is broken", "he plays chess on Sundays")


class WordEncoder:
    """The tests' stand-in for the model: texts that share words are near."""

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return [embedding(text.removeprefix(PASSAGE).removeprefix(QUERY)) for text in texts]


@pytest.fixture
async def client(empty_database: str) -> AsyncIterator[httpx.AsyncClient]:
    """Of the only worker."""
    dsn = storage.dsn(empty_database)
    await storage.prepare(dsn)
    app = compose(dsn, WordEncoder(), workers=1)
    async with (
        alive(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


async def store(client: httpx.AsyncClient, text: str, **fields) -> Any:
    answer = await client.post("/v1/memories", json={**WHO, "content": text, **fields})
    assert answer.status_code == 201
    return answer.json()


async def search(client: httpx.AsyncClient, query: str, **fields) -> Any:
    answer = await client.post("/v1/memories/search", json={**WHO, "query": query, **fields})
    assert answer.status_code == 200
    return answer.json()


async def test_stored_memories_are_found_counted_and_deleted(client: httpx.AsyncClient):
    stored = {text: await store(client, text) for text in TEXTS}
    found = await search(client, "where has she moved to", top_k=1)
    assert found == {
        "results": [stored[TEXTS[0]] | {"score": found["results"][0]["score"]}],
        "query": "where has she moved to",
        "total": 1,
    }
    target = f"/v1/memories/{stored[TEXTS[0]]['id']}"
    assert (await client.delete(target, params={"agent_id": "a"})).status_code == 204
    assert (await client.delete(target, params={"agent_id": "a"})).status_code == 404
    counted = await client.get("/v1/memories/count", params=WHO)
    assert counted.json() == {**WHO, "count": len(TEXTS) - 1}


async def test_a_search_sees_its_agent_its_user_and_its_type_alone(client: httpx.AsyncClient):
    mine = await store(client, TEXTS[0], memory_type="semantic")
    await store(client, TEXTS[0], memory_type="episodic")
    await store(client, TEXTS[0], agent_id="another", memory_type="semantic")
    await store(client, TEXTS[0], user_id="another", memory_type="semantic")
    found = await search(client, TEXTS[0], memory_type="semantic")
    assert [hit["id"] for hit in found["results"]] == [mine["id"]]


async def test_an_exact_match_of_now_scores_one(client: httpx.AsyncClient):
    await store(client, TEXTS[1])
    (hit,) = (await search(client, TEXTS[1], alpha=0.5))["results"]
    assert hit["score"] == pytest.approx(1.0, abs=2e-4)


async def test_fields_are_checked(client: httpx.AsyncClient):
    refused = await client.post("/v1/memories", json={**WHO, "content": "", "importance": 3})
    assert refused.status_code == 422
    assert {tuple(error["loc"]) for error in refused.json()["detail"]} == {("body", "content"), ("body", "importance")}


async def test_each_request_is_one_write_of_the_limiter_and_is_counted(client: httpx.AsyncClient, empty_database: str):
    labels = {"method": "POST", "status": "2xx", "handler": "/v1/memories/search"}
    before = REGISTRY.get_sample_value("http_requests_total", labels) or 0
    await store(client, TEXTS[0])
    for _ in range(3):
        await search(client, TEXTS[0])
    async with await storage.open_pool(storage.dsn(empty_database)) as pool:
        rows = await pool.fetch("SELECT operation, sum(count)::int FROM rate_limits GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in rows] == [("search", 3), ("write", 1)]
    assert REGISTRY.get_sample_value("http_requests_total", labels) == before + 3


async def test_it_is_ready_when_all_workers_are(client: httpx.AsyncClient, empty_database: str):
    app = compose(storage.dsn(empty_database), WordEncoder(), workers=2)
    async with alive(app), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as second:
        assert (await second.get("/health")).status_code == 503
        async with await storage.open_pool(storage.dsn(empty_database)) as pool:
            await storage.register(pool, 1)
        assert (await second.get("/health")).status_code == 200
        assert (await client.get("/health")).json() == {"status": "ok"}


async def test_a_vector_sent_as_text_comes_back_as_it_was(client: httpx.AsyncClient, empty_database: str):
    vector = embedding(str(uuid4()))
    async with await storage.open_pool(storage.dsn(empty_database)) as pool:
        back = await pool.fetchval("SELECT $1::vector::real[]", storage.as_text(vector))
    assert back == vector.tolist()
