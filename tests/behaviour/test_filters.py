"""Every condition finds exactly what meets it, in every mode, by memory and by PostgreSQL, however rare that is."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

import httpx
import psycopg
import pytest

from memex.model import Mode
from tests.behaviour.asking import ask, locations, search, store, store_all, texts
from tests.behaviour.test_ranking import ENGINES
from tests.fixtures.app import Run, Running

Test = TypeVar("Test", bound=Callable[..., Any])
TAGS = [
    "test",
    "testing",
    "my-test",
    "a_b",
    "axb",
    "50%",
    "5012",
    "C\\D",
    "a,b",
    "c|d",
    " e ",
    "e",
    "{x}",
    '"q"',
    "茶",
    "TEST",
]
AWKWARD = "a::b/c?d#e %20 ü+"


def every_way(test: Test) -> Test:
    """In every mode, in memory and in the database."""
    by_engine = pytest.mark.parametrize("engine", ["memory", "database"])(test)
    by_both: Test = pytest.mark.parametrize("mode", list(Mode))(by_engine)
    return by_both


@pytest.fixture
def engine() -> str:
    return "memory"


@pytest.fixture
async def service(run: Run, engine: str) -> AsyncIterator[Running]:
    async with run(**ENGINES[engine]) as started:
        yield started


async def found(rest: httpx.AsyncClient, filters: dict[str, Any] | None, **fields: Any) -> list[str]:
    """The contents of all that passes, in no order."""
    return sorted(await texts(rest, "tea", filters=filters, top_k=50, **fields))


@every_way
async def test_a_tag_is_itself_and_no_pattern(rest: httpx.AsyncClient, mode: Mode):
    for tag in TAGS:
        memory = await store(rest, f"tea {tag}", tags=[tag, "common"])
        assert memory["tags"] == [tag, "common"]
    for tag in TAGS:
        for name in ("tags_any", "tags_all"):
            assert await found(rest, {name: [tag]}, mode=mode) == [f"tea {tag}"]
    assert await found(rest, {"tags_any": ["test", "50%", "tes", "%", "_"]}, mode=mode) == ["tea 50%", "tea test"]
    assert await found(rest, {"tags_all": ["common", "a,b"]}, mode=mode) == ["tea a,b"]
    assert await found(rest, {"tags_all": ["a", "b"]}, mode=mode) == []
    assert len(await found(rest, {"tags_any": ["common", "test"]}, mode=mode)) == len(TAGS)
    assert await found(rest, {"tags_any": ["test", "e"], "tags_all": ["common", "e"]}, mode=mode) == ["tea e"]


@every_way
async def test_a_session_and_a_source_are_compared_as_a_whole(rest: httpx.AsyncClient, mode: Mode):
    for name in ("session_id", "source"):
        for value in ("chat", "chat-2", AWKWARD, "Chat"):
            await store(rest, f"tea {name} {value}", **{name: value})
    await store(rest, "tea of nowhere")
    for name in ("session_id", "source"):
        for value in ("chat", "chat-2", AWKWARD, "Chat"):
            assert await found(rest, {name: value}, mode=mode) == [f"tea {name} {value}"]
        for value in ("cha", "chat%", "chat ", "CHAT", "None", "null"):
            assert await found(rest, {name: value}, mode=mode) == []


async def test_null_and_left_out_are_no_condition_and_an_empty_list_is_refused(rest: httpx.AsyncClient):
    await store(rest, "green tea", tags=["a"])
    names = ("types", "tags_any", "tags_all", "session_id", "source", "created_after", "created_before", "metadata")
    for filters in (None, {}, *({name: None} for name in names), dict.fromkeys(names)):
        assert await found(rest, filters) == ["green tea"]
    for name in ("types", "tags_any", "tags_all", "metadata"):
        assert locations(await ask(rest, "tea", filters={name: []})) == [["body", "filters", name]]
    assert locations(await ask(rest, "tea", filters={"metadata": {}})) == [["body", "filters", "metadata"]]
    assert locations(await ask(rest, "tea", agents=[])) == [["body", "agents"]]


CLAUSES: list[tuple[list[dict[str, Any]], list[int]]] = [
    ([{"year": {"gte": 2020}}, {"year": {"lte": 2022}}], [2020, 2021, 2022]),
    ([{"year": {"lte": 2022}}, {"year": {"gte": 2020}, "odd": 1}], [2021]),
    ([{"year": {"ne": 2019}}, {"year": {"ne": 2021}}, {"odd": 1}], [2023]),
    ([{"year": 2020}, {"year": 2021}], []),
    ([{"year": 2020}], [2020]),
]


@every_way
async def test_two_conditions_on_one_key_both_hold(rest: httpx.AsyncClient, mode: Mode):
    for year in range(2018, 2025):
        await store(rest, f"tea {year}", metadata={"year": year}, created_at=f"{year}-06-01")
    middle = ["tea 2020", "tea 2021", "tea 2022"]
    assert await found(rest, {"metadata": {"year": {"gte": 2020, "lte": 2022}}}, mode=mode) == middle
    assert await found(rest, {"metadata": {"year": {"gt": 2019, "lt": 2023, "ne": 2021}}}, mode=mode) == middle[::2]
    window = {"created_after": "2020-01-01", "created_before": "2023-01-01"}
    assert await found(rest, window, mode=mode) == middle
    assert await found(rest, window | {"metadata": {"year": {"in": [2018, 2021, "2022"]}}}, mode=mode) == middle[1:2]


@every_way
async def test_several_objects_are_as_one(rest: httpx.AsyncClient, mode: Mode):
    stored = [await store(rest, f"tea {year}", metadata={"year": year, "odd": year % 2}) for year in range(2018, 2025)]
    for as_of in (None, stored[-1]["recorded_at"]):  # by the index, and by PostgreSQL
        for clauses, years in CLAUSES:
            assert await found(rest, {"metadata": clauses}, mode=mode, as_of=as_of) == [f"tea {year}" for year in years]


@every_way
async def test_a_window_lets_nothing_older_or_newer_through_not_even_as_a_copy(rest: httpx.AsyncClient, mode: Mode):
    for year in (2020, 2023, 2024, 2025):
        await store(rest, "green tea", created_at=f"{year}-06-01T00:00:00Z", agent_id="other", visibility="shared")
        await store(rest, f"green tea of {year}", created_at=f"{year}-06-01T00:00:00Z")
    forms = [
        ("2023-06-01T00:00:00Z", "2025-06-01T00:00:00Z"),
        ("2023-05-31T16:00:00-08:00", "2025-05-31T16:00:00-08:00"),
        ("2023-06-01T09:00:00+09:00", "2025-06-01T09:00:00+09:00"),
        (1_685_577_600, 1_748_736_000_000),
    ]
    for after, before in forms:
        window = {"created_after": after, "created_before": before}
        hits = await search(rest, "green tea", filters=window, agents="*", mode=mode)
        assert sorted(hit["content"] for hit in hits) == ["green tea", "green tea of 2023", "green tea of 2024"]
        assert all("2023-06-01" <= hit["created_at"] < "2025-06-01" for hit in hits)
        assert sum(hit["duplicates"] for hit in hits) == 1


KINDS: dict[str, Any] = {
    "one": 1, "one point zero": 1.0, "text one": "1", "true": True, "text true": "true", "null": None, "zero": 0,
    "false": False, "list": [1], "object": {"k": 1}, "big": 2**63, "bigger": 2**63 + 1, "huge": 10**300, "tiny": 1e-300,
}  # fmt: skip
NUMBERS = {"one", "one point zero", "zero", "big", "bigger", "huge", "tiny"}


CONDITIONS: list[tuple[Any, set[str]]] = [
    (1, {"one", "one point zero"}),
    ("1", {"text one"}),
    (True, {"true"}),
    ("true", {"text true"}),
    (None, {"null"}),
    ({"eq": 2**63}, {"big"}),
    ({"gt": 2**63}, {"bigger", "huge"}),
    ({"gte": 10**300}, {"huge"}),
    ({"gt": 0, "lt": 1}, {"tiny"}),
    ({"lt": 1e308}, NUMBERS),
    ({"gt": ""}, {"text one", "text true"}),
    ({"ne": 1}, {*KINDS} - {"one", "one point zero"}),
    ({"ne": None}, {*KINDS} - {"null"}),
    ({"in": [True, "1", None]}, {"true", "text one", "null"}),
    ({"exists": True}, {*KINDS}),
    ({"exists": False}, {"without"}),
]


@every_way
async def test_values_compare_as_what_they_are(rest: httpx.AsyncClient, mode: Mode):
    await asyncio.gather(*[store(rest, name, metadata={"k": value, "z": 1}) for name, value in KINDS.items()])
    await store(rest, "without", metadata={"other": {"k": 1}})
    for condition, names in CONDITIONS:
        assert await found(rest, {"metadata": {"k": condition}}, mode=mode) == sorted(names), condition


INJECTIONS = ("a') --", '" || true || "', '$."k"', "' OR 1=1 --", "%", "*", "k.k", '"', "\\", "\\u006b", "k\n")


async def test_a_key_is_a_plain_text_and_nothing_in_it_is_read_as_more(rest: httpx.AsyncClient):
    await store(rest, "green tea", metadata={"k": {"k": 1}})
    for key in INJECTIONS:
        assert await found(rest, {"metadata": {key: {"exists": True}}}) == []
        assert await found(rest, {"metadata": {"k": {"eq": key}}}) == []
    for key in INJECTIONS:
        await store(rest, f"tea {key}", metadata={key: key})
    for key in INJECTIONS:
        assert await found(rest, {"metadata": {key: key}}) == [f"tea {key}"]


WRONG: dict[str, tuple[Any, list[str | int]]] = {
    "unknown operator": ({"k": {"like": "%"}}, ["k", "like"]),
    "order of truth": ({"k": {"gt": True}}, ["k", "gt"]),
    "order of an object": ({"k": {"lt": {"a": 1}}}, ["k", "lt"]),
    "empty list": ({"k": {"in": []}}, ["k", "in"]),
    "long list": ({"k": {"in": [0] * 101}}, ["k", "in"]),
    "no truth": ({"k": {"exists": "yes"}}, ["k", "exists"]),
    "no operator": ({"k": {}}, ["k"]),
    "a list": ({"k": ["a"]}, ["k"]),
    "zero byte": ({"k\0": 1}, ["k\0"]),
    "many": ({f"k{n}": n for n in range(33)}, []),
    "empty clause": ([{"k": 1}, {}], [1]),
    "wrong clause": ([{"k": 1}, {"k": {"like": "%"}}], [1, "k", "like"]),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_condition_is_refused_with_its_place(rest: httpx.AsyncClient, name: str):
    conditions, at = WRONG[name]
    answer = await ask(rest, "tea", filters={"metadata": conditions})
    assert locations(answer) == [["body", "filters", "metadata", *at]]


async def test_of_two_conditions_under_one_name_none_is_lost_in_silence(rest: httpx.AsyncClient):
    for year in (2019, 2021, 2023):
        await store(rest, f"tea {year}", metadata={"year": year}, tags=[str(year)])
    twice = b'{"metadata": {"year": {"gte": 2020}, "year": {"lte": 2022}}}'
    asked = b'{"agent_id": "assistant", "user_id": "ana", "query": "tea", "filters": ' + twice + b"}"
    for path in ("/v1/memories/search", "/v1/context"):
        assert locations(await rest.post(path, content=asked)) == [["body", "filters", "metadata", "year"]]
    delete = b'{"agent_id": "assistant", "tags_any": ["2019"], "tags_any": ["2021"]}'
    assert locations(await rest.post("/v1/memories/delete", content=delete)) == [["body", "tags_any"]]
    assert len(await found(rest, None)) == 3


RARE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tags_any": ({"tags": ["seldom", "x"]}, {"tags_any": ["seldom", "unknown"]}),
    "tags_all": ({"tags": ["rare", "x"]}, {"tags_all": ["x", "rare"]}),
    "session": ({"session_id": "rare"}, {"session_id": "rare"}),
    "source": ({"source": "rare"}, {"source": "rare"}),
    "types": ({"memory_type": "procedural"}, {"types": ["procedural"]}),
    "window": ({"created_at": "2001-01-01"}, {"created_before": "2002-01-01"}),
    "metadata": ({"metadata": {"rare": True}}, {"metadata": {"rare": True}}),
}


@pytest.fixture
async def crowd(rest: httpx.AsyncClient) -> None:
    await store_all(rest, [f"green tea {n}" for n in range(400)], tags=["x"])
    await store_all(rest, ["green tea"] * 100)


@every_way
@pytest.mark.usefixtures("crowd")
async def test_k_texts_come_back_however_rare_the_condition(rest: httpx.AsyncClient, mode: Mode):
    """Those that pass are the worst of all for the query, and copies of one text take no places."""
    for name, (fields, filters) in RARE.items():
        texts = [f"{name} {n}" for n in range(12)]
        await store_all(rest, [*texts, *texts[:1] * 30], **fields)
        for k in (1, 10, 12, 50):
            hits = await search(rest, "green tea", filters=filters, top_k=k, mode=mode, explain=True)
            assert len(hits) == min(k, 12)
            assert {hit["content"] for hit in hits} <= set(texts)
            assert all(hit["duplicates"] == (30 if hit["content"] == texts[0] else 0) for hit in hits)
            assert all(hit["score"] == round(hit["explain"]["final"], 4) for hit in hits)
        apart = await search(rest, "green tea", filters=filters, top_k=50, mode=mode, collapse=False)
        assert (len(apart), {hit["duplicates"] for hit in apart}) == (42, {0})


@every_way
async def test_copies_are_counted_among_what_passes(rest: httpx.AsyncClient, mode: Mode):
    for n in range(5):
        await store(rest, "green tea", tags=["a"] if n < 3 else ["b"], metadata={"n": n})
    expected: Iterable[tuple[dict[str, Any], int]] = (
        ({"tags_any": ["a"]}, 2),
        ({"tags_any": ["b"]}, 1),
        ({"metadata": {"n": {"gte": 2}}}, 2),
        ({"tags_all": ["a"], "metadata": {"n": {"gte": 2}}}, 0),
    )
    for filters, duplicates in expected:
        (hit,) = await search(rest, "tea", filters=filters, mode=mode)
        assert hit["duplicates"] == duplicates


@every_way
async def test_a_least_score_and_the_parts_of_a_score_are_as_without_filters(rest: httpx.AsyncClient, mode: Mode):
    """Statistics are of what may be seen, before filters."""
    for n in range(30):
        await store(rest, f"{'green ' * (n % 3)}tea {n}", tags=[str(n % 2)], metadata={"n": n % 2})
    every = await search(rest, "green tea", mode=mode, top_k=50, explain=True, alpha=1)
    least = every[9]["explain"]["final"]
    for filters in ({"tags_any": ["1"]}, {"metadata": {"n": 1}}):
        hits = await search(rest, "green tea", mode=mode, top_k=50, explain=True, alpha=1, filters=filters)
        parts = {hit["id"]: hit["explain"] | {"recency": 0} for hit in hits}
        assert parts == {hit["id"]: hit["explain"] | {"recency": 0} for hit in every if hit["tags"] == ["1"]}
        near = await search(rest, "green tea", mode=mode, top_k=50, alpha=1, filters=filters, min_score=least)
        assert {hit["id"] for hit in near} == {hit["id"] for hit in hits if hit["explain"]["final"] >= least}


@every_way
async def test_archived_memories_are_found_where_they_are_asked_for(rest: httpx.AsyncClient, database: str, mode: Mode):
    for name in ("active", "archived", "superseded", "expired"):
        await store(rest, f"tea {name}", metadata={"n": 1}, tags=["a"])
    await store(rest, "tea active", agent_id="other", visibility="shared", metadata={"n": 1}, tags=["a"])
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for state in ("archived", "superseded"):
            await connection.execute("UPDATE memex.memories SET state = %s WHERE content = %s", (state, f"tea {state}"))
        await connection.execute(
            "UPDATE memex.memories SET state = 'archived', expires_at = '2020-01-01' WHERE content = 'tea expired'"
        )
    for filters in (None, {"tags_all": ["a"]}, {"metadata": {"n": 1}}):
        assert await found(rest, filters, mode=mode) == ["tea active"]
        assert await found(rest, filters, mode=mode, include_archived=True) == ["tea active", "tea archived"]
    (shared,) = await search(rest, "tea", agent_id="third", agents="*", include_archived=True, mode=mode)
    assert shared["agent_id"] == "other"


async def test_a_condition_on_metadata_sees_the_last_write_of_any_process(rest: httpx.AsyncClient, database: str):
    memory = await store(rest, "green tea", metadata={"n": 1})
    assert await found(rest, {"metadata": {"n": 1}}) == ["green tea"]
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for n in range(2, 5):
            await connection.execute("UPDATE memex.spaces SET version = version + 1")
            await connection.execute(
                "UPDATE memex.memories SET metadata = %s, space_version = %s WHERE id = %s",
                (f'{{"n": {n}}}', n, memory["id"]),
            )
            assert await found(rest, {"metadata": {"n": n}}) == ["green tea"]
            assert await found(rest, {"metadata": {"n": n - 1}}) == []
    await store(rest, "white tea", metadata={"n": 9})
    assert await found(rest, {"metadata": {"n": {"gt": 3}}}) == ["green tea", "white tea"]
    assert (await ask(rest, "tea", filters={"metadata": {"n": 1}}, user_id="nobody")).json()["results"] == []
