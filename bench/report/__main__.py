"""Renders every result as one HTML page and as Markdown.

python -m bench.report
"""

from pathlib import Path

import click

from bench.report.collection import Collection, collect
from bench.report.html import html
from bench.report.markdown import markdown
from bench.report.page import page
from bench.report.questions import QUESTIONS
from bench.results import RESULTS

Folder = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--results", type=Folder, default=RESULTS, help="Folder of the JSON files; the report goes there too.")
def main(results: Path) -> None:
    """Write report.html and report.md beside the results."""
    collection = collect(results)
    for file in collection.skipped:
        click.echo(f"left out {file.name}: {file.reason}", err=True)
    if not collection.questions:
        raise click.ClickException(nothing(results))
    for path, content in documents(results, collection):
        path.write_text(content, "utf-8")
        click.echo(f"written: {path}")


def documents(folder: Path, collection: Collection) -> list[tuple[Path, str]]:
    """Both documents with where they go."""
    found = page(collection)
    return [(folder / "report.html", html(found)), (folder / "report.md", markdown(found))]


def nothing(folder: Path) -> str:
    """What to do about a folder without results."""
    commands = "\n".join(f"  {question.command}" for question in QUESTIONS.values())
    return f"no result in {folder}. Measure something first, for example:\n{commands}"


if __name__ == "__main__":
    main()
