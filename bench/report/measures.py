"""What the name of a figure tells: a title, its unit, and which way is better."""

import re

import msgspec

TITLES = {
    "requests_per_second": "requests a second",
    "offered_per_second": "offered a second",
    "achieved_per_second": "achieved a second",
    "goodput_per_second": "goodput a second",
    "highest_per_second": "highest rate",
    "cpu_ms_service": "CPU a request, service",
    "cpu_ms_postgres": "CPU a request, PostgreSQL",
    "cpu_ms_both": "CPU a request",
    "generator_cpu_ms": "CPU a request, generator",
}
# By a part of a figure's name; the first that fits counts.
UNITS: tuple[tuple[str, str, str], ...] = (
    (r"(^|_)ms(_|$)", "ms", "lower"),
    (r"_per_second$", "1/s", "higher"),
    (r"_ns$", "ns", "lower"),
    (r"_s$|_seconds$", "s", "lower"),
    (r"_mib$", "MiB", "lower"),
    (r"percent", "%", ""),
    (r"^(recall|ndcg|mrr|hit|precision)(@|_at_)\d+(_|$)", "0 to 1", "higher"),
    (r"^spearman$|cosine", "−1 to 1", "higher"),
)
SUFFIX = re.compile(r"_(ms|ns|s|mib)$")


class Measure(msgspec.Struct, frozen=True):
    """How to speak of a figure. `better` is higher, lower or empty where neither is."""

    title: str
    unit: str
    better: str

    @property
    def caption(self) -> str:
        """`p99, ms; lower is better`."""
        named = ", ".join(part for part in (self.title, self.unit) if part)
        return f"{named}; {self.better} is better" if self.better else named


def measure(name: str) -> Measure:
    """What is known of a figure of that name."""
    title = TITLES.get(name) or SUFFIX.sub("", name).replace("_", " ")
    for pattern, unit, better in UNITS:
        if re.search(pattern, name, re.IGNORECASE):
            return Measure(title, unit, better)
    return Measure(title, "", "")
