"""What a process has in memory of a space is not taken for what a restored database has of it."""

import asyncio
from pathlib import Path

import psycopg

from memex.store import migrate
from memex.store.embedded import restore
from tests.behaviour.asking import count, delete, store, texts
from tests.fixtures.app import Run
from tests.fixtures.embedded import Starter
from tests.fixtures.relay import Relay


def silent(_: str, __: int, ___: int) -> None:
    """Tells nobody."""


def version(conninfo: str) -> int:
    """Of the one space."""
    with psycopg.connect(conninfo) as connection:
        found = connection.execute("SELECT version FROM memex.spaces").fetchone()
        assert found is not None
        return int(found[0])


async def test_a_restored_database_is_searched_anew_by_who_has_the_former_one_in_memory(
    run: Run, embedded: Starter, data_dir: Path
):
    """It is brought to the very version that is in memory, by other changes."""
    target, other = data_dir.with_name("backup"), data_dir.with_name("other")
    server = embedded()
    migrate.upgrade(server.conninfo)
    relay = Relay(server.conninfo)
    await relay.open()
    async with run(relay.conninfo) as service:
        rest = service.client
        tea, wine = [await store(rest, content) for content in ("green tea", "white wine")]
        await asyncio.to_thread(server.back_up, target, silent)
        await store(rest, "red apple")
        await delete(rest, wine)
        assert sorted(await texts(rest, "anything")) == ["green tea", "red apple"]
        before = version(server.conninfo)
        await relay.cut()
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(restore, target, other, silent)
        restored = embedded(other)
        async with run(restored.conninfo) as elsewhere:
            await delete(elsewhere.client, tea)
            await store(elsewhere.client, "black bread")
        assert version(restored.conninfo) == before
        relay.lead(restored.conninfo)
        await relay.open()
        assert sorted(await texts(rest, "anything")) == ["black bread", "white wine"]
        assert await count(rest) == 2
    await relay.cut()
