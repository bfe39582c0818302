import asyncio
import threading
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from memex.embedder.chunks import (
    INLINE_CHARACTERS,
    MAX_CHUNKS,
    OVERLAP,
    Chunks,
    open_tokenizer,
    spans,
    token_ids,
)
from memex.embedder.encoder import Role, Tokens
from memex.errors import Invalid, ModelDamaged
from tests.fakes import PATIENCE, fake_card, fake_tokenizer

CLS, SEP = 0, 1
TOKENIZER = fake_tokenizer()
CARD = msgspec.structs.replace(fake_card(window=512), query_prefix="query: ", passage_prefix="passage: ")
# One token per byte: what is left of the window beside [CLS], prefix and [SEP].
ROOM = {Role.QUERY: 512 - 2 - 7, Role.PASSAGE: 512 - 2 - 9}


@pytest.fixture
def chunks():
    return Chunks(TOKENIZER, CARD)


def text_of(length: int) -> str:
    return "".join(chr(ord("a") + n % 26) for n in range(length))


def ids(text: str) -> list[int]:
    found: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return found


def inner(chunk: Tokens, prefix: str) -> list[int]:
    """A chunk without what surrounds it, which is checked."""
    head = [CLS, *ids(prefix)]
    assert list(chunk[: len(head)]) == head
    assert chunk[-1] == SEP
    return list(chunk[len(head) : -1])


@pytest.mark.parametrize(
    ("length", "capacity", "overlap", "expected"),
    [
        (0, 10, 3, [(0, 0)]),
        (1, 10, 3, [(0, 1)]),
        (10, 10, 3, [(0, 10)]),
        (11, 10, 3, [(0, 7), (4, 11)]),
        (17, 10, 3, [(0, 10), (7, 17)]),
        (18, 10, 3, [(0, 8), (5, 13), (10, 18)]),
        (20, 10, 0, [(0, 10), (10, 20)]),
    ],
)
def test_spans(length, capacity, overlap, expected):
    assert spans(length, capacity, overlap) == expected


@given(st.integers(0, 5000), st.integers(2, 600), st.data())
def test_spans_cover_every_token_overlap_exactly_are_of_one_length_and_none_is_needless(length, capacity, data):
    overlap = data.draw(st.integers(0, capacity - 1))
    found = spans(length, capacity, overlap)
    assert found[0][0] == 0
    assert found[-1][1] == length
    lengths = [end - start for start, end in found]
    assert max(lengths) <= capacity
    assert max(lengths) - min(lengths) <= 1
    assert all(end - following == overlap for (_, end), (following, _) in pairwise(found))
    assert len(found) == 1 or (len(found) - 1) * (capacity - overlap) + overlap < length


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("total", [510, 511, 512])
async def test_what_fits_the_window_is_one_chunk(chunks, role, total):
    text = text_of(ROOM[role] - 512 + total)
    (chunk,) = await chunks.split(role, text)
    assert len(chunk) == total
    assert inner(chunk, f"{role}: ") == ids(text)


@pytest.mark.parametrize("role", list(Role))
async def test_one_token_more_is_two_chunks_that_overlap(chunks, role):
    text = text_of(ROOM[role] + 1)
    first, second = await chunks.split(role, text)
    one, two = inner(first, f"{role}: "), inner(second, f"{role}: ")
    assert len(one) + len(two) == ROOM[role] + 1 + OVERLAP
    assert abs(len(one) - len(two)) <= 1
    assert one[-OVERLAP:] == two[:OVERLAP]
    assert one + two[OVERLAP:] == ids(text)


async def test_a_text_without_any_token_still_has_a_vector(chunks):
    assert await chunks.split(Role.PASSAGE, "") == [[CLS, *ids("passage: "), SEP]]


@pytest.mark.parametrize(("role", "field"), [(Role.QUERY, "query"), (Role.PASSAGE, "content")])
async def test_thirty_two_chunks_are_taken_and_one_token_more_is_refused_by_name(chunks, role, field):
    most = ROOM[role] + (MAX_CHUNKS - 1) * (ROOM[role] - OVERLAP)
    assert len(await chunks.split(role, text_of(most))) == MAX_CHUNKS
    with pytest.raises(Invalid) as refused:
        await chunks.split(role, text_of(most + 1))
    (problem,) = refused.value.problems
    assert problem.loc == ("body", field)
    assert problem.type == "string_too_long"
    assert f"at most {most} " in problem.msg


@given(st.text(max_size=2 * INLINE_CHARACTERS))
def test_one_text_in_a_call_for_batches_has_the_tokens_of_its_own_call(text):
    assert token_ids(TOKENIZER, text) == ids(text)


@pytest.mark.parametrize(("characters", "inline"), [(INLINE_CHARACTERS, True), (INLINE_CHARACTERS + 1, False)])
async def test_a_long_text_is_tokenised_off_the_event_loop(chunks, monkeypatch, characters, inline):
    threads = []

    def noted(*given):
        threads.append(threading.current_thread() is threading.main_thread())
        return token_ids(*given)

    monkeypatch.setattr("memex.embedder.chunks.token_ids", noted)
    await chunks.split(Role.QUERY, "x" * characters)
    assert threads == [inline]


def test_a_window_without_room_for_text_is_a_damaged_model():
    with pytest.raises(ModelDamaged, match="no room"):
        Chunks(TOKENIZER, msgspec.structs.replace(CARD, window=8))


async def test_a_small_window_overlaps_by_half():
    small = Chunks(TOKENIZER, fake_card(window=12))
    found = [inner(chunk, "") for chunk in await small.split(Role.QUERY, "abcdefghijklmn")]
    assert found == [ids("abcdefghi"), ids("efghijklmn")]


def test_padding_and_truncation_of_the_file_are_switched_off(tmp_path):
    tokenizer = fake_tokenizer()
    tokenizer.enable_padding(length=64)
    tokenizer.enable_truncation(max_length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    opened = open_tokenizer(tmp_path / "tokenizer.json")
    assert len(opened.encode("abc").ids) == 5
    assert len(opened.encode("a" * 100).ids) == 102


def test_a_file_that_is_no_tokenizer_is_a_damaged_model(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelDamaged, match=r"tokenizer\.json"):
        open_tokenizer(tmp_path / "tokenizer.json")


def test_a_tokenizer_that_rewrites_a_text_among_special_tokens_is_refused():
    words = Tokenizer(models.WordLevel({"a": 7, "b": 8}, "b"))

    class Rewriting:
        def encode(self, text: str, add_special_tokens: bool = True) -> Any:
            return words.encode("b" if add_special_tokens else "a")

    rewriting: Any = Rewriting()
    with pytest.raises(ModelDamaged, match="special tokens"):
        Chunks(rewriting, CARD)


def test_a_tokenizer_that_fails_at_words_it_does_not_know_is_damaged(tmp_path):
    vocabulary = {"a": 0, "b": 1}
    file = tmp_path / "tokenizer.json"
    Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]")).save(str(file))
    with pytest.raises(ModelDamaged, match="for any text"):
        open_tokenizer(file)


async def test_a_long_search_does_not_wait_for_the_tokens_of_a_long_write(chunks, monkeypatch):
    writing, release = threading.Event(), threading.Event()

    def held(tokenizer, text):
        if text.startswith("w"):
            writing.set()
            assert release.wait(PATIENCE)
        return token_ids(tokenizer, text)

    monkeypatch.setattr("memex.embedder.chunks.token_ids", held)
    write = asyncio.create_task(chunks.split(Role.PASSAGE, "w" * 300))
    assert await asyncio.to_thread(writing.wait, PATIENCE)
    assert len(await asyncio.wait_for(chunks.split(Role.QUERY, "s" * 300), PATIENCE)) == 1
    assert not write.done()
    release.set()
    await write
