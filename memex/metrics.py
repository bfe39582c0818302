"""Every metric, and the one way to time a stage. The only module that names prometheus-client.

Labels hold route templates, operations and error codes; never an id or a text. With several
workers prometheus-client keeps the values in files of `PROMETHEUS_MULTIPROC_DIR`, which the parent
sets before it starts them, and any worker's `/metrics` answers for all.
"""

import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# 0.25 ms upward in steps of √2: a percentile below 50 ms is what memex is about.
BUCKETS = tuple(round(0.00025 * 2 ** (step / 2), 8) for step in range(32))
COARSE_BUCKETS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

LOAD_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

STAGES = ("embed", "load", "rank", "fetch", "refresh", "pack", "write")


class Stage:
    """One timing. A class because a generator would cost several times as much on the hot path."""

    __slots__ = ("_seconds", "_start")

    def __init__(self, seconds: Histogram) -> None:
        """`seconds` takes the time from entry to exit."""
        self._seconds = seconds

    def __enter__(self) -> None:
        """The clock runs."""
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        """Counted, whatever happened."""
        self._seconds.observe(time.perf_counter() - self._start)


class Metrics:
    """One process's metrics. Children with fixed labels are bound once, for the hot path."""

    def __init__(self, directory: str | None = None) -> None:
        """`directory` is where the workers of one service keep their values, None with a single worker."""
        self.directory = directory
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series per counter that nobody asked for
        self.registry = CollectorRegistry()
        self._of_requests(self.registry)
        self._of_memories(self.registry)
        self._of_embedding(self.registry)
        self._of_store(self.registry)
        self._of_index(self.registry)
        self._of_upkeep(self.registry)

    def _of_requests(self, r: CollectorRegistry) -> None:
        self.requests = Counter("http_requests", "Requests", ["method", "status", "handler"], registry=r)
        self.request_seconds = Histogram(
            "http_request_duration_seconds",
            "Request time by route",
            ["method", "handler"],
            buckets=COARSE_BUCKETS,
            registry=r,
        )
        self.request_seconds_fine = Histogram(
            "http_request_duration_highr_seconds", "Request time, fine", buckets=BUCKETS, registry=r
        )
        self.refused = Counter("memex_requests_refused", "Requests refused at the door", ["code"], registry=r)
        self.in_flight = gauge("memex_requests_in_flight", "Requests in work", r)
        self.loop_lag = gauge("memex_event_loop_lag_seconds", "How late the event loop last woke up", r)

    def _of_memories(self, r: CollectorRegistry) -> None:
        self.operations = Counter("memex_memory_operations", "Memory operations done", ["operation"], registry=r)
        self.search_engine = Counter("memex_search_engine", "Searches by what ranked them", ["engine"], registry=r)
        self.stages = Histogram("memex_stage_duration_seconds", "Time by stage", ["stage"], buckets=BUCKETS, registry=r)
        self._stages = {name: self.stages.labels(name) for name in STAGES}
        self.summarizer_runs = Counter("memex_summarizer_runs", "Summarizer runs", ["status"], registry=r)
        self.condensed = Counter("memex_summarizer_memories_condensed", "Memories condensed", registry=r)

    def _of_embedding(self, r: CollectorRegistry) -> None:
        self.embedding = Histogram(
            "memex_embedding_duration_seconds", "Time to embed", ["operation"], buckets=BUCKETS, registry=r
        )
        self.embedding_errors = Counter(
            "memex_embedding_errors", "Failed embeddings", ["operation", "error_type"], registry=r
        )
        self.cache = Counter("memex_embedding_cache", "Embedding cache look-ups", ["outcome"], registry=r)
        self.cache_bytes = gauge("memex_embedding_cache_bytes", "Bytes of cached embeddings", r)
        self.queue_tokens = gauge("memex_embedding_queue_tokens", "Tokens that wait for the encoder", r)
        self.wait = Histogram(
            "memex_embedding_wait_seconds",
            "Time that a text waits for the encoder",
            ["operation"],
            buckets=BUCKETS,
            registry=r,
        )
        self.unread_share = Gauge(
            "memex_embedding_unread_share",
            "Share of recent texts in scripts that the model cannot read",
            registry=r,
            multiprocess_mode="livemax",  # of the worker where it is highest: shares do not add up
        )
        self.batch_texts = Histogram(
            "memex_embedding_batch_texts", "Texts of one forward pass", buckets=(1, 2, 4, 8, 16, 32, 64), registry=r
        )

    def _of_store(self, r: CollectorRegistry) -> None:
        self.pool_size = gauge("memex_db_pool_size", "Open database connections", r)
        self.pool_idle = gauge("memex_db_pool_idle", "Idle database connections", r)
        self.group_rows = Histogram(
            "memex_write_group_rows", "Rows of one commit", buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=r
        )

    def _of_index(self, r: CollectorRegistry) -> None:
        self.resident_spaces = gauge("memex_index_resident_spaces", "Spaces in memory", r)
        self.resident_bytes = gauge("memex_index_resident_bytes", "Bytes of spaces in memory", r)
        self.index_events = Counter(
            "memex_index_events", "Loads, deltas, evictions, searches of spaces too large", ["event"], registry=r
        )
        self.load_seconds = Histogram(
            "memex_index_load_duration_seconds", "Time to load a space", buckets=LOAD_BUCKETS, registry=r
        )
        self.index_rows = Counter("memex_index_rows", "Rows that searches looked at", ["step"], registry=r)
        self.loaded_bytes = Counter("memex_index_loaded_bytes", "Bytes that loads of large spaces read", registry=r)

    def _of_upkeep(self, r: CollectorRegistry) -> None:
        self.upkeep_runs = Counter("memex_upkeep_runs", "Cleaning up", ["outcome"], registry=r)
        self.upkeep_tombstones = Counter("memex_upkeep_tombstones", "Deletions forgotten", registry=r)
        self.upkeep_keys = Counter("memex_upkeep_keys", "Idempotency keys forgotten", registry=r)

    def stage(self, name: str) -> "Stage":
        """Times one of STAGES of a request, also when it fails: `with metrics.stage("rank"): …`."""
        return Stage(self._stages[name])

    def render(self) -> bytes:
        """The Prometheus text of this process, or of all workers."""
        if self.directory:
            together = CollectorRegistry()
            multiprocess.MultiProcessCollector(together, path=self.directory)  # type: ignore[no-untyped-call]
            return generate_latest(together)
        return generate_latest(self.registry)


def gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    """A gauge that sums over the live workers."""
    return Gauge(name, text, registry=registry, multiprocess_mode="livesum")


def forget(directory: str, pid: int) -> None:
    """A worker has died: its gauges are of nobody. Its counts stay."""
    multiprocess.mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]
