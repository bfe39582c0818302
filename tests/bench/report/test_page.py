"""What stands on the page, whichever question was asked."""

import re

import pytest

from bench.report.blocks import MARK
from bench.report.collection import Skipped
from bench.report.questions import QUESTIONS
from tests.bench.report.documents import Document, example, rendered
from tests.bench.report.examples import DISTURBED, EXAMPLES, closed_loop, ladder, overload, quality, result, versus

HOSTILE = '</style><script>alert(1)</script><img src="http://example.org/x">|`$x^2$`\n\n# --> &lt;'
TABLES = {"startup", "residency", "embed", "fidelity", "reference-recall"}
DRAWN = sorted(EXAMPLES.keys() - TABLES)


@pytest.fixture(scope="module")
def everything() -> str:
    return rendered(*(build() for build, _ in EXAMPLES.values()))[0]


@pytest.mark.parametrize("question", EXAMPLES)
def test_the_figures_appear_in_both_documents(question: str):
    figures = EXAMPLES[question][1]
    page, text = example(question)
    words = Document(page).text
    assert [figure for figure in figures if figure not in words] == []
    plain = text.replace("\\", "")
    in_plots_only = {"objective: p99 100 ms", "0.663 ms", "28 µs", "rank 1000 memories"}
    assert [figure for figure in figures if figure not in plain and figure not in in_plots_only] == []


@pytest.mark.parametrize("question", DRAWN)
def test_what_can_be_drawn_is_drawn_for_wide_and_narrow_screens(question: str):
    page, _ = example(question)
    drawings = [attributes for tag, attributes in Document(page).elements if tag == "svg"]
    assert len(drawings) >= 2
    assert {attributes["viewbox"].split()[2] for attributes in drawings} == {"720", "340"}
    assert all(attributes["aria-label"] for attributes in drawings)


@pytest.mark.parametrize("question", EXAMPLES)
def test_a_disturbed_run_is_marked_and_a_quiet_one_is_not(question: str):
    page, disturbed = example(question, disturbed=True)
    _, quiet = example(question)
    assert disturbed.split("## Glossary")[0].count(MARK) > 3
    assert MARK.strip() not in quiet.split("## Glossary")[0]
    assert "halves differ by 14 % and steal 3.4 %" in Document(page).text


def test_a_plot_marks_the_disturbed_bar():
    page, _ = rendered(closed_loop(noise=DISTURBED, requests_per_second=987.0), closed_loop("reference"))
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", page)
    assert f"987{MARK}" in drawn
    assert "1,746" in drawn


def test_a_plot_of_times_has_an_axis_of_times():
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", example("micro")[0])
    assert {"1 µs", "10 µs", "28 µs"} <= set(drawn)


@pytest.mark.parametrize("question", [*EXAMPLES, "never-heard-of"])
def test_nothing_in_a_result_becomes_markup(question: str):
    hostile = result(
        question, HOSTILE, {HOSTILE: 1.5, "list": [{HOSTILE: HOSTILE}]}, DISTURBED, service=HOSTILE, x=HOSTILE
    )
    hostile.command = hostile.warm_up = hostile.taken = HOSTILE
    hostile.machine = {HOSTILE: HOSTILE}
    page, _ = rendered(hostile, skipped=(Skipped(HOSTILE, HOSTILE),))
    document = Document(page)
    assert {"script", "img"}.isdisjoint(tag for tag, _ in document.elements)
    assert "<script>alert(1)</script>" in document.text


def test_a_hostile_service_is_text_in_the_drawings_too():
    hostile = closed_loop(HOSTILE)
    document = Document(rendered(hostile)[0])
    assert {"script", "img"}.isdisjoint(tag for tag, _ in document.elements)
    assert "svg" in {tag for tag, _ in document.elements}


def test_the_page_loads_nothing_and_its_links_lead_somewhere_on_it(everything: str):
    document = Document(everything)
    assert document.open == []
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in document.elements)
    assert not document.values("src")
    assert "@import" not in everything
    assert set(re.findall(r"url\((.)", everything)) <= {"#"}
    assert "http" not in everything
    ids = document.values("id")
    assert len(ids) == len(set(ids))
    targets = document.values("href") + [f"#{name}" for name in re.findall(r"url\(#([^)]*)\)", everything)]
    assert targets
    assert {target.removeprefix("#") for target in targets} <= set(ids)


def test_equal_results_give_equal_bytes(everything: str):
    again = [EXAMPLES[question][0]() for question in reversed(EXAMPLES)]
    assert rendered(*again)[0] == everything


def test_colours_follow_the_page(everything: str):
    drawings = re.findall(r"<svg.*?</svg>", everything, re.DOTALL)
    colours = {colour for drawing in drawings for colour in re.findall(r"#[0-9a-f]{6}\b", drawing)}
    assert colours <= {"#000000"}  # matplotlib's clip paths and defaults, which paint nothing
    assert "var(--series-1)" in "".join(drawings)


def test_a_missing_rival_is_named_with_its_command():
    words = Document(rendered(closed_loop(), quality())[0]).text
    assert "unique texts: reference was not measured, so memex stands alone here." in words
    assert "python -m bench.load.example --texts unique --service reference" in words
    assert "reference was not measured on locomo." in words


def test_no_rival_is_missed_where_both_were_measured():
    words = Document(rendered(closed_loop(), closed_loop("reference"), quality(), quality("reference"))[0]).text
    assert "was not measured" not in words


def test_questions_without_results_are_listed_with_their_commands():
    page, text = rendered(closed_loop())
    absent = [question for name, question in QUESTIONS.items() if name != "closed-loop"]
    assert [question.command for question in absent if question.command not in Document(page).text] == []
    assert [question.command for question in absent if f"`{question.command}`" not in text] == []


@pytest.mark.parametrize("question", DRAWN)
@pytest.mark.parametrize("figures", [{}, {"odd": [1, 2]}, {"rungs": [{"offered_per_second": 3}]}, {"all": 7}])
def test_figures_of_another_shape_still_show(question: str, figures: dict[str, object]):
    page, text = rendered(result(question, "memex-odd", figures))
    assert "svg" not in {tag for tag, _ in Document(page).elements}
    assert "not of the shape" in text
    assert "memex-odd" in text


def test_a_question_that_nobody_knows_shows_as_tables():
    _, text = rendered(result("unheard", "native", {"deep": {"er": {"p99_ms": 3.14}}, "seen": [{"a": 1}, {"b": 2}]}))
    assert "| deep · er · p99 ms | 3.14 | ms, lower |" in text
    assert "| a | b |" in text
    assert "| 1 | – |" in text


def test_every_provenance_stands_with_its_question():
    words = Document(rendered(closed_loop())[0]).text
    for expected in ("2026-02-03T04:05Z", "5 s of the same load", "391", "82.4", "0.831", "AMD EPYC, 0123456789ab"):
        assert expected in words


def test_one_machine_stays_one_whatever_the_commit():
    first, second = closed_loop(), closed_loop("reference")
    second.machine = first.machine | {"commit": "ba9876543210"}
    _, text = rendered(first, second)
    assert "| commit | 0123456789ab, ba9876543210 |" in text
    assert "machine 2" not in text
    second.machine = second.machine | {"cpu": "another"}
    assert "machine 2" in rendered(first, second)[1]


def test_a_row_of_a_disturbed_run_is_marked_once():
    _, text = rendered(closed_loop(noise=DISTURBED))
    (row,) = [line for line in text.splitlines() if line.startswith("| unique texts: memex")]
    assert row.startswith(f"| unique texts: memex{MARK} |")
    assert row.count(MARK) == 1


def test_loads_are_told_in_words():
    compared = versus()
    compared.settings |= {"write_share": 1.0}
    assert "closed-loop, unique texts, writes only: memex / reference" in rendered(compared)[1]
    climbed = ladder()
    climbed.settings |= {"rows": "skewed"}
    assert "unique texts, skewed tenants, 75 % reads" in rendered(climbed)[1]


@pytest.mark.parametrize(("seconds", "words"), [(0, "recovered within the first second"), (4, "recovered after 4 s")])
def test_recovery_is_told_in_words(seconds: int, words: str):
    pressed = overload()
    pressed.figures["recovered_after_s"] = seconds
    assert words in rendered(pressed)[1]
