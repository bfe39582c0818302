"""The service as the measurements start it."""

import httpx
import psutil

from bench.services.reference import reference
from tests.fixtures.process import speaks_of


def test_all_its_processes_are_known_and_end_with_it():
    with reference(workers=2) as running:
        postgres, service = running.postgres_processes(), running.service_processes()
        assert speaks_of(postgres[0], "postgres")
        workers = [process for process in service if speaks_of(process, "spawn_main")]
        assert len(workers) == 2
        stored = httpx.post(
            f"{running.url}/v1/memories", json={"agent_id": "a", "user_id": "u", "content": "text"}, timeout=60
        )
        assert stored.status_code == 201
    assert psutil.wait_procs([*postgres, *service], timeout=30)[1] == []
    assert not running.home.exists()
