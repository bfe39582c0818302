"""What a measurement leaves behind: one JSON file with the figures and all that they depend on."""

import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from bench.ceilings import Ceilings, measure_ceilings
from bench.machine import describe
from bench.noise import Noise

RESULTS = Path(__file__).parent / "results"


class Result(msgspec.Struct):
    """One measurement. `question` is the command's name, `variant` tells its settings apart within the question."""

    question: str
    variant: str
    figures: dict[str, Any]
    settings: dict[str, Any]
    warm_up: str
    """What ran before anything counted."""
    noise: list[Noise]
    """One for each measured block."""
    taken: str = ""
    command: str = ""
    machine: dict[str, Any] = {}
    ceilings: Ceilings | None = None

    @property
    def noisy(self) -> list[str]:
        """Why not to believe it; none if nothing was seen."""
        return sorted({reason for noise in self.noise for reason in noise.reasons})


def record(result: Result) -> Path:
    """Adds machine and ceilings, prints the figures, and writes the file. Refuses a debug build."""
    result.machine = describe()
    result.ceilings = ceilings()
    result.taken = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
    result.command = command()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{result.question}-{result.variant}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    click.echo(msgspec.json.format(msgspec.json.encode(result.figures), indent=1).decode())
    if result.noisy:
        click.echo(f"noisy: {', '.join(result.noisy)}", err=True)
    click.echo(f"written to bench/results/{path.name}", err=True)
    return path


def ceilings() -> Ceilings | None:
    """A run that took minutes is not lost because they cannot be measured."""
    try:
        return measure_ceilings()
    except (OSError, subprocess.CalledProcessError) as error:
        click.echo(f"the machine's ceilings could not be measured: {error}", err=True)
        return None


def read(path: Path) -> Result:
    """A file that `record` wrote. msgspec.ValidationError for any other."""
    return msgspec.json.decode(path.read_bytes(), type=Result)


def command() -> str:
    """The command as a reader would type it: paths only by their last part, since they differ between machines."""
    name = getattr(sys.modules["__main__"].__spec__, "name", "bench").removesuffix(".__main__")
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    return shlex.join(["python", "-m", name, *words])
