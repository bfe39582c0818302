"""oha as it is used: nothing late is hidden and nothing is dropped."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load import oha
from bench.load.oha import Answer, Stream, connections, lateness, parse, rows, send
from tests.bench.open_loop.stalling import Stalling, listening

HERE = Path(__file__).parent
STALL = 0.6
RATE = 100.0
needs_oha = pytest.mark.skipif(not oha.OHA.exists(), reason="oha is not built: `make bench-tools` builds it")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The database that oha wrote in a run of 12 requests at 40/s whose fourth answer was a 503."""
    path = tmp_path / "rows.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((HERE / "rows.sql").read_text())
    return path


STREAM = Stream("http://127.0.0.1:1/", 40.0, 0.3, 4)


def test_the_recorded_run_is_read_whole(recorded: Path):
    sent = parse((HERE / "summary.json").read_bytes(), rows(recorded), STREAM)
    assert [answer.status for answer in sent.answers] == [200] * 3 + [503] + [200] * 8
    assert [answer.intended for answer in sent.answers] == pytest.approx([n / 40 for n in range(12)], abs=1e-9)
    assert all(answer.latency > 0 for answer in sent.answers)
    assert min(sent.late) == 0
    assert sent.broken == {}


def test_a_request_that_is_nowhere_is_an_error(recorded: Path):
    with pytest.raises(ValueError, match="11 answers"):
        parse((HERE / "summary.json").read_bytes(), rows(recorded)[:-1], STREAM)


def test_broken_requests_are_counted_and_nobody_guesses_where_they_were():
    summary = b'{"errorDistribution": {"connection closed": 1}}'
    sent = parse(summary, [(5.0, 5.5, 200), (6.0, 6.25, 200)], Stream("http://127.0.0.1:1/", 2.0, 1.5, 1))
    assert sent.answers == [Answer(0.0, 0.5, 200), Answer(1.0, 1.25, 200)]
    assert sent.broken == {"connection closed": 1}
    assert sent.late == []


@given(
    st.lists(st.floats(0, 0.5), min_size=1, max_size=50),
    st.floats(1, 5_000),
    st.floats(0, 10),
)
def test_lateness_is_what_the_dispatcher_was_late_however_the_clock_began(late: list[float], rate: float, begin: float):
    punctual = [0.0, *late]
    found = lateness([begin + place / rate + behind for place, behind in enumerate(punctual)], rate)
    assert found == pytest.approx(punctual, abs=1e-9)


@given(st.floats(0.1, 20_000), st.floats(0.05, 5))
def test_connections_suffice_for_what_is_held(rate: float, held: float):
    found = connections(rate, held)
    assert oha.LEAST_CONNECTIONS <= found <= oha.MOST_CONNECTIONS
    assert found >= min(rate * held, oha.MOST_CONNECTIONS)


@needs_oha
@pytest.mark.parametrize("width", [1, 16])
async def test_a_stall_counts_for_everything_that_was_due_in_it(width: int):
    """Whatever this machine's speed, no answer is before the stall's end, so no latency is below what is left of it."""
    server = Stalling(STALL)
    async with listening(server) as url:
        sent = await send(Stream(url, RATE, 1.0, width), [b'{"n": %d}' % n for n in range(100)])
    assert [answer.status for answer in sent.answers] == [200] * 100
    assert [answer.intended for answer in sent.answers] == pytest.approx([n / RATE for n in range(100)], abs=1e-9)
    assert [n for n, answer in enumerate(sent.answers) if answer.latency < STALL - 0.001 - n / RATE] == []
    assert sent.cpu > 0


@needs_oha
async def test_what_is_due_before_the_end_is_sent_even_when_the_end_is_in_a_stall():
    server = Stalling(STALL)
    async with listening(server) as url:
        sent = await send(Stream(url, RATE, STALL / 2, 1), [b"{}"])
    assert len(sent.answers) == len(server.bodies) == 30
    assert min(answer.end for answer in sent.answers) >= STALL - 0.001


@needs_oha
async def test_bodies_are_those_given_and_each_request_has_its_spread():
    given_, server = [b'{"n": %d}' % n for n in range(1_000)], Stalling(0.0)
    async with listening(server) as url:
        await send(Stream(url, 200.0, 0.1, 16), iter(given_), spread=8)
    assert len(server.bodies) == 20
    assert set(server.bodies) <= set(given_[:160])


async def test_without_oha_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oha, "OHA", HERE / "nowhere")
    with pytest.raises(SystemExit, match="make bench-tools"):
        await send(STREAM, [b"{}"])
