"""Conditions on metadata as the store answers them: ids for the index, and its own ranking."""

import itertools
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from memex.model import Condition, Memory, Mode, Scope, Space, Visibility
from memex.settings import Database
from memex.store.pool import Pool
from memex.store.ranking import Rankings
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.oracles.conditions import hold
from tests.store.making import MODEL, SPACE, a_write
from tests.unit.index.rows import search

VALUES: list[Any] = [1, 2.0, "1", "b", True, None, [1], {"n": 1}]
CONDITIONS = [
    [Condition("k", "eq", 1)],
    [Condition("k", "ne", 1)],
    [Condition("k", "in", ["b", True, 2])],
    [Condition("k", "gt", 1), Condition("k", "lte", 2)],
    [Condition("k", "exists", True), Condition("n", "lt", 10)],
    [Condition("k", "exists", False)],
    [Condition("n", "gte", 0), Condition("k", "eq", "nothing")],
]
SCOPES = [
    Scope("default", "a"),
    Scope("default", "a", ("b",)),
    Scope("default", "c", None),
    Scope("elsewhere", "a", None),
]


@pytest.fixture
async def memories(writes: Writes) -> list[Memory]:
    """Of several agents, shared and not, some of them expired."""
    kinds = itertools.product("ab", Visibility, [None, datetime(2020, 1, 1, tzinfo=UTC)], enumerate([*VALUES, ...]))
    written = [
        await writes.write(
            a_write(
                agent_id=agent,
                visibility=visibility,
                expires_at=expiry,
                metadata={"n": n} if value is ... else {"k": value, "n": n},
            )
        )
        for agent, visibility, expiry, (n, value) in kinds
    ]
    await writes.write(
        a_write(space=Space("default", "ben"), agent_id="a", visibility=Visibility.SHARED, metadata={"k": 1})
    )
    return [each.memory for each in written]


def expected(memories: list[Memory], scope: Scope, conditions: list[Condition]) -> list[bytes]:
    """The ids, ascending."""
    seen = [m for m in memories if m.expires_at is None and scope.tenant_id == "default" and is_seen(m, scope)]
    return sorted(UUID(m.id).bytes for m in seen if hold(m.metadata, conditions))


def is_seen(memory: Memory, scope: Scope) -> bool:
    among = scope.others is None or memory.agent_id in scope.others
    return memory.agent_id == scope.agent_id or (memory.visibility == "shared" and among)


async def test_what_matches_is_what_the_oracle_says(
    memories: list[Memory], reads: Reads, pool: Pool, settings: Database
):
    found = 0
    for scope, conditions in itertools.product(SCOPES, CONDITIONS):
        ids = expected(memories, scope, conditions)
        space = Space(scope.tenant_id, SPACE.user_id)
        async with reads.load(space) as snapshot:
            assert await snapshot.matching(scope, conditions) == b"".join(ids)
        asked: dict[str, Any] = {"scope": scope, "mode": Mode.KEYWORD, "vector": None, "k": 50, "collapse": False}
        ranking = search(**asked, metadata=tuple(conditions))
        ranked = await Rankings(pool, settings).best(space, ranking, MODEL.id)
        assert sorted(hit.id for hit, _ in ranked.found) == ids
        found += len(ids)
    assert found > 50
