import msgspec

from bench.micro.__main__ import Measured, Report, Stats, figure


def test_a_call_for_many_texts_counts_per_text():
    measured = Measured("batcher", "test_32_at_once", Stats(3.2e-3, 6.4e-3, 3.2e-4, 7), {"per": 32})
    assert figure(measured) == {
        "group": "batcher",
        "name": "test_32_at_once",
        "texts": 32,
        "min_ns": 100_000.0,
        "median_ns": 200_000.0,
        "iqr_ns": 10_000.0,
        "rounds": 7,
    }


def test_of_the_file_only_what_is_recorded_is_read():
    stats = '{"min": 1e-9, "median": 2e-9, "iqr": 0, "rounds": 5, "outliers": "1;2", "hd15iqr": 3.0}'
    one = f'{{"group": null, "name": "test_x", "fullname": "f", "extra_info": {{}}, "stats": {stats}}}'
    report = msgspec.json.decode(f'{{"machine_info": {{}}, "benchmarks": [{one}]}}', type=Report)
    assert figure(report.benchmarks[0]) == {
        "group": "",
        "name": "test_x",
        "texts": 1,
        "min_ns": 1.0,
        "median_ns": 2.0,
        "iqr_ns": 0.0,
        "rounds": 5,
    }
