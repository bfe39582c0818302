"""What was acknowledged is there, whatever is killed, and whoever asks."""

import itertools
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.fixtures.process import Process, is_up, signalled
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]
OWNER = {"agent_id": "helper", "user_id": "ana"}
IN_TIME = 15.0
"""Seconds for an answer without a database: the command timeout of 2 s and room for a slow machine."""


def remember(client: httpx.Client, content: str, **fields) -> httpx.Response:
    return client.post("/v1/memories", json=OWNER | {"content": content} | fields)


def found(client: httpx.Client, query: str, **fields) -> set[str]:
    body = OWNER | {"query": query, "top_k": 50} | fields
    response = client.post("/v1/memories/search", json=body)
    assert response.status_code == 200, response.text
    return {hit["id"] for hit in response.json()["results"]}


def count(client: httpx.Client) -> int:
    return int(client.get("/v1/memories/count", params=OWNER).json()["count"])


class Writer(threading.Thread):
    """Writes until it is told to stop; remembers the ids that were acknowledged."""

    def __init__(self, process: Process, name: str):
        super().__init__(name=name)
        self.process = process
        self.acknowledged: list[str] = []
        self.done = threading.Event()

    def run(self) -> None:
        with self.process.client() as client:
            for number in itertools.count():
                if self.done.is_set():
                    return
                try:
                    response = remember(client, f"{self.name} saw {number} swans")
                except httpx.TransportError:
                    if self.process.popen.poll() is not None:
                        return
                    continue
                if response.status_code == 201:
                    self.acknowledged.append(response.json()["id"])


class Changer(threading.Thread):
    """Changes one memory until the service goes; remembers the versions that were acknowledged."""

    def __init__(self, process: Process, name: str):
        super().__init__(name=name)
        self.process = process
        self.memory = ""
        self.acknowledged: list[int] = []

    def run(self) -> None:
        with self.process.client() as client:
            self.memory = remember(client, f"{self.name} saw no swans").json()["id"]
            for number in itertools.count():
                body = {"content": f"{self.name} saw {number} swans", "metadata": {"number": number}}
                try:
                    response = client.patch(f"/v1/memories/{self.memory}", params={"agent_id": "helper"}, json=body)
                except httpx.TransportError:
                    return
                self.acknowledged.append(response.json()["version"])


def writing(process: Process, least: int = 15) -> list[Writer]:
    """Writers that are in the middle of their work."""
    writers = [Writer(process, name) for name in ("Bo", "Cleo", "Dag", "Eva")]
    for writer in writers:
        writer.start()
    until(lambda: all(len(writer.acknowledged) >= least for writer in writers))
    return writers


def stored(process: Process, ids: set[str]) -> bool:
    """Whether each of `ids` can be deleted, which proves that it was there; the search index must agree before."""
    with process.client() as client:
        assert count(client) >= len(ids)
        return all(
            client.delete(f"/v1/memories/{memory}", params={"agent_id": "helper"}).status_code == 204 for memory in ids
        )


def test_a_restart_finds_everything(serve: Serve):
    first = serve().ready()
    with first.client() as client:
        memory = remember(client, "Ana plays the cello").json()["id"]
    assert first.stop() == 0
    second = serve().ready()
    with second.client() as client:
        assert found(client, "Which instrument does Ana play?") == {memory}
    assert second.stop() == 0


def test_killing_the_service_in_the_middle_of_writes_loses_nothing_acknowledged(serve: Serve):
    service = serve().ready()
    writers = writing(service)
    service.kill()
    for writer in writers:
        writer.join(PATIENCE)
    acknowledged = {memory for writer in writers for memory in writer.acknowledged}
    assert len(acknowledged) >= 60
    assert stored(serve().ready(), acknowledged)


def test_killing_the_service_in_the_middle_of_changes_loses_none_acknowledged(serve: Serve):
    service = serve().ready()
    changers = [Changer(service, name) for name in ("Bo", "Cleo")]
    for changer in changers:
        changer.start()
    until(lambda: all(len(changer.acknowledged) >= 15 for changer in changers))
    service.kill()
    for changer in changers:
        changer.join(PATIENCE)
    with serve().ready().client() as client:
        for changer in changers:
            last = changer.acknowledged[-1]
            path = f"/v1/memories/{changer.memory}/history"
            versions = client.get(path, params={"agent_id": "helper", "limit": 1000}).json()["versions"]
            # One more may have been stored that was not answered any more.
            assert versions[0]["version"] in (last, last + 1)
            assert [version["version"] for version in versions[::-1]] == list(range(1, len(versions) + 1))
            assert [version["metadata"].get("number") for version in versions[-2::-1]] == list(range(len(versions) - 1))
            assert changer.memory in found(client, versions[0]["content"])


def test_killing_postgres_in_the_middle_of_writes_loses_nothing_acknowledged(serve: Serve):
    service = serve().ready()
    writers = writing(service)
    killed = service.postmaster()
    killed.kill()
    before = [len(writer.acknowledged) for writer in writers]
    # The service is not restarted: it must find the restarted server by itself.
    until(lambda: all(len(w.acknowledged) > n + 5 for w, n in zip(writers, before, strict=True)))
    for writer in writers:
        writer.done.set()
        writer.join(PATIENCE)
    assert service.postmaster().pid != killed.pid
    assert stored(service, {memory for writer in writers for memory in writer.acknowledged})


def test_a_stopped_database_is_503_in_time_and_recovers_by_itself(serve: Serve):
    service = serve(DB_COMMAND_TIMEOUT="2", MEMEX_DATABASE_POOL_TIMEOUT="1").ready()
    with service.client() as client:
        remember(client, "Ana collects stamps")
        client.timeout = httpx.Timeout(IN_TIME)
        postmaster = service.postmaster()
        frozen = [postmaster, *postmaster.children(recursive=True)]
        for process in frozen:
            signalled(process, signal.SIGSTOP)
        try:
            for response in (
                remember(client, "Ana sold her stamps"),
                client.post("/v1/memories/search", json=OWNER | {"query": "stamps"}),
                client.get("/v1/memories/count", params=OWNER),
                client.get("/health"),
            ):
                assert response.status_code == 503, response.text
            assert client.get("/livez").status_code == 200
            assert client.get("/health").json()["status"] == "degraded"
        finally:
            for process in frozen:
                signalled(process, signal.SIGCONT)
        until(lambda: client.get("/health").status_code == 200)
        assert len(found(client, "stamps")) >= 1


def test_a_worker_that_starts_while_the_database_is_away_serves_when_it_is_back(serve: Serve):
    service = serve(DB_COMMAND_TIMEOUT="2").ready()
    with service.client() as client:
        memory = remember(client, "Ana collects stamps").json()["id"]
    postmaster = service.postmaster()
    frozen = [postmaster, *postmaster.children(recursive=True)]
    for process in frozen:
        signalled(process, signal.SIGSTOP)
    try:
        (worker,) = service.workers()
        worker.kill()
        until(lambda: is_up(f"{service.url}/livez"))
    finally:
        for process in frozen:
            signalled(process, signal.SIGCONT)
    service.ready()
    with service.client() as client:
        assert found(client, "stamps") == {memory}
    assert service.stop() == 0


def test_two_processes_on_one_data_directory_read_each_others_writes(serve: Serve):
    services = [serve(), serve()]
    clients = [service.ready().client() for service in services]
    try:
        for number in range(20):
            writer, reader = clients[number % 2], clients[1 - number % 2]
            memory = remember(writer, f"Ana has visited {number} islands").json()["id"]
            assert memory in found(reader, f"{number} islands")
            if number % 3 == 0:
                assert writer.delete(f"/v1/memories/{memory}", params={"agent_id": "helper"}).status_code == 204
                assert memory not in found(reader, f"{number} islands")
    finally:
        for client in clients:
            client.close()
    # The first one started the database; the second goes on without it.
    assert services[0].stop() == 0
    with services[1].client() as client:
        until(lambda: client.get("/health").status_code == 200)
        assert count(client) == 13
    assert services[1].stop() == 0


def test_a_deleted_data_directory_is_not_taken_for_an_empty_one(serve: Serve, home: Path):
    serve().ready().stop()
    (home / "data" / "postgres" / "PG_VERSION").unlink()
    service = serve()
    assert service.popen.wait(PATIENCE) != 0
    assert "memex: " in service.output()
