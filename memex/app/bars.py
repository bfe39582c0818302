"""Progress on the terminal, for what takes long."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def downloads() -> Iterator[Any]:
    """A bar for each file on the terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    bars, tasks = Progress(*columns), dict[str, Any]()

    def tell(name: str, done: int, whole: int) -> None:
        if not tasks:
            bars.start()  # before there is a bar it would leave a blank line
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=whole)
        bars.update(tasks[name], completed=done, total=whole)

    try:
        yield tell
    finally:
        if tasks:
            bars.stop()


@contextmanager
def layers() -> Iterator[Any]:
    """One bar for the layers of a model that are rounded."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("rounding layers")
        yield lambda _, done, whole: bar.update(task, completed=done, total=whole)
