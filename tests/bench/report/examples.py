"""One result for each question, in the shape that its command records. The figures mean nothing."""

from collections.abc import Callable
from typing import Any

import msgspec

from bench.ceilings import Ceilings
from bench.noise import Noise
from bench.pairs import Interval, compare
from bench.results import Result

QUIET, DISTURBED = Noise(20.0, 0.1, 1.0), Noise(20.0, 3.4, 14.0)
MACHINE = {"cpu": "AMD EPYC", "cores": 2, "commit": "0123456789ab", "native": {"profile": "release"}}
CEILINGS = Ceilings(390.8, 82.4, 24.52, 35.58, 0.831)
COSTS = {"cpu_ms_service": 0.561, "cpu_ms_postgres": 0.102, "cpu_ms_both": 0.663, "generator_cpu_ms": 0.073}
LOAD = {"requests": 4321, "requests_per_second": 1746.0, "p50_ms": 17.1, "p95_ms": 25.87, "p99_ms": 38.97, **COSTS}
RUNG = {"offered_per_second": 150.0, "achieved_per_second": 149.0, "goodput_per_second": 148.0, **LOAD}
SPACES = {"texts": "unique", "rows": "5", "reads": 75, "slo_ms": 100.0}
MEANS = {"questions": 15, "recall@10": Interval(0.717, 0.697, 0.738), "ndcg@10": Interval(0.561, 0.541, 0.582)}


def result(question: str, variant: str, figures: dict[str, Any], noise: Noise = QUIET, **settings: Any) -> Result:
    """As it is after it was written and read."""
    return Result(
        question=question,
        variant=variant,
        figures=msgspec.json.decode(msgspec.json.encode(figures)),
        settings=settings,
        warm_up="5 s of the same load",
        noise=[noise],
        taken="2026-02-03T04:05Z",
        command=f"python -m bench.load.example --texts {settings.get('texts', 'none')}",
        machine=MACHINE,
        ceilings=CEILINGS,
    )


def closed_loop(service: str = "memex", noise: Noise = QUIET, **figures: Any) -> Result:
    """Unique texts."""
    return result("closed-loop", f"{service}-unique", LOAD | figures, noise, service=service, texts="unique")


def versus(noise: Noise = QUIET) -> Result:
    """Five pairs with the ratios 2, 2 … and 0.5, 0.5 …."""
    sides = [{"requests_per_second": rate, "cpu_ms_both": 100 / rate} for rate in (400.0, 200.0)]
    pairs = msgspec.to_builtins(compare(lambda: sides[0], lambda: sides[1]))
    names = {"load": "closed-loop", "texts": "unique", "first": "memex", "second": "reference"}
    return result("versus", "closed-loop-unique-memex-reference", pairs, noise, **names)


def ladder(noise: Noise = QUIET) -> Result:
    """Three rungs, the last of which failed."""
    rungs = [
        {"held": rate < 200, **RUNG, "offered_per_second": rate, "p99_ms": rate / 2.5} for rate in (75.0, 150.0, 300.0)
    ]
    figures = {"highest_per_second": 187.5, "finished": False, "rungs": rungs}
    return result("ladder", "memex-unique-5-75", figures, noise, service="memex", **SPACES)


def overload(noise: Noise = QUIET) -> Result:
    """Three times the capacity."""
    figures = {"capacity_per_second": 187.5, **RUNG, "time_to_refuse": {"p50_ms": 1.25}, "recovered_after_s": None}
    return result("overload", "memex-unique-5-75-x3", figures, noise, service="memex", factor=3.0, **SPACES)


def quality(service: str = "memex", noise: Noise = QUIET) -> Result:
    """Two categories."""
    figures = {"all": MEANS, "categories": {"multi-hop": MEANS, "temporal": MEANS}, "stored": 2760}
    names = {"data set": "locomo", "service": service, "mode": "hybrid"}
    return result("quality", f"locomo-{service}-hybrid", figures, noise, **names)


def micro(noise: Noise = QUIET) -> Result:
    """memex's way 28 µs, another 56 µs; one that memex loses, and one without a rival."""
    benchmarks = [
        {"group": "1000 rows", "name": "test_native[semantic-1000]", "median_ns": 28_000.0, "rounds": 7},
        {"group": "1000 rows", "name": "test_rival[numpy_best-1000]", "median_ns": 56_000.0, "rounds": 7},
        {"group": "batcher", "name": "test_50_one_by_one", "median_ns": 64_000.0, "rounds": 7},
        {"group": "batcher", "name": "test_32_at_once", "median_ns": 21_000.0, "rounds": 7},
        {"group": "terms", "name": "test_native[query]", "median_ns": 3_000.0, "rounds": 7},
        {"group": "terms", "name": "test_regular_expression[query]", "median_ns": 1_500.0, "rounds": 7},
    ]
    return result("micro", "all", {"benchmarks": benchmarks}, noise)


def profile(noise: Noise = QUIET) -> Result:
    """All code and Python alone."""
    native = {"samples": 900, "layers": {"kernel": 9.5, "onnxruntime": 71.2}, "symbols": []}
    encode = {"name": "encode", "file": "json.py", "own": 6.1, "total": 7.0}
    python = {"samples": 100, "layers": {"litestar": 12.5}, "functions": [encode]}
    return result("profile", "memex-unique", {"native": native, "python": python, **LOAD}, noise, service="memex")


def startup(noise: Noise = QUIET) -> Result:
    """Nobody draws it: tables."""
    return result("startup", "memex", {"first_start_s": 3.44, "rss_mib": {"memex": 299.1}}, noise)


def open_loop(noise: Noise = QUIET) -> Result:
    """One rate."""
    return result("open-loop", "memex-unique-5-75-150", RUNG, noise, service="memex", **SPACES)


def locust(noise: Noise = QUIET) -> Result:
    """Both classes of users."""
    names = {"service": "memex", "texts": "repeated", "classes": "reference", "users": 50}
    return result("locust", "memex-repeated-reference-50", LOAD, noise, **names)


EXAMPLES: dict[str, tuple[Callable[..., Result], list[str]]] = {
    "versus": (versus, ["2 [2, 2]", "0.5 [0.5, 0.5]", "better"]),
    "closed-loop": (closed_loop, ["1,746", "0.663 ms", "39.0"]),
    "locust": (locust, ["1,746", "0.663 ms", "reference users"]),
    "open-loop": (open_loop, ["150", "39.0"]),
    "ladder": (ladder, ["188", "objective: p99 100 ms", "the time was over"]),
    "overload": (overload, ["188", "148", "did not recover"]),
    "startup": (startup, ["3.44", "299"]),
    "quality": (quality, ["0.717 [0.697, 0.738]", "multi-hop", "2,760"]),
    "micro": (micro, ["28 µs", "Slower in terms (0.5)", "1 of 2 comparisons"]),
    "profile": (profile, ["onnxruntime 71.2 % and kernel 9.5 %", "encode", "6.1"]),
}
