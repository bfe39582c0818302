"""The keyword arm's tokenizer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex import _native
from memex.index import TERMS_VERSION, tokenize
from tests.oracles import terms as oracle

# Letters that the English stemmer leaves alone, with what joins and parts them.
ALPHABET = "бжяЖéü١٢०१हिन्दीकُتبئمเมือง9กไทย字构建服務かなカナー々한국어ＡＢ７①½ ,.-_'’\t\n!。、\u200d\u0301\U00020000🙂"


def found(text: str) -> dict[int, int]:
    terms = tokenize(text)
    assert terms.ids == sorted(set(terms.ids))
    return dict(zip(terms.ids, terms.counts, strict=True))


def ids(*terms: str) -> set[int]:
    return {oracle.term_id(term) for term in terms}


@settings(max_examples=400)
@given(st.text(ALPHABET, max_size=60))
def test_words_are_those_of_the_oracle(text: str) -> None:
    assert found(text) == oracle.counts_of(text)


@given(st.text(max_size=200))
def test_any_text_has_sound_terms(text: str) -> None:
    counts = found(text)
    assert all(-(2**31) <= term < 2**31 and count >= 1 for term, count in counts.items())
    assert found(text) == counts


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running runners ran easily", ("run", "runner", "ran", "easili")),
        ("the user's e-mail", ("the", "user", "s", "e", "mail")),
        ("order 4711 v2", ("order", "4711", "v2")),
        ("FastAPI构建", ("fastapi", "构", "建", "构建")),
        ("字", ("字",)),
        ("東京タワー", ("東", "京", "タ", "ワ", "ー", "東京", "京タ", "タワ", "ワー")),
        ("한국어", ("한", "국", "어", "한국", "국어")),
        ("ไทย", ("ไ", "ท", "ย", "ไท", "ทย")),
        ("كُتُب قديمة", ("كُتُب", "قديمة")),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("Строки данных", ("строки", "данных")),
        ("2024年", ("2024", "年")),
        ("ﬁne ＷＩＤＥ", ("fine", "wide")),
        ("", ()),
        (" … 🙂 __ ", ()),
    ],
)
def test_examples(text: str, terms: tuple[str, ...]) -> None:
    assert set(found(text)) == ids(*terms)


def test_repeats_are_counted_and_saturate() -> None:
    assert found("go going gone go") == {oracle.term_id("go"): 3, oracle.term_id("gone"): 1}
    assert found("a " * 40_000) == {oracle.term_id("a"): 32_767}


@pytest.mark.parametrize("letter", ["a", "y", "字", "ก", "é"])
def test_eight_thousand_of_one_letter(letter: str) -> None:
    counts = found(letter * 8000)
    assert len(counts) == (2 if letter in "字ก" else 1)
    assert max(counts.values()) == (8000 if letter in "字ก" else 1)


def test_one_form_of_a_text_has_the_terms_of_another() -> None:
    assert found("Cafe\u0301 ÉCOLE") == found("café école")


def test_terms_say_their_version() -> None:
    assert TERMS_VERSION == _native.TERMS_VERSION >= 1
