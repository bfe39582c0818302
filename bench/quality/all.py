"""Every data set in one go.

python -m bench.quality.all --data FOLDER    (with locomo-dev, scifact, xquad, stsb and devbench)
"""

from pathlib import Path

import click

from bench.quality import devbench, locomo, scifact, stsb, xquad
from bench.quality.command import Target, Task, data_option, measure, target_options

FILES = (
    "devbench/devbench_dataset.json",
    "locomo-dev/locomo-dev.json",
    "xquad/xquad.en.json",
    "stsb/stsb-en-test.csv",
    "scifact/scifact.zip",
    "scifact/qrels_test.tsv",
)


@click.command()
@data_option("Folder with locomo-dev, scifact, xquad, stsb and devbench.", folder=True)
@target_options
def main(data: Path, target: Target) -> None:
    """The small sets first; a missing file ends it before anything starts."""
    todo = tasks(data)
    for number, task in enumerate(todo, 1):
        click.echo(f"{number} of {len(todo)}: {task.dataset.name} on {target.service}", err=True)
        measure(task, target)


def tasks(folder: Path) -> list[Task]:
    """All of them. UsageError that names each file that is not there."""
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise click.UsageError(f"missing in {folder}: {', '.join(missing)}")
    return [
        Task(devbench.read(folder / FILES[0])),
        Task(locomo.read(folder / FILES[1])),
        Task(xquad.read(folder / "xquad")),
        *stsb.tasks(folder / "stsb"),
        Task(scifact.read(folder / "scifact")),
    ]


if __name__ == "__main__":
    main()
