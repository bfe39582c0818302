"""Statuses, bodies and headers of every route."""

import gzip
import uuid
from typing import Any

import pytest

from memex import errors
from memex.api import problems
from memex.api.memories import Holding
from memex.api.queries import Query
from memex.model import NewMemory, SearchQuery
from memex.settings import Api, Limits, UnknownFields
from tests.oracles.contract import FIRST_EIGHT
from tests.unit.api.conftest import KNOWN, Surface
from tests.unit.api.table import MEMORY, SEARCH

OWNER = {"agent_id": "assistant"}
HELD = {"agent_id": "assistant", "user_id": "ana"}


async def test_a_memory_is_stored(http: Surface):
    answer = await http.client.post("/v1/memories", json=MEMORY | {"importance": "1.5", "tags": ["a", "a"]})
    assert answer.status_code == 201
    assert list(answer.json())[:8] == FIRST_EIGHT
    assert answer.json()["score"] is None
    stored = NewMemory(agent_id="assistant", user_id="ana", content=MEMORY["content"], importance=1.5, tags=["a"])
    assert http.backend.calls == [("add", "assistant", stored)]


async def test_an_external_id_met_again_is_200(http: Surface):
    sent = MEMORY | {"external_id": "x"}
    statuses = [(await http.client.post("/v1/memories", json=sent)).status_code for _ in range(2)]
    assert statuses == [201, 200]


async def test_a_search_is_answered(http: Surface):
    answer = await http.client.post("/v1/memories/search", json=SEARCH | {"top_k": 5.0, "alpha": True})
    assert answer.status_code == 200
    assert list(answer.json()) == ["results", "query", "total"]
    assert list(answer.json()["results"][0])[:8] == FIRST_EIGHT
    assert "duplicates" not in answer.json()["results"][0]
    query = SearchQuery(agent_id="assistant", user_id="ana", query=SEARCH["query"], top_k=5, alpha=1.0)
    assert http.backend.calls == [("search", "assistant", query)]


async def test_a_delete_is_204_without_a_body(http: Surface):
    answer = await http.client.delete(f"/v1/memories/{KNOWN}", params=OWNER | {"user_id": "a::b/c?d#e %20 ü+"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-type" not in answer.headers
    assert http.backend.calls == [("delete", "assistant", KNOWN, "a::b/c?d#e %20 ü+")]


async def test_a_delete_of_an_unknown_memory_is_404(http: Surface):
    answer = await http.client.delete(f"/v1/memories/{uuid.uuid4()}", params=OWNER)
    assert answer.status_code == 404
    assert answer.json() == {
        "detail": "Memory not found or does not belong to this agent.",
        "code": "not_found",
        "request_id": answer.headers["x-request-id"],
    }


async def test_a_count_is_answered(http: Surface):
    answer = await http.client.get("/v1/memories/count", params=HELD)
    assert (answer.status_code, answer.json()) == (200, HELD | {"count": 3})


@pytest.mark.parametrize("form", [str(KNOWN), KNOWN.hex, str(KNOWN).upper(), f"urn:uuid:{KNOWN}"])
async def test_a_uuid_has_several_forms(http: Surface, form: str):
    assert (await http.client.delete(f"/v1/memories/{form}", params=OWNER)).status_code == 204


@pytest.mark.parametrize(
    "form",
    ["x", "5", "019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7", "0_9876a45a3e7c219d0e2f6b8c4d1e7a", "%00", "..%00", "é" * 9],
)
async def test_another_path_is_no_uuid_and_all_faults_are_told(http: Surface, form: str):
    answer = await http.client.delete(f"/v1/memories/{form}", params={"user": "ana"})
    assert answer.status_code == 422
    found = {(*problem["loc"], problem["type"]) for problem in answer.json()["detail"]}
    assert found == {
        ("path", "memory_id", "uuid_parsing"),
        ("query", "agent_id", "missing"),
        ("query", "user", "extra_forbidden"),
    }
    assert http.backend.calls == []


@pytest.mark.parametrize(
    ("query", "field", "fault"),
    [
        ("agent_id=a", "user_id", "missing"),
        ("user_id=u", "agent_id", "missing"),
        ("agent_id=&user_id=u", "agent_id", "string_too_short"),
        ("agent_id=a&user_id=%20%09", "user_id", "value_error"),
        ("agent_id=a&user_id=+", "user_id", "value_error"),
        ("agent_id=a%00&user_id=u", "agent_id", "value_error"),
        ("agent_id=a&user_id=%ff", "user_id", "value_error"),
        ("agent_id=a&user_id=%ed%a0%80", "user_id", "value_error"),
        (f"agent_id=a&user_id={'u' * 129}", "user_id", "string_too_long"),
        ("agent_id=a&user_id=u&user_id=v", "user_id", "value_error"),
        ("agent_id=a&user_id=u&user_id=u", "user_id", "value_error"),
        ("agent_id=a&user_id=u&agent=b", "agent", "extra_forbidden"),
    ],
)
async def test_a_query_string_is_held_to_the_same_rules(http: Surface, query: str, field: str, fault: str):
    answer = await http.client.get(f"/v1/memories/count?{query}")
    assert answer.status_code == 422
    assert [(p["loc"], p["type"]) for p in answer.json()["detail"]] == [(["query", field], fault)]
    assert http.backend.calls == []


async def test_a_query_string_of_too_many_parameters_is_refused(http: Surface):
    answer = await http.client.get("/v1/memories/count?" + "&".join(f"x{n}=1" for n in range(1000)))
    assert answer.status_code == 422


async def test_every_fault_of_a_body_is_in_one_answer(http: Surface):
    answer = await http.client.post("/v1/memories/search", json={"agent_id": 5, "top_k": 0, "fliters": {}})
    assert answer.status_code == 422
    body = answer.json()
    assert (body["code"], body["request_id"]) == ("invalid_request", answer.headers["x-request-id"])
    assert body["detail"] == [
        {"type": "string_type", "loc": ["body", "agent_id"], "msg": "Input should be a valid string", "input": 5},
        {
            "type": "missing",
            "loc": ["body", "user_id"],
            "msg": "Field required",
            "input": {"agent_id": 5, "top_k": 0, "fliters": {}},
        },
        {
            "type": "missing",
            "loc": ["body", "query"],
            "msg": "Field required",
            "input": {"agent_id": 5, "top_k": 0, "fliters": {}},
        },
        {
            "type": "greater_than_equal",
            "loc": ["body", "top_k"],
            "msg": "Input should be greater than or equal to 1",
            "input": 0,
        },
        {"type": "extra_forbidden", "loc": ["body", "fliters"], "msg": "Extra inputs are not permitted", "input": {}},
    ]
    assert http.backend.calls == []


class TestLenient:
    @pytest.fixture
    def api_settings(self) -> Api:
        return Api(unknown_fields=UnknownFields.IGNORE)

    async def test_unknown_names_are_dropped(self, http: Surface):
        assert (await http.client.post("/v1/memories", json=MEMORY | {"x": 1})).status_code == 201
        assert (await http.client.post("/v1/memories/search", json=SEARCH | {"x": 1})).status_code == 200
        assert (await http.client.get("/v1/memories/count", params=HELD | {"x": "1"})).status_code == 200
        assert (await http.client.delete(f"/v1/memories/{KNOWN}", params=OWNER | {"x": "1"})).status_code == 204


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/search"])
@pytest.mark.parametrize("declared", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_body_that_is_not_declared_as_json_is_415(http: Surface, path: str, declared: str):
    answer = await http.client.post(path, content=b"{}", headers={"content-type": declared})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/batch", "/v1/memories/delete", "/mcp"])
@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
async def test_a_compressed_body_is_415(http: Surface, path: str, media: str):
    for coding in ("gzip", "BR", "identity, gzip"):
        headers = {"content-type": media, "content-encoding": coding}
        answer = await http.client.post(path, content=gzip.compress(b"[]"), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert http.backend.calls == []


async def test_a_body_that_says_it_is_plain_is_read(http: Surface):
    plain = {"content-encoding": "Identity"}
    assert (await http.client.post("/v1/memories", json=MEMORY, headers=plain)).status_code == 201


async def test_an_undeclared_body_is_read_as_json(http: Surface):
    assert (await http.client.post("/v1/memories/search", content=b"{}")).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/memories/search", {"POST", "OPTIONS"}),
        ("DELETE", "/v1/memories/search", {"POST", "OPTIONS"}),
        ("PUT", "/v1/memories", {"GET", "POST", "OPTIONS"}),
        ("DELETE", "/v1/memories/count", {"GET", "OPTIONS"}),
        ("PUT", f"/v1/memories/{KNOWN}", {"GET", "PATCH", "DELETE", "OPTIONS"}),
        ("GET", f"/v1/memories/{KNOWN}/archive", {"POST", "OPTIONS"}),
        ("POST", "/health", {"GET", "HEAD", "OPTIONS"}),
        ("HEAD", "/v1/memories/count", {"GET", "OPTIONS"}),
        ("HEAD", "/metrics", {"GET", "OPTIONS"}),
        ("BREW", "/", {"GET", "HEAD", "OPTIONS"}),
    ],
)
async def test_a_wrong_method_is_405_and_says_which_are_right(http: Surface, method: str, path: str, allow: set[str]):
    answer = await http.client.request(method, path)
    assert answer.status_code == 405
    assert method == "HEAD" or answer.json()["code"] == "method_not_allowed"
    assert set(answer.headers["allow"].split(", ")) == allow


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/", f"/v1/memories/{KNOWN}", "/health", "/mcp"])
async def test_options_names_all_methods_of_a_path(http: Surface, path: str):
    answer = await http.client.options(path)
    refused = await http.client.request("BREW", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert sorted(answer.headers["allow"].split(", ")) == sorted(refused.headers["allow"].split(", "))


@pytest.mark.parametrize("healthy", [True, False])
@pytest.mark.parametrize("path", ["/health", "/livez", "/readyz", "/"])
async def test_head_is_answered_as_get_without_the_body(http: Surface, path: str, healthy: bool):
    http.backend.healthy = healthy
    got, asked = await http.client.get(path), await http.client.head(path)
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert asked.headers["content-length"] == str(len(got.content))
    assert asked.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize("path", ["/v2/memories", "/v1", "/v1/memories/x/y", "/docs/x", "/favicon.ico"])
async def test_an_unknown_route_is_404_in_the_error_shape(http: Surface, path: str):
    answer = await http.client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {
        "detail": "No such route. GET /openapi.json lists them.",
        "code": "route_not_found",
        "request_id": answer.headers["x-request-id"],
    }


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("POST", "/v1/memories/", {"json": MEMORY}, 201),
        ("POST", "/v1/memories/search/", {"json": SEARCH}, 200),
        ("DELETE", f"/v1/memories/{KNOWN}/", {"params": OWNER}, 204),
        ("GET", "/v1/memories/count/", {"params": HELD}, 200),
        *(("GET", f"{p}/", {}, 200) for p in ("/health", "/livez", "/readyz", "/metrics", "/docs", "/redoc")),
        ("GET", "/openapi.json/", {}, 200),
    ],
)
async def test_a_trailing_slash_works(http: Surface, method: str, path: str, sent: dict[str, Any], status: int):
    assert (await http.client.request(method, path, **sent)).status_code == status


async def test_health_is_503_with_the_same_shape_when_degraded(http: Surface):
    good = await http.client.get("/health")
    assert (good.status_code, good.json()) == (200, {"status": "ok", "db": "ok", "version": "0.0.0"})
    http.backend.healthy = False
    bad = await http.client.get("/health")
    assert (bad.status_code, bad.json()) == (503, {"status": "degraded", "db": "error", "version": "0.0.0"})


async def test_readiness_says_what_is_missing_and_life_asks_nothing(http: Surface):
    assert (await http.client.get("/readyz")).json() == {"status": "ready", "checks": {"store": True, "model": True}}
    http.backend.healthy = False
    answer = await http.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "checks": {"store": False, "model": True}}
    assert (await http.client.get("/livez")).json() == {"status": "ok"}


async def test_the_root_tells_programs_what_this_is_and_takes_people_to_the_page(http: Surface):
    program = await http.client.get("/")
    assert program.json().keys() == {"service", "version", "docs"}
    assert (program.json()["service"], program.json()["docs"]) == ("memex", "/docs")
    person = await http.client.get("/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (person.status_code, person.headers["location"]) == (307, "/docs")


class TestLimited:
    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(writes_per_minute=1, searches_per_minute=2)

    async def test_answers_tell_what_is_left_and_refusals_when_to_come_back(self, http: Surface):
        answers = [await http.client.post("/v1/memories/search", json=SEARCH) for _ in range(3)]
        assert [a.status_code for a in answers] == [200, 200, 429]
        assert [a.headers["ratelimit-remaining"] for a in answers] == ["1", "0", "0"]
        assert {a.headers["ratelimit-limit"] for a in answers} == {"2"}
        refused = answers[2]
        assert refused.json()["detail"] == "Search rate limit exceeded (3 searches this minute)."
        assert refused.json()["code"] == "rate_limited"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"]

    async def test_writes_have_their_own_limit(self, http: Surface):
        answers = [await http.client.post("/v1/memories", json=MEMORY) for _ in range(2)]
        assert [a.status_code for a in answers] == [201, 429]
        detail = answers[1].json()["detail"]
        assert detail == "Write rate limit exceeded (2 writes this minute). Retry in the next minute."


async def test_without_a_limit_there_are_no_limit_headers(http: Surface):
    answer = await http.client.post("/v1/memories/search", json=SEARCH)
    assert [name for name in answer.headers if name.startswith("ratelimit")] == []


def instance(kind: type[errors.MemexError]) -> errors.MemexError:
    if kind is errors.Invalid:
        return errors.Invalid([errors.Problem("value_error", ("body", "content"), "too long")])
    if kind is errors.RateLimited:
        return errors.RateLimited("Too many.", limit=5, reset=7)
    return kind("What happened.")


def tree(kind: type[errors.MemexError]) -> list[type[errors.MemexError]]:
    return [kind, *(child for below in kind.__subclasses__() for child in tree(below))]


KINDS = [kind for kind in tree(errors.MemexError) if kind.__module__ == errors.__name__]


def test_the_table_holds_every_error():
    assert set(problems.STATUS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_an_error_of_a_service_is_answered_by_the_table(http: Surface, kind: type[errors.MemexError]):
    http.backend.failure = instance(kind)
    answer = await http.client.post("/v1/memories/search", json=SEARCH)
    assert answer.status_code == problems.STATUS[kind]
    body = answer.json()
    assert (body["code"], body["request_id"]) == (kind.code, answer.headers["x-request-id"])
    assert ("retry-after" in answer.headers) is (answer.status_code in (429, 503))
    if answer.status_code == 500:
        assert body["detail"] == problems.INTERNAL


@pytest.mark.parametrize("failure", [RuntimeError("secret /path"), ZeroDivisionError("secret"), KeyError("secret")])
async def test_what_nobody_foresaw_is_500_and_only_the_log_knows_why(
    http: Surface, failure: Exception, caplog: pytest.LogCaptureFixture
):
    http.backend.failure = failure
    answer = await http.client.post("/v1/memories/search", json=SEARCH, headers={"x-request-id": "abc"})
    assert answer.status_code == 500
    assert answer.json() == {"detail": problems.INTERNAL, "code": "internal_error", "request_id": "abc"}
    assert "secret" not in answer.text
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [failure]


@pytest.mark.parametrize("raw", ["agent_id=ü&user_id=小".encode(), b"agent_id=%C3%BC&user_id=%E5%B0%8F"])
def test_an_id_is_the_same_escaped_or_not(raw: bytes):
    holding = Query(Holding).read(raw)
    assert (holding.agent_id, holding.user_id) == ("ü", "小")


@pytest.mark.parametrize("raw", [b"agent_id=\xff&user_id=a", b"agent_id=%ff&user_id=a"])
def test_bytes_that_are_no_text_are_refused(raw: bytes):
    with pytest.raises(errors.Invalid) as refused:
        Query(Holding).read(raw)
    (problem,) = refused.value.problems
    assert problem.loc == ("query", "agent_id")
    assert problem.msg == "Value error, text must be UTF-8"
