"""The workload has the shape that it claims."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.sentences import QUERIES, QUESTION, STATEMENT, TEXTS, Pattern
from bench.load.workload import STREAMS, ZIPF_POOL, Texts, searches, seed_writes, writes

DRAWS = 20_000
PATTERNS = st.sampled_from([QUESTION, STATEMENT])


def test_the_fixed_sentences_are_23_of_the_stated_lengths():
    assert (len(set(TEXTS)), len(set(QUERIES))) == (15, 8)
    assert {len(text) for text in TEXTS} <= set(range(54, 80))
    assert {len(query) for query in QUERIES} <= set(range(28, 46))


@pytest.mark.parametrize(("pattern", "least", "most"), [(QUESTION, 28, 45), (STATEMENT, 54, 79)])
def test_every_sentence_of_a_pattern_is_as_long_as_the_fixed_ones(pattern: Pattern, least: int, most: int):
    frame = len(pattern.form.replace("{}", ""))
    assert frame + sum(min(map(len, words)) for words in pattern.words) >= least
    assert frame + sum(max(map(len, words)) for words in pattern.words) <= most


@pytest.mark.parametrize("pattern", [QUESTION, STATEMENT])
def test_no_word_list_names_a_word_twice(pattern: Pattern):
    assert [len(set(words)) for words in pattern.words] == [len(words) for words in pattern.words]


@given(PATTERNS, st.data())
def test_two_indices_never_give_one_text(pattern: Pattern, data: st.DataObject):
    indices = st.integers(0, pattern.size - 1)
    first, second = data.draw(indices), data.draw(indices)
    assert (pattern.text(first) == pattern.text(second)) == (first == second)


def test_seeding_is_five_texts_for_each_of_20_agents_and_10_users():
    seeded = list(seed_writes())
    pairs = Counter((body["agent_id"], body["user_id"]) for body in seeded)
    assert len(seeded) == 1_000
    assert len({agent for agent, _ in pairs}) == 20
    assert len({user for _, user in pairs}) == 10
    assert set(pairs.values()) == {5}
    assert len({(body["agent_id"], body["user_id"], body["content"]) for body in seeded}) == 1_000


@pytest.mark.parametrize("texts", Texts)
def test_a_virtual_user_keeps_one_agent_and_user_for_searches_and_writes(texts: Texts):
    bodies = [*islice(searches(texts, 7), 50), *islice(writes(texts, 7), 50)]
    assert len({(body["agent_id"], body["user_id"]) for body in bodies}) == 1


@pytest.mark.parametrize("texts", Texts)
def test_writes_have_the_fields_of_the_reference(texts: Texts):
    bodies = list(islice(writes(texts, 3), 2_000))
    importances = [body["importance"] for body in bodies]
    assert all(isinstance(value, float) and 0.5 <= value <= 1.5 for value in importances)
    assert importances == [round(float(str(value)), 2) for value in importances]
    assert {body["memory_type"] for body in bodies} == {"episodic", "semantic"}
    assert {frozenset(body) for body in bodies} == {
        frozenset({"agent_id", "user_id", "content", "importance", "memory_type"})
    }


def test_searches_ask_for_five_at_alpha_07():
    assert {(body["top_k"], body["alpha"]) for body in islice(searches(Texts.ZIPF, 0), 100)} == {(5, 0.7)}


def test_repeated_texts_are_the_fixed_ones_and_all_of_them():
    assert {body["query"] for body in islice(searches(Texts.REPEATED, 0), 500)} == set(QUERIES)
    assert {body["content"] for body in islice(writes(Texts.REPEATED, 0), 1_000)} == set(TEXTS)


def test_unique_texts_never_come_twice_whoever_asks_or_writes():
    numbers = (0, 1, 2, 511, STREAMS - 1)
    queries = [body["query"] for n in numbers for body in islice(searches(Texts.UNIQUE, n), DRAWS)]
    contents = [body["content"] for n in numbers for body in islice(writes(Texts.UNIQUE, n), DRAWS)]
    assert len(set(queries + contents)) == 2 * DRAWS * len(numbers)


def test_a_virtual_user_beyond_the_streams_is_refused():
    with pytest.raises(ValueError, match="would repeat"):
        next(searches(Texts.UNIQUE, STREAMS))


@pytest.mark.parametrize("asked", [True, False])
def test_zipf_draws_follow_one_over_the_rank(asked: bool):
    """Chi-square over ranks in groups of at least 100 expected draws, within 4 σ of its mean."""
    bodies = searches(Texts.ZIPF, 0) if asked else writes(Texts.ZIPF, 0)
    pattern = QUESTION if asked else STATEMENT
    ranks = {pattern.text(index): index + 1 for index in range(ZIPF_POOL)}
    seen = Counter(ranks[str(body["query" if asked else "content"])] for body in islice(bodies, 10 * DRAWS))
    harmonic = sum(1 / rank for rank in range(1, ZIPF_POOL + 1))
    squares, groups, group, expected = 0.0, 0, 0, 0.0
    for rank in range(1, ZIPF_POOL + 1):
        group += seen[rank]
        expected += 10 * DRAWS / (rank * harmonic)
        if expected >= 100:
            squares += (group - expected) ** 2 / expected
            groups, group, expected = groups + 1, 0, 0.0
    assert groups > 500
    assert abs(squares - groups) < 4 * (2 * groups) ** 0.5


@pytest.mark.parametrize("texts", Texts)
def test_the_same_number_gives_the_same_load(texts: Texts):
    assert list(islice(searches(texts, 5), 300)) == list(islice(searches(texts, 5), 300))
