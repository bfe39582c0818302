"""Rankings against the float64 oracle."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memex.index import Ranker
from memex.model import Hit, IndexRow, Mode, Ranking
from tests.oracles import ranking as oracle
from tests.unit.index.rows import DAY, ISAS, NOW, half, ranker, row, rows, search, searches, single

# Single precision in the inner product, against double precision in the oracle.
NEAR = 2e-6


def assert_same(hits: list[Hit], expected: list[Hit]) -> None:
    assert [hit.id for hit in hits] == [hit.id for hit in expected]
    assert [hit.duplicates for hit in hits] == [hit.duplicates for hit in expected]
    for hit, wanted in zip(hits, expected, strict=True):
        assert (hit.cosine is None) == (wanted.cosine is None)
        assert hit.cosine is None or hit.cosine == pytest.approx(wanted.cosine, abs=NEAR)
        parts = (hit.score, hit.lexical, hit.relevance, hit.recency, hit.importance)
        assert parts == pytest.approx(
            (wanted.score, wanted.lexical, wanted.relevance, wanted.recency, wanted.importance), rel=NEAR, abs=NEAR
        )


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_history_ranks_as_the_oracle_does(isa: str, data: st.DataObject) -> None:
    dimensions = data.draw(st.sampled_from([1, 3, 32, 33]))
    index, truth = Ranker(dimensions, isa), dict[bytes, IndexRow]()
    for batch in data.draw(st.lists(st.lists(rows(dimensions), max_size=12), min_size=1, max_size=5)):
        removed = data.draw(st.lists(st.integers(0, 40).map(lambda n: n.to_bytes(16, "big")), max_size=6))
        index.apply(batch, removed)
        if data.draw(st.booleans()):
            index.compact()
        truth = {id: kept for id, kept in truth.items() if id not in removed} | {new.id: new for new in batch}
    assert index.rows == len(truth)
    for asked in data.draw(st.lists(searches(dimensions), min_size=1, max_size=3)):
        assert_same(index.rank(asked), oracle.rank(truth.values(), asked))


def noise_rows(seed: int, count: int, dimensions: int, agents: list[str]) -> list[IndexRow]:
    noise = np.random.default_rng(seed)
    made = noise.normal(size=(count, dimensions)) / np.sqrt(dimensions)
    made[noise.random(count) < 0.02] = 0
    made[noise.random(count) < 0.02] *= 1e-7
    return [
        row(
            int(noise.integers(2**62)),
            text=str(noise.integers(count * 3)),
            agent_id=agents[int(noise.integers(len(agents)))],
            visibility=str(noise.choice(["private", "shared"])),
            importance=float(noise.choice([0.5, 1.0, 1.5])),
            created_at=NOW - int(noise.integers(-DAY, 400 * DAY)),
            expires_at=NOW + int(noise.integers(-5, 50)) if noise.random() < 0.1 else None,
            terms=sorted({int(term) for term in noise.geometric(0.05, 12)}),
            vectors=[half(vector)] * (1 + (noise.random() < 0.03)),
        )
        for vector in made
    ]


def assert_near(hits: list[Hit], kept: list[IndexRow], asked: Ranking) -> None:
    """As exact as single precision lets it be: right scores, and nothing better left out."""
    scored = oracle.score_all(kept, asked)
    truth = {hit.id: hit for _, hit in scored}
    for hit in hits:
        assert hit.score == pytest.approx(truth[hit.id].score, abs=NEAR)
        assert hit.lexical == pytest.approx(truth[hit.id].lexical, abs=NEAR)
    expected = [hit.score for hit in oracle.order(scored, asked)[: asked.k]]
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=oracle.TIE + 2 * NEAR)


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(list(Mode)), st.booleans(), st.sampled_from([0.0, 0.7, 1.0]))
def test_many_rows_rank_as_the_oracle_says(isa: str, seed: int, mode: Mode, collapse: bool, alpha: float) -> None:
    kept = noise_rows(seed, 700, 48, ["big"] * 60 + ["a", "b"])
    index = ranker(*kept, dimensions=48, isa=isa)
    query = np.random.default_rng(seed + 1).normal(size=48)
    for scope in [("a",), ("a", "b"), ("a", "*"), ("big", "a", "b")]:
        asked = search(
            *scope,
            mode=mode,
            vector=single(query / np.linalg.norm(query)),
            terms=[1, 2, 5, 30],
            counts=[1, 2, 1, 1],
            collapse=collapse,
            alpha=alpha,
        )
        assert_near(index.rank(asked), kept, asked)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_scope_over_agents_of_many_rows_ranks_as_the_oracle_does(data: st.DataObject) -> None:
    # Enough rows of each that agents begin and end at any place of a word of 64, or are in some segments only.
    index, kept, number = Ranker(2), list[IndexRow](), 0
    for _ in range(data.draw(st.integers(1, 3))):
        batch = []
        for agent in data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)):
            shared = data.draw(st.sampled_from([0, 1, 2]))
            for _ in range(data.draw(st.integers(1, 150))):
                number += 1
                visibility = "shared" if shared == 1 or (shared == 2 and number % 3) else "private"
                batch.append(row(number, agent_id=agent, visibility=visibility, vectors=[half([number % 7 / 8, 0.5])]))
        index.apply(batch, [])
        kept += batch
    for agent in "abcde":
        others = data.draw(st.sampled_from([(), ("*",), ("b",), ("a", "d"), ("c", "e"), ("d", "c", "b", "a")]))
        asked = search(agent, *others, k=600, collapse=False)
        assert_same(index.rank(asked), oracle.rank(kept, asked))


def test_a_small_agent_in_a_space_of_several_segments() -> None:
    kept = noise_rows(5, 9_500, 4, ["big"] * 200 + ["small"])
    index = ranker(*kept[:8_500], dimensions=4)
    for start in range(8_500, 9_500, 100):
        index.apply(kept[start : start + 100], [])
    for scope in [("small",), ("small", "*"), ("big", "small"), ("other", "small")]:
        asked = search(*scope, vector=single([0.5, 0.5, 0.5, 0.5]), terms=[1, 3, 9], k=50)
        assert_near(index.rank(asked), kept, asked)


@pytest.mark.parametrize("count", [0, 1, 40, 3_000, 8_999])
def test_given_ids_in_a_space_of_several_segments(count: int) -> None:
    kept = noise_rows(count, 9_000, 4, ["a", "a", "a", "b"])
    index = ranker(*kept[:8_500], dimensions=4)
    for start in range(8_500, 9_000, 100):
        index.apply(kept[start : start + 100], [])
    chosen = np.random.default_rng(count).choice(len(kept), count, replace=False)
    unknown = [bytes(16), bytes([255]) * 16, *(number.to_bytes(16, "big") for number in range(1, 2**62, 2**57))]
    only = b"".join(sorted({*unknown, *(kept[at].id for at in chosen)}))
    for scope in [("a",), ("b", "*")]:
        asked = search(*scope, vector=single([0.5, 0.5, 0.5, 0.5]), terms=[1, 3, 9], k=50, only=only)
        assert_near(index.rank(asked), kept, asked)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows(3), max_size=40), searches(3), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_how_rows_arrived(kept, asked, chance) -> None:
    kept = list({each.id: each for each in kept}.values())
    at_once, one_by_one = ranker(*kept, dimensions=3), Ranker(3)
    chance.shuffle(kept)
    for each in kept:
        one_by_one.apply([each], [])
        one_by_one.apply([each], [])
    assert one_by_one.rows == at_once.rows
    assert one_by_one.rank(asked) == at_once.rank(asked) == at_once.rank(asked)


@pytest.mark.parametrize("isa", ISAS)
@example(half_life=36_500.0, age=0)
@example(half_life=5e-324, age=1)
@given(half_life=st.floats(1e-6, 36_500), age=st.integers(-(2**60), 2**62))
def test_recency_follows_the_formula(isa: str, half_life: float, age: int) -> None:
    index = ranker(row(1, created_at=NOW - age), isa=isa)
    [hit] = index.rank(search(alpha=0.0, half_life_days=half_life))
    assert hit.score == pytest.approx(2.0 ** -(max(age, 0) / DAY / half_life), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_spaces(mode: Mode, count: int) -> None:
    index = ranker(*(row(n, vectors=[half([0, 0])], created_at=NOW) for n in range(count)))
    hits = index.rank(search(mode=mode, terms=[3]))
    assert [hit.score for hit in hits] == [pytest.approx(0.3)] * count


def test_subnormal_vectors_count_exactly() -> None:
    index = ranker(row(1, vectors=[half([2.0**-24, 0])]))
    [hit] = index.rank(search(vector=single([2.0**99, 0])))
    assert hit.cosine == 2.0**75


def test_a_vector_is_not_needed_for_keywords() -> None:
    index = ranker(row(1, terms=[4]), row(2, terms=[5]))
    hits = index.rank(search(mode=Mode.KEYWORD, vector=None, terms=[5], alpha=1.0))
    assert [(hit.cosine, hit.lexical > 0) for hit in hits] == [(None, True), (None, False)]
