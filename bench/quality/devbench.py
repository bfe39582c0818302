"""DevBench of mcp-memory-service: notes of a software project, questions about them, some without an answer.

python -m bench.quality.devbench --data PATH/devbench_dataset.json
"""

from pathlib import Path
from typing import Any

import click
import msgspec

from bench.quality.command import Target, Task, data_option, measure, target_options
from bench.quality.dataset import Dataset, Memory, Question

USER = "devbench"
Note = dict[str, Any]


@click.command()
@data_option("devbench_dataset.json.", folder=False)
@target_options
def main(data: Path, target: Target) -> None:
    """Retrieval of the notes that a question expects."""
    measure(Task(read(data)), target)


def read(path: Path) -> Dataset:
    """All notes and questions. Tags only say which note is expected, so they are not stored."""
    content = msgspec.json.decode(path.read_bytes())
    notes: list[Note] = content["memories"]
    memories = [Memory(note["id"], USER, note["content"], when=note.get("created_at_iso")) for note in notes]
    questions = [
        Question(USER, query["question"], expected(notes, set(query["expected_tags"])), query["category"])
        for query in content["queries"]
    ]
    return Dataset("devbench", memories, questions)


def expected(notes: list[Note], tags: set[str]) -> dict[str, float]:
    """The notes that bear one of the tags."""
    return {note["id"]: 1.0 for note in notes if tags & set(note["tags"])}


if __name__ == "__main__":
    main()
