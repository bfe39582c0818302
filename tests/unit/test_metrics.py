"""The metrics that dashboards of the reference read, and buckets that can tell fast from slow."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memex.metrics import BUCKETS, COARSE_BUCKETS, Metrics

KEPT = {
    "memex_embedding_duration_seconds": {"operation"},
    "memex_embedding_errors": {"operation", "error_type"},
    "memex_memory_operations": {"operation"},
    "memex_db_pool_size": set(),
    "memex_db_pool_idle": set(),
    "memex_summarizer_runs": {"status"},
    "memex_summarizer_memories_condensed": set(),
    "http_requests": {"method", "status", "handler"},
    "http_request_duration_seconds": {"method", "handler"},
    "http_request_duration_highr_seconds": set(),
}


def used() -> Metrics:
    """Every labelled metric with one child, so that it is shown."""
    metrics = Metrics()
    for labelled, values in (
        (metrics.requests, ("GET", "2xx", "/health")),
        (metrics.request_seconds, ("GET", "/health")),
        (metrics.refused, ("overloaded",)),
        (metrics.operations, ("store",)),
        (metrics.stages, ("rank",)),
        (metrics.summarizer_runs, ("ok",)),
        (metrics.embedding, ("query",)),
        (metrics.embedding_errors, ("query", "EncoderFailed")),
        (metrics.wait, ("query",)),
        (metrics.cache, ("hit",)),
        (metrics.index_events, ("load",)),
        (metrics.index_rows, ("scanned",)),
        (metrics.search_engine, ("memory",)),
        (metrics.upkeep_runs, ("done",)),
    ):
        labelled.labels(*values)
    return metrics


def test_these_tests_see_every_metric():
    assert [family.name for family in used().registry.collect() if not family.samples] == []


@pytest.mark.parametrize("name", sorted(KEPT))
def test_names_and_labels_of_the_reference_are_kept(name: str):
    families = {family.name: family for family in text_string_to_metric_families(used().render().decode())}
    labels = {label for sample in families[name].samples for label in sample.labels} - {"le"}
    assert labels == KEPT[name]


def test_buckets_begin_where_memex_is_and_are_fine_below_fifty_milliseconds():
    assert BUCKETS[0] == 0.00025
    assert sum(bound <= 0.05 for bound in BUCKETS) >= 15
    assert COARSE_BUCKETS[0] <= 0.00025
    assert list(BUCKETS) == sorted(set(BUCKETS))


def test_no_label_could_hold_an_id_or_a_text():
    labels = set(re.findall(r"(\w+)=\"", used().render().decode()))
    assert labels <= {
        *("method", "status", "handler", "code", "operation", "stage"),
        *("error_type", "outcome", "event", "engine", "step", "le"),
    }


def test_a_stage_is_timed_also_when_it_fails():
    metrics = Metrics()
    with pytest.raises(LookupError), metrics.stage("rank"):
        raise LookupError
    assert 'memex_stage_duration_seconds_count{stage="rank"} 1.0' in metrics.render().decode()
