"""The words of the page, each with what exactly is meant."""

import msgspec


class Term(msgspec.Struct, frozen=True):
    """A word and its definition."""

    anchor: str
    name: str
    meaning: str


TERMS = (
    Term(
        "p99",
        "p50, p95, p99",
        "The latency that 50, 95 or 99 of 100 requests do not exceed. In a closed loop from sending to the last byte; "
        "in an open loop from the instant at which the request was due, so that a service that stalls cannot hide it.",
    ),
    Term(
        "cpu",
        "CPU milliseconds a request",
        "User and system time that the service's processes and PostgreSQL's used during the measured time, by the "
        "operating system's counters, divided by the requests answered. It does not contain the generator.",
    ),
    Term(
        "closed-loop",
        "closed loop, open loop",
        "Closed: each connection asks again once it is answered, so a slow service is asked less. Open: requests come "
        "at a fixed rate, whatever the answers do, as users do.",
    ),
    Term(
        "goodput",
        "goodput",
        "Requests a second that were answered with success and within the objective. What is late, refused or comes to "
        "nothing does not count.",
    ),
    Term(
        "objective",
        "objective",
        "The bound on p99 that a rate has to keep to count as good: 100 ms unless the settings say otherwise.",
    ),
    Term("recall", "recall@k", "Of the memories that answer a question, the share among the first k found."),
    Term("hit", "hit@k", "1 if at least one memory that answers the question is among the first k, else 0."),
    Term("mrr", "MRR", "Mean reciprocal rank: 1 / rank of the first memory that answers the question; 0 if none does."),
    Term(
        "ndcg",
        "NDCG@k",
        "Sum of 1 / log₂(rank + 1) over the first k that answer the question, divided by the best possible sum.",
    ),
    Term(
        "interval",
        "[low, high]",
        "The 95 % interval by percentile bootstrap: the statistic over 10,000 resamples with replacement of the same "
        "pairs or questions.",
    ),
    Term(
        "pairs",
        "ratio",
        "First divided by second within one pair of runs, each on a fresh service, in the order ABAB…; the median over "
        "the pairs is told. An interval that holds 1 means: not told apart.",
    ),
    Term(
        "noisy",
        "noisy ⚠︎",
        "The hypervisor gave more than 2 % of the CPU time to others, or the two halves of a run differ by more than "
        "10 %. Such a figure stands here for completeness; do not rely on it.",
    ),
    Term(
        "ceilings",
        "ceilings",
        "What one core does at most in a loop that does nothing else: int8 and fp32 arithmetic from registers, reading "
        "an array larger than the caches, and the median of a durable 8 KiB write. No software exceeds them.",
    ),
)
