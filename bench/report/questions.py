"""The questions that are known, in the order of the page; any other is shown as tables."""

from collections.abc import Callable

import msgspec

from bench.report.blocks import Answer, Section, noise_of
from bench.report.comparison import versus
from bench.report.encoding import embed, encoder
from bench.report.holding import residency
from bench.report.kernels import micro
from bench.report.ladder import ladder, open_loop
from bench.report.load import load
from bench.report.nearness import fidelity, missed
from bench.report.overload import overload
from bench.report.plain import plain, unexpected
from bench.report.profiles import profile
from bench.report.provenance import provenance
from bench.report.retrieval import quality
from bench.report.starting import startup
from bench.results import Result


class Question(msgspec.Struct, frozen=True):
    """How a question is asked, answered and shown."""

    title: str
    method: str
    command: str
    show: Callable[[list[Result]], Answer] = plain


QUESTIONS = {
    "versus": Question(
        "How does memex compare with the reference, one beside the other?",
        "Both are measured in turn, ABAB, each time on a fresh service; ratios are taken within a pair.",
        "python -m bench.load.versus --load closed-loop --texts unique",
        versus,
    ),
    "closed-loop": Question(
        "How many requests a second at most, and for how much CPU?",
        "A fixed number of keep-alive connections, each asks again as soon as it is answered. Repeated texts always "
        "hit the embedding cache, unique texts never do, Zipf texts sometimes: no load alone tells how fast it is.",
        "python -m bench.load.closed_loop --texts unique",
        load,
    ),
    "locust": Question(
        "What does the reference's own load test say?",
        "Its mix of writes, searches and reads by Locust's users, with waits (realistic) and without (saturation).",
        "python -m bench.load.locust --texts unique",
        load,
    ),
    "open-loop": Question(
        "What latency do users see at a given rate?",
        "Requests come at a fixed rate and latency counts from the instant at which each was due.",
        "python -m bench.load.open_loop --rate 100",
        open_loop,
    ),
    "ladder": Question(
        "Up to which rate does it keep its latency objective?",
        "The open loop at rising rates until p99 exceeds the objective, then between the last good and the first bad.",
        "python -m bench.load.ladder",
        ladder,
    ),
    "overload": Question(
        "What happens when more comes than it can do?",
        "The open loop at a multiple of the highest good rate: what is still answered, how fast, and how soon the rest "
        "is refused.",
        "python -m bench.load.overload",
        overload,
    ),
    "startup": Question(
        "How fast does it start, and what does it hold at rest?",
        "From the start of the process to its first answer that it is ready, with data present; memory and CPU while "
        "nobody asks.",
        "python -m bench.startup",
        startup,
    ),
    "residency": Question(
        "How fast is a large space in memory, and a write in every process?",
        "The first search of a space in a fresh service, alone and while another connection searches a small one; "
        "writes to one service, each followed by a search of another one over the same database.",
        "python -m bench.residency",
        residency,
    ),
    "quality": Question(
        "Does it find the right memories?",
        "Every text of a public data set is stored through the API and every question asked through it; means over "
        "the questions that have an answer.",
        "python -m bench.quality.all --data FOLDER",
        quality,
    ),
    "reference-recall": Question(
        "How much does the reference's index miss?",
        "Its answers beside those of an exact search of the same vectors.",
        "python -m bench.reference.recall",
        missed,
    ),
    "fidelity": Question(
        "How near are the packaged weights to the fp32 model?",
        "Cosine of each text's vector to that of the public fp32 file, by both engines.",
        "python -m bench.quality.fidelity --data FOLDER --fp32 FILE",
        fidelity,
    ),
    "encoder": Question(
        "How fast is the encoder alone?",
        "The same tokens through the native encoder and through onnxruntime, on one thread and in turn; onnxruntime "
        "gets texts of unequal length as a padded batch and one by one, and the faster of both counts.",
        "python -m bench.encoding.encoder --fp32 FILE --stock FILE",
        encoder,
    ),
    "embed": Question(
        "What do queue, cache and Python add to the encoder?",
        "Through the embedder without HTTP, beside two threads that only encode: throughput, the time of one text, "
        "of a search among long writes, and of a refusal.",
        "python -m bench.encoding.embed",
        embed,
    ),
    "micro": Question(
        "How fast are the parts alone?",
        "One call on one thread, beside NumPy and numba where these can do the same; each answer is checked.",
        "python -m bench.micro",
        micro,
    ),
    "profile": Question(
        "Where does the time go?",
        "Samples of the running service under load, by function.",
        "python -m bench.profile --texts unique",
        profile,
    ),
}
UNKNOWN_METHOD = "See the command's own documentation."


def sections(questions: dict[str, list[Result]]) -> list[Section]:
    """One for each question that has results: the known ones in their order, then the others by name."""
    order = [name for name in QUESTIONS if name in questions]
    return [section(name, questions[name]) for name in order + sorted(questions.keys() - QUESTIONS.keys())]


def section(name: str, results: list[Result]) -> Section:
    """One question."""
    question = QUESTIONS.get(name, Question(name, UNKNOWN_METHOD, ""))
    try:
        answer = question.show(results)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        answer = unexpected(results)
    return Section(anchor(name), question.title, question.method, answer, provenance(results), noise_of(results))


def unanswered(questions: dict[str, list[Result]]) -> list[Question]:
    """The known questions that nobody has asked yet."""
    return [question for name, question in QUESTIONS.items() if name not in questions]


def anchor(name: str) -> str:
    """A name that an address can hold."""
    return "question-" + "".join(letter if letter.isalnum() else "-" for letter in name.lower())
