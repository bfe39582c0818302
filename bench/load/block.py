"""One measured block: the figures of a stretch of load, whoever generated it."""

import re
import statistics
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence

import msgspec

from bench.noise import Noise, halves_percent
from bench.services.running import Cpu

LOOKUPS = re.compile(r'^memex_embedding_cache_total\{outcome="(\w+)"\} (\S+)$', re.MULTILINE)


class Done(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One request that came to an end."""

    kind: str
    """search or write."""
    finished: float
    """The instant, in seconds of the generator's clock."""
    seconds: float
    """From sending to the whole answer."""
    asker: str = ""
    """The class of virtual users, where there are several."""
    failed: bool = False


class Block(msgspec.Struct, frozen=True):
    """What one block gave."""

    figures: dict[str, float]
    noise: Noise


class Seen:
    """The texts of a load so far. A share of them that came before is what a cache without bounds would hit."""

    def __init__(self) -> None:
        self._texts: set[object] = set()
        self.restart()

    def restart(self) -> None:
        """Counts from zero; what came before stays known."""
        self.total = 0
        self._known = len(self._texts)

    def add(self, kind: str, text: object) -> None:
        """One more. A question and a memory of one text are two: models embed them differently."""
        self.total += 1
        self._texts.add((kind, text))

    @property
    def repeated_share(self) -> float:
        """0 to 1."""
        return round(1 - (len(self._texts) - self._known) / max(self.total, 1), 4)


class Lookups(msgspec.Struct, frozen=True):
    """What the service's own embedding cache says of itself."""

    found: float
    """Kept, or in work for another request."""
    missed: float

    @classmethod
    def of(cls, url: str) -> "Lookups":
        """As of now; zeros for a service that has no such cache, or does not tell."""
        counts = {outcome: float(count) for outcome, count in LOOKUPS.findall(metrics(url))}
        return cls(counts.get("hit", 0.0) + counts.get("shared", 0.0), counts.get("miss", 0.0))

    def rate_since(self, earlier: "Lookups") -> dict[str, float]:
        """The hit rate after `earlier`, 0 to 1; nothing if nothing was looked up."""
        found, missed = self.found - earlier.found, self.missed - earlier.missed
        return {"cache_hit_rate": round(found / (found + missed), 4)} if found + missed else {}


def metrics(url: str) -> str:
    """The service's Prometheus text, empty if it has none."""
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:  # noqa: S310 (a loopback address)
            return str(response.read().decode())
    except urllib.error.HTTPError:
        return ""


def rates(done: Sequence[Done], begin: float) -> dict[str, float]:
    """Requests a second from `begin` to the last answer, and latencies; failed requests count as failures alone."""
    good = [one for one in done if not one.failed]
    elapsed = max(one.finished for one in done) - begin
    figures: dict[str, float] = {"requests": len(good), "failures": len(done) - len(good)}
    figures["requests_per_second"] = round(len(good) / elapsed, 1)
    figures |= latencies("", good)
    kinds = sorted({one.kind for one in good})
    for kind in kinds if len(kinds) > 1 else []:
        figures |= latencies(f"{kind}_", [one for one in good if one.kind == kind])
    return figures


def latencies(prefix: str, done: Iterable[Done]) -> dict[str, float]:
    """Percentiles in milliseconds; nothing for fewer than two requests."""
    seconds = [one.seconds for one in done]
    if len(seconds) < 2:
        return {}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {f"{prefix}p{percent}_ms": round(1000 * cuts[percent - 1], 2) for percent in (50, 95, 99)}


def costs(used: Cpu, own: float, answered: int) -> dict[str, float]:
    """CPU milliseconds for each answered request: the service's, its PostgreSQL's, both, and the generator's.

    What failed requests cost is in them: refusing is cheap, and must not make answering look so.
    """
    answered = max(1, answered)
    parts = {f"cpu_ms_{name}": value for name, value in used.per(answered).items()}
    return parts | {"generator_cpu_ms": round(1000 * own / answered, 3)}


def halves(done: Sequence[Done], begin: float) -> float:
    """How much the rates of the two halves after `begin` differ, in percent."""
    finished = [one.finished for one in done]
    return halves_percent(finished, begin, max(finished))
