import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from memex.embedder.chunks import INLINE_CHARACTERS
from memex.embedder.counting import Counting, unknown_token
from memex.embedder.models import open_model
from tests.fakes import fake_tokenizer

PACKAGED = Tokenizer.from_file(str(open_model("e5-small-v2").tokenizer))


@given(st.lists(st.text(max_size=100), max_size=5))
async def test_tokens_of_a_vocabulary_without_gaps_are_counted_as_they_are(texts: list[str]):
    tokenizer = fake_tokenizer()
    counted = await Counting(tokenizer).count(texts)
    assert counted == [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]


@given(st.text(max_size=300))
async def test_what_the_model_does_not_know_counts_by_its_characters(text: str):
    encoding = PACKAGED.encode(text, add_special_tokens=False)
    (counted,) = await Counting(PACKAGED).count([text])
    places = zip(encoding.tokens, encoding.offsets, strict=True)
    unknown = [text[start:end] for token, (start, end) in places if token == "[UNK]"]
    assert counted == len(encoding.tokens) - len(unknown) + sum(map(len, unknown))


async def test_a_word_of_any_length_is_not_one_token():
    thai, known = "ชาเขียว" * 500, "green tea"
    assert await Counting(PACKAGED).count([thai, known, ""]) == [len(thai), 2, 0]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (models.WordLevel({"a": 0, "?": 1}, unk_token="?"), 1),
        (models.BPE({"a": 0}, [], unk_token="a"), 0),
        (models.BPE({"a": 0}, []), None),
        (models.Unigram([("a", -1.0), ("<unk>", 0.0)], 1, False), 1),
    ],
)
async def test_every_kind_of_vocabulary_says_what_it_lacks(model: models.Model, expected: int | None):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    assert unknown_token(tokenizer) == expected
    if expected == 1:
        assert await Counting(tokenizer).count(["a 茶茶茶 a"]) == [5]


@pytest.mark.parametrize(("characters", "inline"), [(INLINE_CHARACTERS, True), (INLINE_CHARACTERS + 1, False)])
async def test_many_characters_are_counted_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, characters: int, inline: bool
):
    counting, threads = Counting(fake_tokenizer()), list[bool]()
    real = counting._length

    def noted(text: str) -> int:
        threads.append(threading.current_thread() is threading.main_thread())
        return real(text)

    monkeypatch.setattr(counting, "_length", noted)
    assert await counting.count(["x" * (characters - 1), "y"]) == [characters - 1, 1]
    assert threads == [inline, inline]
