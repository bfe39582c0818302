"""What the door does before and around every request, in raw ASGI where a client library would be in the way."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex import logs
from memex.api import bodies
from memex.api.hosts import Hosts
from memex.errors import Overloaded
from memex.metrics import Metrics
from memex.settings import Server
from tests.unit.api.conftest import Surface
from tests.unit.api.table import MEMORY, SEARCH

JSON = (b"content-type", b"application/json")
LOCAL = (b"host", b"localhost")
SMALL = b'{"agent_id": "a", "user_id": "u", "query": "q"}'


def http_scope(method: str, path: str, headers: Sequence[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }


async def exchange(
    surface: Surface,
    messages: Sequence[dict[str, Any]] = (),
    *headers: tuple[bytes, bytes],
    path: str = "/v1/memories/search",
    send_error: Exception | None = None,
) -> list[dict[str, Any]]:
    """The messages that the application sends."""
    waiting = iter([*messages, {"type": "http.disconnect"}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(message: dict[str, Any]) -> None:
        if send_error:
            raise send_error
        sent.append(message)

    app: Any = surface.app
    await app(http_scope("POST", path, headers), receive, send)
    return sent


def chunks(size: int, count: int) -> list[dict[str, Any]]:
    return [{"type": "http.request", "body": b"x" * size, "more_body": n < count - 1} for n in range(count)]


def counted(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and sample.value
    }


@pytest.mark.parametrize(
    ("host", "welcome"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("LOCALHOST:1", True),
        ("localhost.", True),
        ("memex.localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("127.8.9.1", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evillocalhost", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("evil.example#localhost", False),
        ("localhost:8000:8000", False),
        ("localhost/", False),
        ("0.0.0.0", False),
        ("192.168.1.5", False),
        ("[::2]", False),
        ("", False),
        (" localhost", False),
        ("localhost\n", False),
    ],
)
async def test_only_loopback_names_are_hosts_by_default(http: Surface, host: str, welcome: bool):
    sent = await exchange(http, chunks(1, 1), (b"host", host.encode()), JSON)
    assert (sent[0]["status"] == 422) is welcome
    assert (sent[0]["status"] == 403) is not welcome
    assert (b"host_refused" in sent[1]["body"]) is not welcome


async def test_a_missing_host_is_refused(http: Surface):
    assert (await exchange(http, chunks(1, 1), JSON))[0]["status"] == 403


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://localhost:3000", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:5173", True),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
        ("file://", False),
        ("chrome-extension://abcdef", False),
        ("", False),
        ("http://evil.example http://localhost", False),
    ],
)
async def test_no_web_page_from_elsewhere_gets_in(http: Surface, origin: str, welcome: bool):
    answer = await http.client.post("/v1/memories", json=MEMORY, headers={"origin": origin})
    assert answer.status_code == (201 if welcome else 403)
    assert "access-control-allow-origin" not in answer.headers
    assert len(http.backend.calls) == welcome


@pytest.mark.parametrize(
    ("host", "welcome"),
    [
        (b"memex.example", True),
        (b"memex.example:8443", True),
        (b"other.example:8443", True),
        (b"other.example", False),
        (b"other.example:80", False),
        (b"sub.memex.example", False),
        (b"localhost", True),
    ],
)
def test_the_setting_widens_the_list(host: bytes, welcome: bool):
    hosts = Hosts(["Memex.example", "other.example:8443"])
    assert hosts.welcome(host, None) is welcome
    assert hosts.welcome(b"localhost", b"https://" + host) is welcome


@pytest.mark.parametrize("repeated", ["host", "origin"])
async def test_a_header_that_says_who_is_meant_is_not_given_twice(http: Surface, repeated: str):
    headers = [("host", "localhost"), ("origin", "http://localhost"), (repeated, "evil.example")]
    answer = await http.client.post("/v1/memories", json=MEMORY, headers=headers)
    assert answer.status_code == 403
    assert http.backend.calls == []


def test_a_star_takes_all():
    hosts = Hosts(["*"])
    assert hosts.welcome(None, None)
    assert hosts.welcome(b"evil.example", b"null")


@given(host=st.binary(max_size=30), origin=st.none() | st.binary(max_size=30))
def test_any_bytes_are_judged_and_twice_alike(host: bytes, origin: bytes | None):
    hosts = Hosts([])
    assert hosts.welcome(host, origin) is hosts.welcome(host, origin)


class TestOnOneAddress:
    @pytest.fixture
    def server(self) -> Server:
        return Server(host="192.168.1.5")

    async def test_the_address_that_is_served_is_a_host(self, http: Surface):
        assert (await http.client.get("/livez", headers={"host": "192.168.1.5:8000"})).status_code == 200
        assert (await http.client.get("/livez", headers={"host": "192.168.1.6:8000"})).status_code == 403


class TestFull:
    @pytest.fixture
    def server(self) -> Server:
        return Server(max_in_flight=2)

    async def test_one_more_than_the_limit_is_refused_at_once_and_only_while_it_lasts(self, http: Surface):
        entered, leave = asyncio.Semaphore(0), asyncio.Event()
        backend: Any = http.backend
        answer = backend.run

        async def slow(*call: Any) -> Any:
            entered.release()
            await leave.wait()
            return await answer(*call)

        backend.run = slow
        waiting = [asyncio.create_task(http.client.post("/v1/memories/search", json=SEARCH)) for _ in range(2)]
        for _ in waiting:
            await entered.acquire()
        refused = await http.client.post("/v1/memories/search", json=SEARCH)
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert refused.json()["request_id"] == refused.headers["x-request-id"]
        assert int(refused.headers["retry-after"]) >= 1
        for path in ("/livez", "/readyz", "/health", "/metrics", "/health/"):
            assert (await http.client.get(path)).status_code == 200
        assert (await http.client.get("/docs")).status_code == 503
        leave.set()
        assert [(await task).status_code for task in waiting] == [200, 200]
        assert (await http.client.get("/docs")).status_code == 200
        assert counted(http.metrics, "memex_requests_refused_total") == {(Overloaded.code,): 2.0}
        assert counted(http.metrics, "memex_requests_in_flight") == {}

    async def test_failed_and_cancelled_requests_give_their_place_back(self, http: Surface):
        http.backend.failure = RuntimeError()
        for _ in range(4):
            assert (await http.client.post("/v1/memories/search", json=SEARCH)).status_code == 500
        http.backend.failure = asyncio.CancelledError()
        for _ in range(4):
            with pytest.raises(asyncio.CancelledError):
                await http.client.post("/v1/memories/search", json=SEARCH)
        http.backend.failure = None
        assert (await http.client.post("/v1/memories/search", json=SEARCH)).status_code == 200


@pytest.mark.parametrize("size", [20_001, 10**9])
async def test_a_declared_length_over_the_limit_is_refused_unread(http: Surface, size: int):
    sent = await exchange(http, [], LOCAL, JSON, (b"content-length", b"%d" % size))
    assert sent[0]["status"] == 413
    assert b'"code":"body_too_large"' in sent[1]["body"]


async def test_a_length_of_countless_digits_is_refused(http: Surface):
    assert (await exchange(http, [], LOCAL, JSON, (b"content-length", b"9" * 9000)))[0]["status"] == 413


@pytest.mark.parametrize(("size", "count", "status"), [(1000, 20, 422), (1000, 21, 413), (1, 20_001, 413)])
async def test_a_body_of_unknown_length_is_counted(http: Surface, size: int, count: int, status: int):
    sent = await exchange(http, chunks(size, count), LOCAL, JSON, (b"transfer-encoding", b"chunked"))
    assert sent[0]["status"] == status


async def test_a_body_in_pieces_is_put_together(http: Surface):
    pieces = [{"type": "http.request", "body": bytes([byte]), "more_body": True} for byte in SMALL]
    sent = await exchange(http, [*pieces, {"type": "http.request"}], LOCAL, JSON)
    assert sent[0]["status"] == 200


async def test_a_body_that_never_ends_is_given_up(http: Surface, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app: Any = http.app
    await app(http_scope("POST", "/v1/memories", [LOCAL, JSON]), receive, send)
    assert sent[0]["status"] == 408
    assert b'"code":"request_timeout"' in sent[1]["body"]
    assert counted(http.metrics, "memex_requests_in_flight") == {}


@pytest.mark.parametrize("given_id", ["abc", "A-b_c.9", "x" * 64])
async def test_a_harmless_request_id_is_kept(http: Surface, given_id: str):
    answer = await http.client.get("/nowhere", headers={"x-request-id": given_id})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == given_id


@pytest.mark.parametrize("given_id", ["", "x" * 65, "a b", "a\tb", 'a"b', "ä", "a/b"])
async def test_any_other_request_id_is_replaced(http: Surface, given_id: str):
    headers = [(b"x-request-id", given_id.encode())]
    answers = [await http.client.get("/", headers=headers) for _ in range(2)]
    made = {answer.headers["x-request-id"] for answer in answers}
    assert len(made) == 2
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in made)


async def test_log_lines_carry_the_request_id_of_their_request(http: Surface, caplog: pytest.LogCaptureFixture):
    seen: list[str] = []

    class Noting(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            seen.append(logs.request_id.get())
            return True

    caplog.handler.addFilter(Noting())
    http.backend.failure = RuntimeError()
    await http.client.post("/v1/memories/search", json=SEARCH, headers={"x-request-id": "mine"})
    assert seen
    assert set(seen) == {"mine"}
    assert logs.request_id.get() == "-"


async def test_handlers_in_metrics_are_route_templates(http: Surface):
    client = http.client
    await client.post("/v1/memories/search", json=SEARCH)
    await client.post("/v1/memories/search/", json={})
    await client.delete("/v1/memories/11111111-1111-1111-1111-111111111111?agent_id=a")
    await client.delete("/v1/memories/22222222-2222-2222-2222-222222222222?agent_id=a")
    for n in range(5):
        await client.get(f"/secret-{n}")
        await client.request(f"BREW{n}", "/livez")
    await client.get("/livez", headers={"host": "evil.example"})
    assert counted(http.metrics, "http_requests_total") == {
        ("POST", "2xx", "/v1/memories/search"): 1,
        ("POST", "4xx", "/v1/memories/search"): 1,
        ("DELETE", "4xx", "/v1/memories/{memory_id}"): 2,
        ("GET", "4xx", "unmatched"): 5,
        ("OTHER", "4xx", "unmatched"): 5,
        ("GET", "4xx", "refused"): 1,
    }
    timed = counted(http.metrics, "http_request_duration_seconds_count")
    assert timed[("POST", "/v1/memories/search")] == 2
    assert sum(timed.values()) == 14
    assert counted(http.metrics, "http_request_duration_highr_seconds_count") == {(): 14}
    assert counted(http.metrics, "memex_requests_refused_total") == {("host_refused",): 1}


async def test_the_metrics_route_shows_them(http: Surface):
    await http.client.get("/livez")
    answer = await http.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'http_requests_total{handler="/livez",method="GET",status="2xx"} 1.0' in answer.text


@pytest.fixture
async def gone(http: Surface, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Surface]:
    """Whatever the client does: its own status, no 5xx, no trace."""
    yield http
    assert counted(http.metrics, "http_requests_total") == {("POST", "499", "/v1/memories/search"): 1}
    assert [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR] == []
    assert counted(http.metrics, "memex_requests_in_flight") == {}


@pytest.mark.parametrize("messages", [[], chunks(1, 3)[:2]], ids=["at once", "in the middle"])
async def test_a_client_that_leaves_before_its_body_is_complete(gone: Surface, messages: list[dict[str, Any]]):
    await exchange(gone, messages, LOCAL, JSON)
    assert gone.backend.calls == []


async def test_a_client_that_leaves_before_its_answer(gone: Surface):
    message = {"type": "http.request", "body": SMALL}
    await exchange(gone, [message], LOCAL, JSON, send_error=BrokenPipeError())
    assert len(gone.backend.calls) == 1


async def test_a_request_that_the_server_cancels(gone: Surface):
    gone.backend.failure = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await exchange(gone, [{"type": "http.request", "body": SMALL}], LOCAL, JSON)


async def test_a_websocket_is_closed(http: Surface):
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app: Any = http.app
    await app({"type": "websocket", "path": "/", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_the_life_of_the_process_is_answered(http: Surface):
    steps = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(steps)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app: Any = http.app
    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.mark.parametrize(("status", "level"), [(200, "DEBUG"), (422, "INFO")])
async def test_a_request_is_told_in_the_log_without_its_content(
    http: Surface, caplog: pytest.LogCaptureFixture, status: int, level: str
):
    caplog.set_level(logging.DEBUG, "memex.access")
    body = SEARCH if status == 200 else {"query": "secret"}
    await http.client.post("/v1/memories/search?token=secret", json=body)
    (record,) = [record for record in caplog.records if record.name == "memex.access"]
    assert record.levelname == level
    assert record.getMessage().startswith(f"POST /v1/memories/search {status} ")
    assert "secret" not in caplog.text
