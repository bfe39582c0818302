"""The bench's spaces and its measure of recall, with vectors that no model made."""

import numpy as np
import pytest

from bench.ranking import native, rivals
from bench.ranking.corpus import Corpus, chosen
from bench.ranking.space import Space, ranking, similarity, space
from bench.ranking.timing import K, recall
from memex.index import tokenize
from memex.model import Mode, Ranking

DIMENSIONS = 16


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    noise = np.random.default_rng(0)
    vectors = noise.normal(size=(203, DIMENSIONS)).astype(np.float32) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    terms = [tokenize(f"text {n}") for n in range(203)]
    return Corpus(vectors[:200].astype("<f2"), terms[:200], vectors[200:], terms[200:])


@pytest.fixture(scope="module")
def held(corpus: Corpus) -> Space:
    return space(corpus, 500)


def found(held: Space, asked: Ranking) -> list[int]:
    return [int.from_bytes(hit.id, "big") for hit in held.ranker.rank(asked)]


@pytest.mark.parametrize("filtered", [False, True])
def test_the_index_has_full_recall(corpus: Corpus, held: Space, filtered: bool) -> None:
    for number, query in enumerate(corpus.questions):
        best = found(held, ranking(corpus, number, Mode.SEMANTIC, K, filtered=filtered))
        assert recall(best, rivals.oracle(held, query, fused=True, filtered=filtered)) == 1
        assert recall(found(held, similarity(corpus, number, K)), rivals.oracle(held, query, fused=False)) == 1


def test_numpy_and_the_oracle_agree(corpus: Corpus, held: Space) -> None:
    best = rivals.with_numpy(held, K)
    assert all(recall(best(query), rivals.oracle(held, query, fused=True)) == 1 for query in corpus.questions)


def test_rows_beyond_the_corpus_are_near_copies(corpus: Corpus, held: Space) -> None:
    cosines = np.sum(held.matrix[:200] * held.matrix[200:400], axis=1)
    assert 0.97 < cosines.mean() < 0.999
    assert np.array_equal(held.matrix[:200], corpus.vectors.astype(np.float32))


def test_what_is_missing_or_twice_lowers_recall() -> None:
    scores = np.arange(20.0)
    assert recall(range(10, 20), scores) == 1
    assert recall([*range(10, 19), 0], scores) == 0.9
    assert recall([19] * 10, scores) == 0.1


def test_texts_are_chosen_the_same_way_every_time() -> None:
    texts = [str(n) for n in range(50)]
    assert chosen(texts, 7) == chosen(texts, 7)
    assert len(set(chosen(texts, 60))) == 50


def test_a_library_that_is_missing_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-package"):
        rivals.library("no_such_module", "no-such-package")


def test_every_way_stands_beside_the_first(corpus: Corpus, held: Space) -> None:
    figures = native.figures(corpus, held, 0.01, None)
    assert [name for name, of_way in figures.items() if "by_semantic" in of_way] == list(figures)[1:]
    assert all(0 < of_way["min_us"] <= of_way["median_us"] for of_way in figures.values())
    assert {name: of_way.get("recall") for name, of_way in figures.items()} == dict.fromkeys(figures, 1) | {
        "hybrid": None
    }
    assert figures["semantic"]["rows_scanned"] == 500 > figures["filtered"]["rows_scanned"]
