"""A list is cut where JSON has its commas, whatever its items hold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.reading.apart import DEEPEST, TURN, apart

TEXTS = st.text(st.sampled_from('[]{},:"\\ \n\u00e9\U0001f600a'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
BLANKS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")])


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5), BLANKS, st.booleans(), st.sampled_from(["", " \n"]))
async def test_what_is_beside_a_deep_item_comes_back_whole(
    before: list[Any], after: list[Any], blanks: tuple[str, str], ascii: bool, around: str
):
    def written(value: Any) -> str:
        return json.dumps(value, separators=blanks, ensure_ascii=ascii)

    parts = [*map(written, before), deep(5_000), *map(written, after)]
    found = await apart(f"{around}[{blanks[0].join(parts)}]{around}".encode())
    assert [found[len(before)]] == [deep(5_000).encode()]
    del found[len(before)]
    assert [json.loads(item) for item in found] == before + after


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "7",
        "[]",
        f"[{deep(DEEPEST - 1)}]",
        f'{{"a": {deep(5_000)}}}',
        "[" * 5_000,
        "]" * 5_000,
        f"[{deep(5_000)}] 7",
        f"7 [{deep(5_000)}]",
        f"[{deep(5_000)}]]",
        f'["\\"{deep(5_000)}]',
        '"' + '\\"' * 100_000,
    ],
    ids=lambda raw: raw[:12],
)
async def test_what_is_no_list_with_a_deep_item_is_left_to_others(raw: str):
    assert await apart(raw.encode()) == []


async def test_many_items_come_back_in_their_order():
    numbers = [str(number).encode() for number in range(2 * TURN)]
    assert await apart(b"[" + b",".join([*numbers, deep(5_000).encode()]) + b"]") == [*numbers, deep(5_000).encode()]
