"""What operators configure and see, also of clients that leave."""

import asyncio
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from memex.settings import App, Ranking
from tests.behaviour.asking import ANA, ask, count, delete, search, store, texts
from tests.behaviour.manifest import proves
from tests.fixtures.app import Run, Running


async def test_clients_that_hang_up_are_no_errors_and_leave_nothing_behind(service: Running, caplog: Any):
    await store(service.client, "green tea")
    service.encoder.forget()
    service.encoder.hold()
    searches = [asyncio.create_task(ask(service.client, f"question {n}")) for n in range(100)]
    await asyncio.to_thread(service.encoder.wait)
    for one in searches:
        one.cancel()
    await asyncio.gather(*searches, return_exceptions=True)
    service.encoder.release()
    assert await texts(service.client, "green tea") == ["green tea"]
    text = (await service.client.get("/metrics")).text
    assert not re.findall(r'http_requests_total\{.*status="[45]xx"\}', text)
    assert "memex_requests_in_flight 1.0" in text  # this one
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


async def test_a_hundred_equal_questions_are_one_inference(service: Running):
    await store(service.client, "green tea")
    service.encoder.forget()
    await asyncio.gather(*[search(service.client, "What does Ana drink?") for _ in range(100)])
    await search(service.client, "What does Ana drink?")
    assert service.encoder.texts == ["What does Ana drink?"]


async def test_the_number_of_series_does_not_grow_with_users_and_agents(rest: httpx.AsyncClient):
    async def series(user: int) -> int:
        who = {"agent_id": f"agent-{user}-of-many", "user_id": f"user-{user}-of-many"}
        memory = await store(rest, f"note-{user}-of-many", **who)
        await search(rest, "note", **who)
        await count(rest, **who)
        await delete(rest, memory)
        assert (await rest.get(f"/some/path/{user}")).status_code == 404
        text = (await rest.get("/metrics")).text
        assert "of-many" not in text
        assert memory["id"] not in text
        return sum(not line.startswith("#") for line in text.splitlines())

    await series(0)
    bound = await series(1)
    assert [await series(user) for user in range(2, 200)] == [bound] * 198


@proves("metrics.bounded")
async def test_the_number_of_series_does_not_grow_with_anything_that_a_client_chooses(rest: httpx.AsyncClient):
    """Methods, addresses, hosts, headers and names of tools that there are not."""

    async def series(word: str) -> int:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": word, "method": word}
        requests: list[tuple[str, str, dict[str, Any]]] = [
            (word, "/v1/memories", {}),
            (word, f"/{word}", {}),
            ("GET", f"/v1/memories/{word}", {"params": {"agent_id": word}}),
            ("GET", f"/v1/memories/count/{word}", {}),
            ("GET", "/health", {"headers": {"host": f"{word}.example"}}),
            ("GET", "/health", {"headers": {"origin": f"http://{word}.example", "x-request-id": word}}),
            ("POST", "/v1/memories", {"content": word, "headers": {"content-type": f"text/{word}"}}),
            ("POST", "/v1/memories", {"json": ANA | {"content": word, word: 1, "memory_type": word}}),
            ("POST", "/v1/memories/search", {"json": ANA | {"query": word, "mode": word}}),
            ("POST", "/mcp", {"json": message}),
            ("POST", "/mcp", {"json": message | {"method": "tools/call", "params": {"name": word}}}),
            ("POST", "/mcp", {"json": message, "headers": {"mcp-protocol-version": word}}),
        ]
        for method, path, sent in requests:
            await rest.request(method, path, **sent)
        text = (await rest.get("/metrics")).text
        assert word.lower() not in text.lower()
        return sum(not line.startswith("#") for line in text.splitlines())

    await series("WORDA")
    bound = await series("WORDB")
    assert [await series(f"WORD{letter}") for letter in "CDEFGHIJ"] == [bound] * 8


async def test_requests_are_counted_under_the_labels_that_dashboards_read(rest: httpx.AsyncClient):
    await store(rest, "green tea")
    await ask(rest, " ")
    text = (await rest.get("/metrics")).text
    assert 'http_requests_total{handler="/v1/memories",method="POST",status="2xx"} 1.0' in text
    assert 'http_requests_total{handler="/v1/memories/search",method="POST",status="4xx"} 1.0' in text
    assert 'http_request_duration_seconds_count{handler="/v1/memories",method="POST"} 1.0' in text
    assert 'memex_memory_operations_total{operation="create"} 1.0' in text


async def test_the_defaults_of_a_search_are_the_configured_ones(run: Run):
    kept = Ranking(top_k=3, alpha=0.0, half_life_days=2.0, importance_weight=0.0)
    async with run(ranking=kept, app=App(name="my memory")) as service:
        ages = [timedelta(days=day) for day in range(10)]
        for age in random.sample(ages, len(ages)):
            await store(service.client, f"tea {age.days}", created_at=(datetime.now(UTC) - age).isoformat())
        hits = await search(service.client, "tea", explain=True)
        assert [hit["content"] for hit in hits] == ["tea 0", "tea 1", "tea 2"]
        assert hits[2]["score"] == pytest.approx(0.5, abs=0.01)
        assert (await service.client.get("/")).json()["service"] == "my memory"


async def test_a_first_search_finds_the_model_ready(run: Run):
    async with run() as service:
        await store(service.client, "green tea")
        service.encoder.forget()
        await asyncio.gather(*[search(service.client, f"question {n}") for n in range(20)])
        assert sorted(service.encoder.texts) == sorted(f"question {n}" for n in range(20))
        assert (await service.client.get("/readyz")).json()["checks"]["model"] is True
