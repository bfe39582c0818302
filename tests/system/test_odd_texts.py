"""Texts that say nothing, with the model that users get: they come before nothing that says something."""

from collections.abc import Callable

import pytest

from memex.model import Mode
from tests.fixtures.process import Process

pytestmark = pytest.mark.xdist_group("system")
OWNER = {"agent_id": "helper", "user_id": "ana"}
MARKS = [".", "?", "…", "。。。", "-- --", "\u200b\u200b\u2060!", "\ue000\ue001", "\u0301", '"\'"']
SAYING = [
    "The ferry to Bergen leaves at noon",
    "Invoice 71033 was paid in May",
    "The garage code is 4711",
    "Ana prefers green tea in the morning",
    "The build breaks when OpenSSL is missing",
]
QUESTIONS = {
    "When does the ferry leave?": SAYING[0],
    "what is the code for the garage": SAYING[2],
    "which tea does she drink": SAYING[3],
    "who won the world cup": None,
    "quantum chromodynamics": None,
    "colour of the car": None,
}


def test_marks_alone_come_before_nothing_that_says_something(serve: Callable[..., Process], database: str):
    service = serve(DATABASE_URL=database, RATE_LIMIT_SEARCHES_PER_MINUTE="0").ready()
    with service.client() as client:
        for content in (*SAYING, *MARKS):
            stored = client.post("/v1/memories", json=OWNER | {"content": content, "created_at": "2026-11-01"})
            assert stored.status_code == 201
        for question, wanted in QUESTIONS.items():
            for mode in Mode:
                body = OWNER | {"query": question, "mode": mode, "alpha": 1, "top_k": 50, "explain": True}
                hits = client.post("/v1/memories/search", json=body).json()["results"]
                assert {hit["content"] for hit in hits} == {*SAYING, *MARKS}
                assert {hit["explain"]["cosine"] for hit in hits if hit["content"] in MARKS} == {None}
                if mode is not Mode.KEYWORD:
                    assert hits[0]["content"] in ([wanted] if wanted else SAYING), (question, mode)
    assert service.stop() == 0
