import pytest

from memex.embedder.models.build.calibration import TEXTS, calibration_texts
from memex.embedder.models.tokenizing import fit


@pytest.mark.parametrize(("ids", "window", "kept"), [([1, 2, 3], 3, [1, 2, 3]), ([1, 2, 3, 4, 9], 3, [1, 2, 9])])
def test_a_cut_text_keeps_its_separator(ids: list[int], window: int, kept: list[int]) -> None:
    assert fit(ids, window) == kept


def test_each_line_comes_alone_and_joined_in_both_roles() -> None:
    texts = calibration_texts(["a", "b", "c", "d"], ("q: ", "p: "))
    assert texts == ["q: a", "p: b", "p: c", "q: d", "p: a b c", "p: d", *["q: a b c d", "p: a b c d", "p: a b c d"]]


def test_our_texts_are_many_and_of_many_scripts() -> None:
    lines = TEXTS.read_text("utf-8").splitlines()
    assert len(set(lines)) == len(lines) >= 200
    scripts = {"я", "的", "は", "는", "ة", "है", "ที่", "ה", "ο"}
    assert not {script for script in scripts if script not in "".join(lines)}
