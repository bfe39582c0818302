import logging
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.embedder import scripts
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model
from memex.embedder.scripts import LATIN, OTHER, Scripts, known_scripts, letters_carried, script_of, unread
from memex.metrics import Metrics
from tests.fakes import fake_tokenizer

SENTENCES = dict(line.split("\t") for line in scripts.SENTENCES.read_text("utf-8").splitlines())
# What Unicode's names begin with, for each script of which there is a sentence.
NAMES = {"chinese": "CJK", "korean": "HANGUL", "gurmukhi": "GURMUKHI", "odia": "ORIYA"}


@pytest.mark.parametrize("script", SENTENCES)
def test_a_sentence_is_in_its_script(script: str) -> None:
    assert script_of(SENTENCES[script]) == script


@pytest.mark.parametrize("script", [script for script in SENTENCES if script != "japanese"])
@given(data=st.data())
def test_letters_are_where_unicode_has_them(script: str, data: st.DataObject) -> None:
    """Unicode's own names are the oracle."""
    letter = data.draw(st.sampled_from([c for c in SENTENCES[script] if unicodedata.category(c)[0] == "L"]))
    assert scripts.script_at(letter) == script
    assert unicodedata.name(letter).startswith(NAMES.get(script, script.upper()))


@given(st.characters(categories=("Lu", "Ll", "Lo")))
def test_a_letter_has_the_script_that_its_name_says(letter: str) -> None:
    kinds = {NAMES.get(script, script.upper()): script for script in SENTENCES}
    kind = unicodedata.name(letter, "").partition(" ")[0]
    if kind in kinds and "LETTER" in unicodedata.name(letter):
        assert scripts.script_at(letter) in (kinds[kind], OTHER)


@given(st.text())
def test_every_text_has_a_script(text: str) -> None:
    assert script_of(text) in {*SENTENCES, OTHER, scripts.KANA}


@pytest.mark.parametrize("text", ["", "1234 ?!", "🎉🎉", "– — …", "naïve café", "x = 3 µm"])
def test_texts_of_marks_and_western_letters_are_latin(text: str) -> None:
    assert script_of(text) == LATIN


@pytest.mark.parametrize("script", SENTENCES)
def test_the_packaged_model_reads_latin_and_is_far_from_reading_anything_else(script: str) -> None:
    carried = letters_carried(open_tokenizer(open_model("e5-small-v2").tokenizer), SENTENCES[script])
    assert carried > 3 if script == LATIN else carried < 1.2


def test_what_is_known_follows() -> None:
    assert known_scripts(open_tokenizer(open_model("e5-small-v2").tokenizer)) == {LATIN}


@given(st.lists(st.sampled_from(["latin", "greek", "thai"]), max_size=40))
def test_the_share_is_that_of_all_texts(seen: list[str]) -> None:
    found = unread(seen, frozenset({"latin"}))
    others = [script for script in seen if script != "latin"]
    assert found.share == (len(others) / len(seen) if seen else 0.0)
    assert found.script in others or not others


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_window_forgets(foreign: list[bool]) -> None:
    metrics = Metrics()
    window = Scripts(frozenset({LATIN}), metrics)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "WINDOW", scripts.WINDOW)
        for is_foreign in foreign:
            window.see("κάτι άλλο" if is_foreign else "something")
    share = metrics.registry.get_sample_value("memex_embedding_unread_share")
    assert share == pytest.approx(sum(foreign) / len(foreign))


def test_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    window = Scripts(frozenset({LATIN}), Metrics())
    with caplog.at_level(logging.WARNING):
        for _ in range(scripts.LEAST_TEXTS - 1):
            window.see("Дети пошли домой")
        assert not caplog.records
        for _ in range(50):
            window.see("Дети пошли домой")
    (record,) = caplog.records
    assert "100% are in scripts" in record.getMessage()
    assert "Cyrillic" in record.getMessage()


def test_a_fifth_is_not_too_many(caplog: pytest.LogCaptureFixture) -> None:
    window = Scripts(frozenset({LATIN}), Metrics())
    for number in range(2 * scripts.WINDOW):
        window.see("Дети пошли домой" if number % 5 == 4 else "the children went home")
    assert not caplog.records


def test_a_vocabulary_of_bytes_is_made_for_every_script() -> None:
    assert known_scripts(fake_tokenizer()) == set(SENTENCES)
