"""Versions in headers, beside what RFC 9110 says of entity tags."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.api.etags import held, wanted
from memex.reading.faults import Faults

VERSIONS = st.integers(1, 999_999_999)
OPAQUE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters='"\x7f'), max_size=12).filter(
    lambda text: not re.fullmatch("[1-9][0-9]{0,8}", text) and not any("\x80" > c > "\x7e" for c in text)
)
GAPS = st.sampled_from([",", ", ", " ,", "\t,\t", ", ,", ",,, "])


@given(st.lists(st.tuples(st.booleans(), VERSIONS | OPAQUE), min_size=1, max_size=6), st.data())
def test_a_list_names_the_versions_in_it(tags: list[tuple[bool, int | str]], data: st.DataObject):
    parts = [f'{"W/" * weak}"{tag}"' for weak, tag in tags]
    written = parts[0] + "".join(data.draw(GAPS) + part for part in parts[1:])
    faults = Faults()
    for name, read, ours in (
        (b"if-match", wanted, [tag for weak, tag in tags if isinstance(tag, int) and not weak]),
        (b"if-none-match", held, [tag for _, tag in tags if isinstance(tag, int)]),
    ):
        found = read([(b"accept", b"*/*"), (name, written.encode("latin-1"))], faults)
        assert found is not None
        assert set(found) == set(ours)  # type: ignore[call-overload]
    assert faults.problems == []


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_by_name(value: bytes):
    for name, read in ((b"if-match", wanted), (b"if-none-match", held)):
        faults = Faults()
        read([(name, value)], faults)
        assert [problem.loc for problem in faults.problems] in ([], [("header", name.decode())])


def test_without_a_condition_any_version_will_do_and_none_is_held():
    faults = Faults()
    assert wanted([], faults) is None
    assert wanted([(b"if-match", b" * ")], faults) is None
    assert (1 in held([], faults), 1 in held([(b"if-none-match", b"*")], faults)) == (False, True)


def test_a_header_given_twice_is_one_list():
    assert wanted([(b"if-match", b'"1"'), (b"if-match", b'"2"')], Faults()) == (1, 2)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("value", [b'"1"' * 20_000, b'"1" ,' * 20_000 + b"x", b", \t" * 20_000 + b"x", b'W/"' * 20_000])
def test_a_long_wrong_header_is_refused_at_once(value: bytes):
    faults = Faults()
    wanted([(b"if-match", value)], faults)
    assert len(faults.problems) == 1
