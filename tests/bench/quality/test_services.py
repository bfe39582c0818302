"""Every dialect against a server of the documented shape, and memex's against memex itself."""

import httpx
import pytest

from bench.quality import service as service_module
from bench.quality.catalogue import DIALECTS, serving
from bench.quality.dataset import Dataset, Memory, Question
from bench.quality.retrieval import ask, store
from bench.quality.service import Service, connect
from bench.quality.services.dialect import WrongAnswer
from bench.quality.services.memex import Memex, Reference
from tests.bench.quality.peers import PEERS, McpMemoryServer, Mem0Server, RedisServer

TEXTS = ["the red kettle boils", "a blue bicycle leaks oil", "green tea for the guests", "winter tyres in autumn"]
MEMORIES = [Memory(f"m{number}", "anna", text, "s1", "2024-05-01T10:00:00+00:00") for number, text in enumerate(TEXTS)]
SMALL = Dataset("small", MEMORIES, [Question("anna", "blue bicycle oil", {"m1": 1.0}, "only")])


@pytest.mark.parametrize("name", PEERS)
async def test_a_peer_stores_and_finds(name: str):
    async with PEERS[name]().client() as client:
        peer = Service(client, DIALECTS[name])
        stored = await store(peer, SMALL)
        for mode in peer.traits.modes:
            (answer,) = await ask(peer, SMALL, stored, 3, mode)
            assert answer.ranked[0] == "m1"


async def test_redis_before_it_gave_scores_is_ordered_by_distance():
    async with RedisServer(scores=False).client() as client:
        peer = Service(client, DIALECTS["redis-agent-memory"])
        (answer,) = await ask(peer, SMALL, await store(peer, SMALL), 3, "semantic")
    assert answer.ranked[0] == "m1"
    assert answer.best == pytest.approx(3 / 5)


async def test_two_facts_of_one_text_are_one_hit():
    async with PEERS["hindsight"]().client() as client:
        peer = Service(client, DIALECTS["hindsight"])
        (answer,) = await ask(peer, SMALL, await store(peer, SMALL), 3, "default")
    assert answer == type(answer)(["m1"], None, True)


async def test_a_service_of_one_space_takes_no_set_of_several_users():
    two = Dataset("two", [*MEMORIES, Memory("m9", "ben", "other")], SMALL.questions)
    server = McpMemoryServer()
    async with server.client() as client:
        with pytest.raises(WrongAnswer, match="one space for all, two needs 2"):
            await store(Service(client, DIALECTS["mcp-memory-service"]), two)
    assert server.requests == []


async def test_a_refusal_with_status_200_is_noticed():
    twice = Dataset("twice", [MEMORIES[0], Memory("again", "anna", TEXTS[0])], [])
    async with McpMemoryServer().client() as client:
        with pytest.raises(WrongAnswer, match="did not store 'the red kettle boils': Duplicate"):
            await store(Service(client, DIALECTS["mcp-memory-service"]), twice)


async def test_runs_do_not_share_users():
    server = Mem0Server()
    async with server.client() as client:
        await store(Service(client, DIALECTS["mem0"]), SMALL)
        await store(Service(client, DIALECTS["mem0"]), SMALL)
    assert len({user for _, user, _ in server.rows}) == 2


@pytest.mark.parametrize(
    ("name", "header", "value"), [("mem0", "X-API-Key", "k1"), ("hindsight", "Authorization", "Bearer k1")]
)
async def test_an_api_key_goes_where_the_service_takes_it(name: str, header: str, value: str):
    async with connect("http://127.0.0.1:1", DIALECTS[name].traits, "k1") as client:
        assert client.headers[header] == value
    async with connect("http://127.0.0.1:1", DIALECTS[name].traits, "") as client:
        assert header not in client.headers


async def test_a_busy_service_is_asked_again():
    answers = [httpx.Response(503, headers={"Retry-After": "0"}), httpx.Response(429, headers={"Retry-After": "0"})]
    answers.append(httpx.Response(200, json={"id": "x"}))
    transport = httpx.MockTransport(lambda _: answers.pop(0))
    async with httpx.AsyncClient(transport=transport, base_url="http://busy") as client:
        busy = Service(client, Memex())
        assert await busy.store(MEMORIES[0]) == "x"
        assert busy.refused == 2


@pytest.mark.parametrize(("asked", "seconds"), [("3", 3.0), ("", 1.0), ("Fri, 01 Jan 2027 00:00:00 GMT", 1.0)])
def test_how_long_a_busy_service_is_left_alone(asked: str, seconds: float):
    assert service_module.pause(httpx.Response(503, headers={"Retry-After": asked})) == seconds


async def test_any_other_status_ends_the_measurement():
    transport = httpx.MockTransport(lambda _: httpx.Response(422, text="no such field"))
    async with httpx.AsyncClient(transport=transport, base_url="http://strict") as client:
        with pytest.raises(WrongAnswer, match="POST /v1/memories gave 422: no such field"):
            await store(Service(client, Memex()), SMALL)


def test_a_peer_is_not_started_here():
    with pytest.raises(Exception, match="give its --url"), serving("mem0", None, {}):
        pass


COPIES = [Memory(f"copy{number}", "anna", TEXTS[1]) for number in range(2)]
DOUBLED = Dataset("doubled", [*MEMORIES, *COPIES, Memory("alien", "ben", TEXTS[1])], SMALL.questions)


async def test_memex_gives_every_copy_of_the_user_in_each_mode(rest: httpx.AsyncClient):
    ours = Service(rest, Memex())
    stored = await store(ours, DOUBLED)
    for mode in ours.traits.modes:
        (answer,) = await ask(ours, DOUBLED, stored, 3, mode)
        assert set(answer.ranked) == {"m1", "copy0", "copy1"}


async def test_memex_understands_the_reference_s_fields(rest: httpx.AsyncClient):
    """Where copies of a text are one hit."""
    ours = Service(rest, Reference())
    (answer,) = await ask(ours, DOUBLED, await store(ours, DOUBLED), 3, "semantic")
    assert len({"m1", "copy0", "copy1"} & set(answer.ranked)) == 1
    assert answer.ranked[0] in {"m1", "copy0", "copy1"}


async def test_what_the_data_set_knows_is_stored(rest: httpx.AsyncClient):
    ours = Service(rest, Memex())
    await store(ours, SMALL)
    call = ours.shape(1, "keyword")
    answer = await rest.post(call.path, json=call.body | {"user_id": ours._own("anna"), "query": "bicycle"})
    (found,) = answer.json()["results"]
    assert (found["session_id"], found["created_at"]) == ("s1", "2024-05-01T10:00:00.000000Z")
