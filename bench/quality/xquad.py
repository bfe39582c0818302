"""XQuAD (Artetxe et al. 2020) as retrieval: paragraphs as memories, questions as queries, one user a language.

python -m bench.quality.xquad --data FOLDER    (with xquad.en.json and others)
"""

from pathlib import Path

import click
import msgspec

from bench.quality.command import Target, Task, data_option, measure, target_options
from bench.quality.dataset import Dataset, Memory, Question


@click.command()
@data_option("Folder with xquad.en.json and others.", folder=True)
@click.option("--language", multiple=True, help="en, es, …; again for more; all of the folder by default.")
@target_options
def main(data: Path, language: tuple[str, ...], target: Target) -> None:
    """Retrieval of the paragraph that a question was asked about."""
    measure(Task(read(data, language)), target)


def read(folder: Path, languages: tuple[str, ...] = ()) -> Dataset:
    """Those languages, or all files there are. The name tells a choice from the whole."""
    chosen = languages or tuple(sorted(path.name.split(".")[1] for path in folder.glob("xquad.*.json")))
    if not chosen:
        raise click.UsageError(f"no xquad.*.json in {folder}")
    memories: list[Memory] = []
    questions: list[Question] = []
    for language in chosen:
        add(folder / f"xquad.{language}.json", language, memories, questions)
    return Dataset("-".join(["xquad", *languages]), memories, questions)


def add(path: Path, language: str, memories: list[Memory], questions: list[Question]) -> None:
    """One language's paragraphs and questions."""
    articles = msgspec.json.decode(path.read_bytes())["data"]
    for number, paragraph in enumerate(p for article in articles for p in article["paragraphs"]):
        name = f"{language}/{number}"
        memories.append(Memory(name, language, paragraph["context"]))
        questions += [Question(language, item["question"], {name: 1.0}, language) for item in paragraph["qas"]]


if __name__ == "__main__":
    main()
