import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import noise
from bench.noise import Noise, halves_percent, watched

instants = st.lists(st.floats(0, 10), max_size=60)


def test_a_quiet_run_has_no_reasons():
    assert Noise(seconds=10, steal_percent=noise.STEAL_PERCENT, halves_percent=noise.HALVES_PERCENT).reasons == []


def test_each_disturbance_is_named():
    assert Noise(steal_percent=2.1).reasons == ["steal 2.1 %"]
    assert Noise(halves_percent=12.0).reasons == ["halves differ by 12 %"]
    assert len(Noise(steal_percent=50, halves_percent=50).reasons) == 2


@given(instants)
def test_halves_count_as_their_definition_says(finished: list[float]):
    first = [instant for instant in finished if instant < 5]
    second = [instant for instant in finished if 5 <= instant < 10]
    larger = max(len(first), len(second))
    expected = 100 * abs(len(first) - len(second)) / larger if larger else 0
    assert halves_percent(finished, 0, 10) == pytest.approx(expected, abs=0.05)


@given(instants, st.floats(-100, 100))
def test_what_ends_outside_does_not_count(finished: list[float], outside: float):
    beyond = outside if not 0 <= outside < 10 else 10.0
    assert halves_percent([*finished, beyond], 0, 10) == halves_percent(finished, 0, 10)


@given(instants)
def test_halves_stay_within_percent_and_do_not_depend_on_order(finished: list[float]):
    found = halves_percent(finished, 0, 10)
    assert 0 <= found <= 100
    assert halves_percent(finished[::-1], 0, 10) == found


def test_steal_is_of_all_cores(monkeypatch: pytest.MonkeyPatch):
    stolen, clock = iter([5.0, 6.0]), iter([100.0, 110.0])
    monkeypatch.setattr(noise, "steal_seconds", lambda: next(stolen))
    monkeypatch.setattr("bench.noise.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("bench.noise.psutil.cpu_count", lambda: 4)
    with watched() as seen:
        pass
    assert (seen.seconds, seen.steal_percent) == (10.0, 2.5)


def test_a_run_that_fails_is_measured_too():
    with pytest.raises(RuntimeError, match="stop"), watched() as seen:  # noqa: PT012 - what is seen after it
        seen.seconds = -1
        raise RuntimeError("stop")
    assert seen.seconds >= 0
