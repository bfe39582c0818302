"""What a process has in memory of a space is not taken for what a restored database has of it."""

import asyncio
from pathlib import Path

import psycopg
from psycopg import sql

from memex.store import migrate
from memex.store.embedded import restore
from tests.behaviour.asking import ANA, change, count, delete, move, store, texts
from tests.behaviour.manifest import proves
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


def tables(conninfo: str) -> dict[str, tuple[int, str]]:
    """Of every table that there is: how many rows, and a digest of what is in them."""
    with psycopg.connect(conninfo) as connection:
        found = connection.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'memex'::regnamespace AND relkind = 'r'"
        ).fetchall()
        return {name: digest(connection, name) for (name,) in found}


def digest(connection: psycopg.Connection, table: str) -> tuple[int, str]:
    """But for the epochs of spaces: those of a restored database are new."""
    rows = sql.SQL(
        "SELECT count(*), coalesce(md5(string_agg(r, ' ' ORDER BY r)), '') "
        "FROM (SELECT (to_jsonb(t) - 'epoch')::text AS r FROM {} AS t) AS s"
    )
    found = connection.execute(rows.format(sql.Identifier(*table.split(".")))).fetchone()
    assert found is not None
    return found


@proves("backup.everything")
async def test_every_table_comes_back_row_by_row(run: Run, embedded: Starter, data_dir: Path):
    """One of everything that can be stored: a table that stays empty is one that this test forgets."""
    target, other = data_dir.with_name("backup"), data_dir.with_name("other")
    server = embedded()
    migrate.upgrade(server.conninfo)
    async with run(server.conninfo) as service:
        rest = service.client
        tea = await store(rest, "green tea", tags=["t"], metadata={"k": 1}, visibility="shared", ttl_seconds=3600)
        await change(rest, tea, content="black tea")
        await move(rest, await store(rest, "white wine", external_id="x"), "archive")
        await delete(rest, await store(rest, "red apple"))
        key = {"idempotency-key": "k"}
        assert (await rest.post("/v1/memories", json=ANA | {"content": "milk"}, headers=key)).status_code == 201
        removal = ANA | {"content": "milk"}
        assert (await rest.post("/v1/memories/delete", json=removal, headers=key)).json()["deleted"] == 1
    before = tables(server.conninfo)
    assert [name for name, (rows, _) in before.items() if not rows] == []
    await asyncio.to_thread(server.back_up, target, silent)
    await asyncio.to_thread(restore, target, other, silent)
    assert tables(embedded(other).conninfo) == before


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
