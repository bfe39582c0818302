"""The results of a folder: what could be read, and what could not and why."""

from pathlib import Path

import msgspec

from bench.results import Result, read


class Skipped(msgspec.Struct, frozen=True):
    """A file that is not a result."""

    name: str
    reason: str


class Collection(msgspec.Struct, frozen=True):
    """Results by question, each question's in the order of their variants."""

    questions: dict[str, list[Result]]
    skipped: list[Skipped]


def collect(folder: Path) -> Collection:
    """Reads every JSON file of `folder`; one that is broken or foreign is named, not fatal."""
    questions: dict[str, list[Result]] = {}
    skipped: list[Skipped] = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = read(path)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(path.name, str(error)))
        except OSError as error:
            skipped.append(Skipped(path.name, error.strerror or "cannot be read"))
        else:
            questions.setdefault(result.question, []).append(result)
    for results in questions.values():
        results.sort(key=lambda result: result.variant)
    return Collection(questions, skipped)
