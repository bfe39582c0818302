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
        {"group": "1000 rows", "name": "test_rival[numpy-1000]", "median_ns": 56_000.0, "rounds": 7},
        {"group": "batcher", "name": "test_50_one_by_one", "median_ns": 64_000.0, "rounds": 7},
        {"group": "batcher", "name": "test_32_at_once", "median_ns": 21_000.0, "rounds": 7},
        {"group": "terms of a query text", "name": "test_native[query]", "median_ns": 3_000.0, "rounds": 7},
        {"group": "terms of a query text", "name": "test_regular_expression[query]", "median_ns": 1_500.0, "rounds": 7},
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
    rest = {"rss_mib": {"memex": 291.0, "postgres": 33.0}, "idle_cpu_percent_of_a_core": 0.03}
    return result("startup", "memex", {"start_median_s": 1.33, "first_start_s": 3.44} | rest, noise)


def residency(noise: Noise = QUIET) -> Result:
    """A small space and a large one."""
    way = {"writes": 200, "in_the_next_search": 200, "p50_ms": 1.9, "p99_ms": 4.5}
    figures = {
        "alone": {"load_s_median": 0.81},
        "bytes_per_row": 1310,
        "write_to_search": {"small": way, "100000 rows": way},
    }
    return result("residency", "memex-100000", figures, noise, rows=100_000)


def encoder(noise: Noise = QUIET) -> Result:
    """Two cases, both faster than onnxruntime; the peak of one."""
    case = {
        "texts_per_second": {"native": 640.0, "fp32": 160.0, "stock": 320.0},
        "native_by": {"fp32": Interval(4.0, 3.9, 4.1), "stock": Interval(2.0, 1.9, 2.1)},
    }
    slower = case | {"native_by": {"fp32": Interval(3.0, 2.9, 3.1), "stock": Interval(1.5, 1.4, 1.6)}}
    figures = {"13 tokens, batch 1": case, "64 tokens, batch 32": slower}
    peak = {"13 tokens, batch 1": Interval(0.61, 0.6, 0.62)}
    threads = {"two threads by one": Interval(1.95, 1.9, 1.97)}
    return result("encoder", "one-thread", figures | {"peak": peak} | threads, noise)


def embed(noise: Noise = QUIET) -> Result:
    """All four parts."""
    figures = {
        "callers_by_bare_encoder": {
            "embed": {"texts": 900.0},
            "bare": {"texts": 1000.0},
            "ratio": Interval(0.9, 0.88, 0.92),
        },
        "one_text": {"all_ms": 1.45, "encoder_ms": 1.2, "batcher_cache_python_ms": 0.25},
        "search_among_long_writes": {
            "p50_ms": 20.0,
            "p99_ms": 33.0,
            "bounded_pass_ms": 30.0,
            "p99_by_bounded_pass": 1.1,
        },
        "refusals": {"refused": 1800, "p50_ms": 0.021, "p99_ms": 0.043},
    }
    return result("embed", "native", figures, noise)


def fidelity(noise: Noise = QUIET) -> Result:
    """One set and all together."""
    near = {"least_cosine": 0.99941, "mean_cosine": 0.99972, "overlap@10": 0.981}
    found = {"texts": 50, "tokens": [8, 512], "native": near, "onnxruntime": near | {"overlap@10": 0.991}}
    return result("fidelity", "e5-small-v2", {"xquad-en": found, "all": found, "moved_by_batch": 0}, noise)


def recall(noise: Noise = QUIET) -> Result:
    """Three users."""
    figures: dict[str, float] = {}
    for size, found in ((1000, 0.151), (10, 1.0), (100, 1.0)):
        figures |= {f"recall_at_5_of_{size}": found, f"hits_of_{size}": 5 * found}
    return result("reference-recall", "packaged", figures, noise)


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
    "startup": (
        startup,
        ["ready in 1.33 s (median), 291 MiB memex + 33 MiB PostgreSQL, 0.03 % of a core at rest"],
    ),
    "residency": (
        residency,
        ["100,000 memories loaded in 0.81 s (median), 1,310 bytes each, 400 of 400 writes in another process's next"],
    ),
    "encoder": (
        encoder,
        ["3 to 4 × the speed of onnxruntime, fp32", "1.5 to 2 ×", "two threads give 1.95 × one", "2.0 [1.9, 2.1]"],
    ),
    "embed": (
        embed,
        ["0.9 of the bare encoder", "0.25 ms around one text", "waits 1.1 of the longest pass", "0.043 ms (p99)"],
    ),
    "fidelity": (
        fidelity,
        ["native cosine 0.99972 on average, 0.99941 at least, overlap@10 0.981", "depend on their batch: 0", "0.991"],
    ),
    "reference-recall": (
        recall,
        ["recall@5 1.00 for a user of 10 memories, 1.00 of 100, 0.15 of 1,000", "memories of the user"],
    ),
    "quality": (quality, ["0.717 [0.697, 0.738]", "multi-hop", "2,760"]),
    "micro": (
        micro,
        [
            "28 µs",
            "Slower: split a query into search terms (0.5 × the speed",
            "rank 1000 memories",
            "1 of 2 comparisons",
        ],
    ),
    "profile": (profile, ["onnxruntime 71.2 % and kernel 9.5 %", "encode", "6.1"]),
}
