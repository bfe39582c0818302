"""SIGTERM lets requests end; nothing hangs and nothing is printed that should not be."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable

import httpx
import psutil
import pytest

from memex.app.server import STEADY_SECONDS
from tests.fixtures.process import Process, signalled, speaks_of
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
OWNER = {"agent_id": "helper", "user_id": "ana"}


def test_requests_in_flight_are_answered(serve: Callable[..., Process]):
    service = serve().ready()
    with service.client() as client:
        client.post("/v1/memories", json=OWNER | {"content": "Ana went swimming"})
    outcomes: list[int] = []
    gone: list[str] = []
    started = threading.Barrier(51)

    def ask(number: int) -> None:
        with service.client() as client:
            client.get("/livez")  # the connection is there before the signal
            started.wait(PATIENCE)
            try:
                body = OWNER | {"query": f"What happened on day {number}?"}
                outcomes.append(client.post("/v1/memories/search", json=body).status_code)
            except httpx.TransportError as error:
                gone.append(type(error).__name__)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    started.wait(PATIENCE)
    # Every request has arrived; a connection that is idle at the signal is closed, and rightly so.
    until(lambda: len(outcomes) + len(gone) + in_flight(service) >= 50)
    service.popen.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(PATIENCE)
    assert service.popen.wait(PATIENCE) == 0
    assert gone == []
    assert len(outcomes) == 50
    assert set(outcomes) <= {200, 503}
    assert "Traceback" not in service.output()


def in_flight(service: Process) -> int:
    """Requests in work, without the one that asks."""
    return gauge(service, "memex_requests_in_flight") - 1


def gauge(service: Process, name: str) -> int:
    text = httpx.get(f"{service.url}/metrics").text
    return int(float(re.findall(rf"^{name} (\S+)", text, re.MULTILINE)[0]))


def test_idle_keep_alive_connections_do_not_hold_it_up(serve: Callable[..., Process]):
    service = serve().ready()
    with service.client() as client:
        assert client.get("/livez").status_code == 200
        assert service.stop() == 0
    assert "Traceback" not in service.output()


def test_ctrl_c_is_a_clean_stop_too(serve: Callable[..., Process]):
    service = serve().ready()
    service.popen.send_signal(signal.SIGINT)
    assert service.popen.wait(PATIENCE) == 0


def test_a_worker_that_dies_is_replaced(serve: Callable[..., Process]):
    service = serve().ready()
    (worker,) = service.workers()
    worker.kill()
    psutil.wait_procs([worker], timeout=PATIENCE)
    service.ready()
    assert service.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_being_told_many_times_is_being_told_once(serve: Callable[..., Process], number: signal.Signals):
    service = serve(WORKERS="2").ready()
    until(lambda: gauge(service, "memex_db_pool_size") == 4)  # the second worker is there too
    processes = [*psutil.Process(service.popen.pid).children(), psutil.Process(service.popen.pid)]
    for _ in range(5):
        for process in processes:
            if not speaks_of(process, "postgres"):
                signalled(process, number if process.pid == service.popen.pid else signal.SIGTERM)
    assert service.popen.wait(PATIENCE) == 0
    output = service.output()
    assert "gracefully stop" not in output
    assert "Traceback" not in output


def test_ctrl_c_in_a_terminal_reaches_the_service_alone(serve: Callable[..., Process]):
    service = serve().ready()
    group = os.getpgid(service.popen.pid)
    workers = service.workers()
    assert workers
    assert all(os.getpgid(worker.pid) != group for worker in workers)


@pytest.mark.parametrize("command", [("serve",), ("mcp", "--transport", "http")])
def test_ctrl_c_while_workers_start_prints_no_trace(serve: Callable[..., Process], command: tuple[str, ...]):
    """In a terminal it comes to the whole group, to a worker that still loads too."""
    service = serve(command=command)
    until(lambda: bool(service.workers()))
    os.killpg(service.popen.pid, signal.SIGINT)
    assert service.popen.wait(PATIENCE) == 0
    assert "Traceback" not in service.output()


def test_workers_that_die_one_after_the_other_are_replaced_in_a_steady_service(serve: Callable[..., Process]):
    service = serve().ready()
    ready = time.monotonic()
    until(lambda: time.monotonic() - ready > STEADY_SECONDS)  # it has shown that it can run
    with service.client() as client:
        stored = client.post("/v1/memories", json=OWNER | {"content": "Ana went swimming"}).json()["id"]
    for _ in range(3):
        until(lambda: bool(service.workers()))
        for worker in service.workers():
            signalled(worker, signal.SIGKILL)
            psutil.wait_procs([worker], timeout=PATIENCE)
    service.ready()
    with service.client() as client:
        assert client.delete(f"/v1/memories/{stored}", params={"agent_id": "helper"}).status_code == 204
    assert service.stop() == 0
