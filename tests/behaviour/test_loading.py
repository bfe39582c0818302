"""Whatever happens to a space or to the database while the space is loaded: the right answer or 503, never a part."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest

from memex.index import Resident
from memex.model import Hit, Ranking, Space
from memex.store import reads, streams
from memex.store.connection import Connection
from tests.behaviour.asking import ask, delete, search, store, store_all
from tests.fixtures.app import Run, Running, room_for
from tests.fixtures.relay import Relay

KEY = Space("default", "ana").key
MANY = 30
SEVERAL = 20
"""Memories that there is room for; less than `MANY`."""
Event = Callable[[], Awaitable[object]]


@pytest.fixture(autouse=True)
def small_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few memories are a large space: many windows, each of several pieces."""
    monkeypatch.setattr(reads, "FIRST_ROWS", 2)
    monkeypatch.setattr(streams, "WINDOW_ROWS", 5)
    monkeypatch.setattr(streams, "PIECE", 1_000)


@pytest.fixture
async def database_itself(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def while_loading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Event], None]:
    """Lets an event happen once, behind the third piece of the next load."""
    read = streams.next_piece

    def arrange(event: Event) -> None:
        pieces = 0

        async def piece(connection: Connection, stream: streams.Stream) -> bytes:
            nonlocal pieces
            pieces += 1
            if pieces == 3:
                await event()
            return await read(connection, stream)

        monkeypatch.setattr(streams, "next_piece", piece)

    return arrange


async def contents(service: Running) -> set[str]:
    """All that a search brings."""
    return {hit["content"] for hit in await search(service.client, "swans", alpha=0, top_k=50)}


def events(service: Running, kind: str) -> float:
    return service.metrics.registry.get_sample_value("memex_index_events_total", {"event": kind}) or 0.0


@pytest.fixture
async def swans(service: Running) -> list[dict[str, str]]:
    return await store_all(service.client, [f"swans {number}" for number in range(MANY)])


def texts(memories: list[dict[str, str]]) -> set[str]:
    return {memory["content"] for memory in memories}


@pytest.mark.parametrize("trouble", ["", "purge", "epoch"])
async def test_what_is_acknowledged_during_a_load_is_in_its_answer(
    run: Run, service: Running, swans, while_loading, database_itself: psycopg.AsyncConnection, trouble: str
):
    async def change() -> None:
        await delete(service.client, swans[0])
        await delete(service.client, swans[-1])
        await store(service.client, "swans at last")
        if trouble == "purge":
            await database_itself.execute("SELECT memex.memex_purge(%s, clock_timestamp())", (KEY,))
        if trouble == "epoch":
            await database_itself.execute("UPDATE memex.spaces SET epoch = epoch + 1 WHERE space_key = %s", (KEY,))

    async with run() as other:
        while_loading(change)
        assert await contents(other) == texts(swans[1:-1]) | {"swans at last"}
        assert events(other, "load") == (2 if trouble else 1)


async def test_searches_at_once_share_one_load(run: Run, swans, while_loading):
    async with run() as other:
        late: list[asyncio.Task[set[str]]] = []

        async def more() -> None:
            late.extend(asyncio.create_task(contents(other)) for _ in range(10))

        while_loading(more)
        assert await contents(other) == texts(swans)
        assert await asyncio.gather(*late) == [texts(swans)] * 10
        assert events(other, "load") == 1


async def test_a_line_that_is_cut_during_a_load_is_503_and_the_next_search_is_whole(
    run: Run, relay: Relay, swans, while_loading
):
    async with run(relay.conninfo) as other:
        while_loading(relay.cut)
        answer = await ask(other.client, "swans")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        await relay.open()
        assert await contents(other) == texts(swans)


async def test_a_database_that_ends_a_load_is_503_and_the_next_search_is_whole(
    run: Run, swans, while_loading, database_itself: psycopg.AsyncConnection
):
    async def end() -> None:
        statement = (
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'COPY%'"
        )
        found = await (await database_itself.execute(statement)).fetchall()
        assert found == [(True,)]

    async with run() as other:
        while_loading(end)
        answer = await ask(other.client, "swans")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        assert await contents(other) == texts(swans)


async def test_a_stream_that_is_garbled_is_500_and_the_next_search_is_whole(
    run: Run, swans, monkeypatch: pytest.MonkeyPatch
):
    read = streams.next_piece

    async def garbled(connection: Connection, stream: streams.Stream) -> bytes:
        return (await read(connection, stream)).replace(b"episodic", b"episodix")

    async with run() as other:
        with monkeypatch.context() as patch:
            patch.setattr(streams, "next_piece", garbled)
            answer = await ask(other.client, "swans")
        assert answer.status_code == 500
        assert "episodi" not in answer.text
        assert await contents(other) == texts(swans)


async def test_who_leaves_a_load_leaves_it_to_others(run: Run, swans, while_loading):
    async with run() as other:
        begun, gate = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            await gate.wait()

        while_loading(wait)
        first = asyncio.create_task(contents(other))
        await begun.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        gate.set()
        assert await contents(other) == texts(swans)
        assert events(other, "load") == 1


async def test_a_space_that_outgrows_the_memory_is_answered_all_the_same(run: Run, service: Running):
    async with run(index=room_for(SEVERAL)) as tight:
        written: list[dict[str, str]] = []
        for number in range(MANY):
            written.append(await store(service.client, f"swans {number}"))
            assert await contents(tight) == texts(written)
        assert events(tight, "load") == events(tight, "eviction") == 1
        assert events(tight, "too_large") > 5
        await delete(service.client, written.pop())
        assert await contents(tight) == texts(written)


async def test_a_reload_that_does_not_fit_any_more_is_answered_all_the_same(
    run: Run, service: Running, database_itself: psycopg.AsyncConnection
):
    written = await store_all(service.client, [f"swans {number}" for number in range(4)])
    async with run(index=room_for(SEVERAL)) as tight:
        assert await contents(tight) == texts(written)
        written += await store_all(service.client, [f"swans {number}" for number in range(4, MANY)])
        await database_itself.execute("UPDATE memex.spaces SET epoch = epoch + 1")
        assert await contents(tight) == texts(written)
        assert events(tight, "too_large") == 1


async def test_a_space_that_is_evicted_during_a_search_answers_it(
    run: Run, service: Running, monkeypatch: pytest.MonkeyPatch
):
    ana = await store_all(service.client, [f"swans {number}" for number in range(15)])
    await store_all(service.client, [f"geese {number}" for number in range(15)], user_id="ben")
    rank = Resident.rank
    begun, gate = asyncio.Event(), asyncio.Event()

    async def slow(resident: Resident, ranking: Ranking) -> list[Hit]:
        if not begun.is_set():
            begun.set()
            await gate.wait()
        return await rank(resident, ranking)

    monkeypatch.setattr(Resident, "rank", slow)
    async with run(index=room_for(SEVERAL)) as tight:
        searching = asyncio.create_task(contents(tight))
        await begun.wait()
        assert len(await search(tight.client, "geese", alpha=0, top_k=50, user_id="ben")) == 15
        assert events(tight, "eviction") == 1
        await store(service.client, "swans at last")
        gate.set()
        assert await searching == texts(ana) | {"swans at last"}
