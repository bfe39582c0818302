"""The ranking by SQL against the float64 oracle and against the resident index."""

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import msgspec
import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memex.index import Ranker
from memex.metrics import Metrics
from memex.model import Hit, IndexRow, Mode, Ranking, Scope, Space
from memex.settings import Database
from memex.store.models import Models
from memex.store.pool import Pool
from memex.store.ranking import Ranked, Rankings
from memex.store.reads import Reads
from tests.oracles import ranking as oracle
from tests.store.making import MODEL
from tests.store.planting import plant
from tests.unit.index.rows import DAY, NOW, half, row, rows, search, searches, single
from tests.unit.index.test_exact import assert_near, assert_same, noise_rows

T = TypeVar("T")

# In this database's time everything of the index's tests is long past.
FAR = NOW + 100 * 365 * 86_400_000_000
USERS = (f"user {number}" for number in itertools.count())


class Sql:
    """Spaces with given rows, ranked by PostgreSQL."""

    def __init__(
        self, runner: asyncio.Runner, pool: Pool, settings: Database, connection: psycopg.Connection[Any]
    ) -> None:
        self._runner, self._rankings, self._connection = runner, Rankings(pool, settings), connection
        self.reads = Reads(pool)

    def space(self, rows: list[IndexRow]) -> Space:
        space = Space("default", next(USERS))
        plant(self._connection, space, rows)
        return space

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(call)

    def answer(self, space: Space, ranking: Ranking) -> Ranked:
        return self.run(self._rankings.best(space, ranking, MODEL.id))

    def rank(self, space: Space, ranking: Ranking) -> list[Hit]:
        return [hit for hit, _ in self.answer(space, ranking).found]


@pytest.fixture
def sql(database: str, settings: Database, metrics: Metrics) -> Iterator[Sql]:
    pool = Pool(database, settings, metrics)
    with asyncio.Runner() as runner, psycopg.connect(database) as connection:
        runner.run(pool.open())
        runner.run(Models(pool).register(MODEL))
        connection.execute("SET search_path = public")
        yield Sql(runner, pool, settings, connection)
        runner.run(pool.close())


def storable(row: IndexRow) -> IndexRow:
    """A row that the tables take, and that lives or not by the database's clock as it does by the search's."""
    lasting = row.expires_at is not None and row.expires_at > NOW
    return msgspec.structs.replace(
        row, tags=[tag or "empty" for tag in row.tags], expires_at=FAR if lasting else row.expires_at
    )


# One database serves all examples: each has a space of its own.
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_space_ranks_as_the_oracle_and_the_index_do(sql: Sql, data: st.DataObject) -> None:
    dimensions = data.draw(st.sampled_from([1, 3, 32, 33]))
    drawn = data.draw(st.lists(rows(dimensions), max_size=30))
    kept = list({row.id: storable(row) for row in drawn}.values())
    index = Ranker(dimensions)
    index.apply(kept, [])
    space = sql.space(kept)
    for asked in data.draw(st.lists(searches(dimensions).map(without_ids), min_size=1, max_size=5)):
        hits = sql.rank(space, asked)
        assert_same(hits, oracle.rank(kept, asked))
        assert_same(hits, index.rank(asked))


def without_ids(asked: Ranking) -> Ranking:
    """Ids are how the index is told what the database finds by itself."""
    return msgspec.structs.replace(asked, only=None)


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("spread", [0, 1, 40_000])
def test_thousands_of_ties_are_given_newest_first(sql: Sql, spread: int, collapse: bool) -> None:
    """Of one score, of many within a tie, and of groups that the cut goes through."""
    kept = [
        row(number, created_at=NOW + 5 * DAY - number * spread * 1_000, text=str(number % 900))
        for number in range(3_000)
    ]
    kept += [
        row(number, created_at=NOW - number * 50 * DAY, vectors=[half([0.5, 0])]) for number in range(5_000, 5_040)
    ]
    space = sql.space(kept)
    for asked in (
        search(k=7, collapse=collapse),
        search(k=50, alpha=0.0, collapse=collapse),
        search(k=50, collapse=collapse, min_score=0.6),
    ):
        hits = sql.rank(space, asked)
        assert len(hits) == asked.k
        assert_same(hits, oracle.rank(kept, asked))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.sampled_from(list(Mode)), st.booleans(), st.sampled_from([0.0, 0.7, 1.0]))
def test_many_rows_rank_as_the_oracle_says(sql: Sql, seed: int, mode: Mode, collapse: bool, alpha: float) -> None:
    kept = [storable(row) for row in noise_rows(seed, 400, 48, ["big"] * 60 + ["a", "b"])]
    space = sql.space(kept)
    vector = np.random.default_rng(seed).normal(size=48)
    for agent, others in (("big", ()), ("a", ("*",)), ("b", ("a",))):
        asked = search(
            agent, *others, mode=mode, vector=single(vector / np.linalg.norm(vector)), terms=[1, 5, 30], k=20,
            collapse=collapse, alpha=alpha,
        )  # fmt: skip
        assert_near(sql.rank(space, asked), kept, asked)


TINY = [0.0, 5e-324, 1e-200, 1e-17, 1.0]


@pytest.mark.parametrize("mode", list(Mode))
def test_no_weight_or_age_is_too_small_or_too_large(sql: Sql, mode: Mode) -> None:
    times = [-62_135_596_800_000_000, 0, NOW - 1, NOW, NOW + 1, 253_402_300_799_000_000]
    kept = [
        row(n, created_at=created, importance=importance, terms=[1, n + 2], vectors=[half([component, 0])])
        for n, (created, importance, component) in enumerate(
            itertools.product(times, [0.0, 5e-324, 1.0, 2.0], [6e-8, -6e-8, 1.0])
        )
    ]
    space = sql.space(kept)
    for alpha, weight, half_life in itertools.product(TINY, TINY, [5e-324, 1e-200, 1e-3, 36_500.0]):
        asked = search(mode=mode, terms=[1, 2], alpha=alpha, importance_weight=weight, half_life_days=half_life, k=50)
        assert_near(sql.rank(space, asked), kept, asked)


def test_the_faintest_score_is_more_than_none(sql: Sql) -> None:
    """Of two copies the better one is the hit, not the newer one."""
    copies = [row(1, text="x", importance=0.0, created_at=NOW), row(2, text="x", created_at=NOW - 900 * DAY)]
    (hit,) = sql.rank(sql.space(copies), search(alpha=0.0, half_life_days=1.0, importance_weight=1.0))
    assert (hit.id, hit.duplicates) == (row(2).id, 1)
    assert hit.score == pytest.approx(2.0**-900, rel=1e-9)


def test_a_question_of_thousands_of_words_meets_texts_of_thousands(sql: Sql) -> None:
    kept = [row(n, terms=list(range(n, 4_000 + n)), vectors=[]) for n in range(20)]
    asked = search(terms=list(range(3_000)), mode=Mode.KEYWORD, alpha=1.0, vector=None)
    assert_same(sql.rank(sql.space(kept), asked), oracle.rank(kept, asked))


def test_vectors_of_another_model_are_not_compared(sql: Sql, database: str) -> None:
    kept = [row(1)]
    space = sql.space(kept)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.memory_vectors SET model_id = 'older'")
    (hit,) = sql.rank(space, search())
    assert (hit.cosine, hit.relevance) == (None, 0.0)


def test_a_hit_brings_its_memory_and_the_state_of_its_space(sql: Sql) -> None:
    space = sql.space([row(1), row(2, agent_id="b", visibility="shared")])
    answer = sql.answer(space, search("a", "*"))
    shown = sql.run(sql.reads.hits(space, Scope("default", "a", None), [hit.id for hit, _ in answer.found]))
    assert len(shown.memories) == 2
    assert {hit.id: memory for hit, memory in answer.found} == shown.memories
    assert (answer.state, answer.clock > 0) == (shown.state, True)


def test_a_space_without_hits_has_a_state_and_no_space_has_none(sql: Sql) -> None:
    assert sql.answer(sql.space([]), search()).state is not None
    answer = sql.answer(Space("default", "nobody"), search())
    assert (answer.state, answer.found, answer.clock) == (None, [], 0)


def test_a_key_that_is_another_space_s_by_chance_shows_nothing(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    space = sql.space([row(1)])
    monkeypatch.setattr(Space, "key", space.key)
    assert sql.answer(Space("default", "other"), search()).state is None
