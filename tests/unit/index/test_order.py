"""Ties, one hit for one text, and who counts."""

import hashlib
from typing import Any

import msgspec
import pytest

from memex.index import Ranker
from memex.model import Hit, IndexRow, MemoryType, Mode, Ranking
from tests.unit.index.rows import DAY, ISAS, NOW, half, numbers, ranker, row, search, single


def scored(number: int, score: float, **fields: Any) -> IndexRow:
    """A row whose score is `score` in `by_importance`."""
    return row(number, importance=score, vectors=[half([1, 0])], **fields)


def by_importance(**fields: Any) -> Ranking:
    return search(**{"mode": Mode.SEMANTIC, "alpha": 1.0, "importance_weight": 1.0, "k": 3, **fields})


def test_scores_within_the_tie_go_to_the_newer_then_the_smaller_id() -> None:
    index = ranker(
        scored(1, 1.0, created_at=NOW - 3),
        scored(2, 1.0 - 0.9e-5, created_at=NOW - 1),
        scored(3, 1.0 - 0.5e-5, created_at=NOW - 1),
        scored(4, 1.0 - 1.8e-5, created_at=NOW),
    )
    assert numbers(index.rank(by_importance())) == [2, 3, 1]
    assert numbers(index.rank(by_importance(k=4))) == [2, 3, 1, 4]


def test_a_tie_across_the_end_of_the_answer_is_the_newest_ones() -> None:
    index = ranker(*(scored(n, 1.0 - n * 1e-7, created_at=NOW + n) for n in range(90)))
    assert numbers(index.rank(by_importance())) == [89, 88, 87]


@pytest.mark.parametrize("collapse", [True, False])
def test_very_many_equal_scores_go_to_the_newest(collapse: bool) -> None:
    index = ranker(*(row(n, created_at=NOW + n * 7919 % 10_000, vectors=[half([0, 0])]) for n in range(10_000)))
    hits = index.rank(by_importance(collapse=collapse))
    assert [n * 7919 % 10_000 for n in numbers(hits)] == [9999, 9998, 9997]


def test_a_text_whose_best_row_moved_up_within_a_tie_gives_its_place_to_the_newer() -> None:
    """The cut of equal scores must not lose a row that another text's better, older row lets through."""
    crowd = [scored(n, 1.0, text=str(n), created_at=NOW + 1000 - n) for n in range(1, 400)]
    moved = [scored(1000 + n, 1.0 + 5e-6, text=str(n), created_at=NOW - 5000 - n) for n in range(1, 100)]
    index = Ranker(2)
    # The newest part is read first: rows are met in the order that makes the cut come first.
    index.apply(moved, [])
    index.apply(crowd, [])
    assert numbers(index.rank(by_importance())) == [100, 101, 102]


def test_one_text_is_one_hit_by_its_best_then_newest_then_smallest_row() -> None:
    index = ranker(
        scored(1, 1.0, text="x", created_at=NOW - 9),
        scored(2, 1.0, text="x", created_at=NOW - 1),
        scored(3, 1.0, text="x", created_at=NOW - 1),
        scored(4, 0.9, text="x", created_at=NOW),
        scored(5, 0.1, text="y"),
        scored(6, 2.0, text="x", agent_id="b"),
        scored(7, 2.0, text="x", state="archived"),
        scored(8, 2.0, text="x", expires_at=NOW),
        scored(9, 2.0, text="x", memory_type="semantic"),
    )
    hits = index.rank(by_importance(types=(MemoryType.EPISODIC,)))
    assert [(n, hit.duplicates) for n, hit in zip(numbers(hits), hits, strict=True)] == [(2, 3), (5, 0)]
    apart = index.rank(by_importance(types=(MemoryType.EPISODIC,), collapse=False, k=50))
    assert [(n, hit.duplicates) for n, hit in zip(numbers(apart), apart, strict=True)] == [
        (2, 0), (3, 0), (1, 0), (4, 0), (5, 0),
    ]  # fmt: skip


def test_k_distinct_texts_come_back_whenever_they_exist() -> None:
    copies = [scored(n, 2.0, text="same") for n in range(500)]
    index = ranker(*copies, *(scored(1000 + n, 0.5, text=str(n)) for n in range(9)))
    hits = index.rank(by_importance(k=10))
    assert [hit.duplicates for hit in hits] == [499] + [0] * 9


def test_all_rows_come_back_where_fewer_than_k_match() -> None:
    index = ranker(*(row(n, vectors=[half([0, 0])], created_at=-NOW) for n in range(30)))
    assert len(index.rank(search(k=50, alpha=1.0, terms=[1]))) == 30


def test_word_statistics_are_of_the_rows_in_scope_before_filters() -> None:
    own = [row(1, terms=[1, 2], agent_id="a"), row(2, terms=[2], agent_id="a", memory_type="semantic")]
    others = [row(n, terms=[1], term_counts=[30], agent_id="b") for n in range(10, 60)]
    gone = [row(3, terms=[1], state="archived"), row(4, terms=[1], expires_at=NOW), row(5, terms=[1])]
    alone, crowded = ranker(*own), ranker(*own, *others, *gone)
    crowded.apply([], [row(5).id])
    asked = search(mode=Mode.KEYWORD, terms=[1, 2])
    assert crowded.rank(asked) == alone.rank(asked)
    filtered = search(mode=Mode.KEYWORD, terms=[1, 2], types=(MemoryType.EPISODIC,))
    assert crowded.rank(filtered) == [hit for hit in alone.rank(asked) if hit.id == row(1).id]


def test_archived_rows_count_where_they_are_asked_for_and_superseded_ones_never() -> None:
    kept = [row(1, terms=[1]), row(2, terms=[1], state="archived"), row(3, terms=[1], state="superseded")]
    index = ranker(*kept, row(4, state="archived", expires_at=NOW), row(5, agent_id="b", state="archived"))
    asked = search(mode=Mode.KEYWORD, terms=[1])
    assert index.rank(asked) == ranker(kept[0]).rank(asked)
    active = [row(1, terms=[1]), row(2, terms=[1])]
    with_archived = msgspec.structs.replace(asked, include_archived=True)
    assert index.rank(with_archived) == ranker(*active).rank(asked)


def test_nothing_private_of_others_shows_in_an_answer() -> None:
    own = [row(1, terms=[1, 2], text="x"), row(2, terms=[2])]
    shared = [row(3, agent_id="b", visibility="shared", terms=[1], text="x")]
    private = [row(n, agent_id="b", terms=[1], term_counts=[9], text="x") for n in range(10, 80)]
    for scope, kept in ((("a",), own), (("a", "b"), own + shared), (("a", "*"), own + shared), (("b",), shared)):
        asked = search(*scope, mode=Mode.KEYWORD, terms=[1, 2])
        hidden = [] if scope == ("b",) else private
        assert ranker(*own, *shared, *hidden).rank(asked) == ranker(*kept).rank(asked)


def test_memory_of_words_is_given_back_when_rows_go() -> None:
    index = ranker(*(row(n, tags=[f"{n}" * 10], session_id=f"{n}" * 20) for n in range(3000)))
    full = index.bytes
    index.apply([], [row(n).id for n in range(10, 3000)])
    index.compact()
    assert (index.rows, index.bytes < full / 20) == (10, True)
    assert numbers(index.rank(search(tags_any=("7" * 10,)))) == [7]


def test_an_old_vector_and_old_words_are_gone_after_a_change() -> None:
    index = ranker(row(1, vectors=[half([1, 0])], terms=[7]), row(2, vectors=[half([0.5, 0.5])], terms=[8]))
    index.apply([row(1, vectors=[half([0, 1])], terms=[9])], [])
    [first, second] = index.rank(search(alpha=1.0, terms=[7]))
    assert numbers([first, second]) == [2, 1]
    assert (second.cosine, second.lexical) == (0.0, 0.0)


def test_the_best_chunk_counts() -> None:
    index = ranker(row(1, vectors=[half([0, 1]), half([0.5, 0]), half([0.25, 0])]), row(2, vectors=[]))
    hits: list[Hit] = index.rank(search(alpha=1.0))
    assert [hit.cosine for hit in hits] == [0.5, None]


def test_times_keep_their_microseconds() -> None:
    index = ranker(*(row(n, created_at=NOW - 3650 * DAY + n) for n in range(5)))
    window: dict[str, Any] = {"created_after": NOW - 3650 * DAY + 1, "created_before": NOW - 3650 * DAY + 3}
    assert numbers(index.rank(search(**window))) == [2, 1]


@pytest.mark.parametrize(
    "fields",
    [
        {"k": 0},
        {"alpha": 1.5},
        {"alpha": float("nan")},
        {"half_life_days": 0.0},
        {"importance_weight": -0.1},
        {"floor": 1.0},
        {"min_score": float("inf")},
        {"vector": None},
        {"vector": single([1])},
        {"vector": single([1, float("nan")])},
        {"vector": single([float("inf"), 0])},
        {"terms": [2, 1]},
        {"terms": [1], "counts": [0]},
        {"terms": [1], "counts": [1, 1]},
        {"terms": [2**31]},
        {"terms": [1], "counts": [-1]},
        {"k": -1},
        {"now": 2**63},
        {"only": bytes(32)},
        {"only": row(2).id + row(1).id},
        {"only": b"short"},
    ],
    ids=str,
)
def test_faulty_searches_are_refused(fields) -> None:
    with pytest.raises(ValueError, match=r"must|needed|multiple|int|conversion"):
        ranker(row(1)).rank(search(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"id": b"short"},
        {"content_hash": b"short"},
        {"memory_type": "dream"},
        {"visibility": "public"},
        {"state": "gone"},
        {"importance": 2.5},
        {"importance": float("nan")},
        {"vectors": [half([1])]},
        {"vectors": [half([1, float("inf")])]},
        {"vectors": [b"odd"]},
        {"terms": [3, 3]},
        {"terms": [2**31]},
        {"terms": [1], "term_counts": [40_000]},
        {"terms": [1], "term_counts": [70_000]},
        {"terms": [1], "term_counts": []},
    ],
    ids=str,
)
def test_a_faulty_row_is_refused_and_nothing_is_applied(fields) -> None:
    index = ranker(row(1))
    with pytest.raises(ValueError, match=r"must|even|int|conversion"):
        index.apply([row(2), row(3, **fields)], [row(1).id])
    assert numbers(index.rank(search())) == [1]


@pytest.mark.parametrize("isa", ["sse9", "AVX2", ""])
def test_an_unknown_isa_is_refused(isa: str) -> None:
    with pytest.raises(ValueError, match="isa must be"):
        Ranker(2, isa)


def test_the_scalar_path_is_always_there() -> None:
    assert "scalar" in ISAS


def test_memory_is_given_back_when_rows_go() -> None:
    index = ranker(*(row(n, text=hashlib.sha256(bytes(n)).hexdigest()) for n in range(5000)))
    full = index.bytes
    assert full > 5000 * 64
    index.apply([], [row(n).id for n in range(10, 5000)])
    index.compact()
    assert (index.rows, index.bytes < full / 20) == (10, True)
