"""SciFact (Wadden et al. 2020) as BEIR asks it: abstracts as memories, claims as queries, one space for all.

python -m bench.quality.scifact --data FOLDER    (with scifact.zip and qrels_test.tsv)
"""

import ast
import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click

from bench.quality.command import Target, Task, data_option, measure, target_options
from bench.quality.dataset import Dataset, Memory, Question

USER = "scifact"
CORPUS = "corpus_train.csv"
# A column of sentences is written as NumPy prints an array of strings: quoted literals without commas between.
LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


@click.command()
@data_option("Folder with scifact.zip and qrels_test.tsv.", folder=True)
@target_options
def main(data: Path, target: Target) -> None:
    """Retrieval of the abstracts that BEIR's judgements of the test claims name."""
    measure(Task(read(data)), target)


def read(folder: Path) -> Dataset:
    """The whole corpus and the judged claims."""
    with zipfile.ZipFile(folder / "scifact.zip") as archive:
        memories = [Memory(row["doc_id"], USER, abstract(row)) for row in rows(archive, CORPUS)]
        claims = {row["id"]: row["claim"] for row in claim_rows(archive)}
    questions = [
        Question(USER, claims[query], grades, "claims")
        for query, grades in judgements(folder / "qrels_test.tsv").items()
    ]
    return Dataset("scifact", memories, questions)


def rows(archive: zipfile.ZipFile, name: str) -> Iterator[dict[str, str]]:
    """A CSV file of the archive."""
    with archive.open(name) as file:
        yield from csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))


def claim_rows(archive: zipfile.ZipFile) -> Iterator[dict[str, str]]:
    """All claims, whichever part of the original division they are in."""
    for name in archive.namelist():
        if name.startswith("claims_"):
            yield from rows(archive, name)


def abstract(row: dict[str, str]) -> str:
    """Title and sentences as one text."""
    sentences = [str(ast.literal_eval(literal)).strip() for literal in LITERAL.findall(row["abstract"])]
    return " ".join([row["title"].strip(), *sentences])


def judgements(path: Path) -> dict[str, dict[str, float]]:
    """For each query the grade of each judged document, of a file in BEIR's form."""
    found: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found.setdefault(row["query-id"], {})[row["corpus-id"]] = float(row["score"])
    return found


if __name__ == "__main__":
    main()
