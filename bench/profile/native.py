"""Samples of every thread and process, native code and kernel included, taken by perf where the kernel allows it."""

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec

from bench.machine import output
from bench.profile.layers import layer_of_code
from bench.profile.python import TOP, percent
from bench.profile.sampling import Work, sampled

RATE = 499
"""Samples a second of each CPU; not a divisor of anything that has a round period."""
SAMPLE = re.compile(r"\s*(.+?)\s+[0-9a-f]+ (.*) \((.+)\)")


class Symbol(msgspec.Struct, frozen=True):
    """What was seen of one native function, in percent of the samples."""

    name: str
    library: str
    program: str
    """Of which process or thread, as the kernel calls it."""
    own: float


class Native(msgspec.Struct, frozen=True):
    """What the CPUs were seen at while they worked for the service and its PostgreSQL."""

    samples: int
    layers: dict[str, float]
    """Percent, the largest first."""
    symbols: list[Symbol]
    """The TOP by own time; stripped libraries have none."""


async def counted(pids: Sequence[int], seconds: float, folder: Path, work: Work) -> Native | None:
    """The profile of these processes while `work` runs; None where perf is not there or not allowed."""
    if not (perf := shutil.which("perf")):
        click.echo("perf is not there: native code and kernel are not told apart", err=True)
        await work()
        return None
    file = folder / "perf.data"
    command = [perf, "record", "--freq", str(RATE), "--event", "cpu-clock", "--no-buildid-cache", "--output", str(file)]
    command += ["--pid", ",".join(map(str, pids)), "--", "sleep", f"{seconds:g}"]
    done = await sampled(command, b"", work)
    listed = output(perf, "script", "--input", str(file), "--fields", "comm,ip,sym,dso")
    if done.failed or not listed:
        click.echo(f"perf may not count here: native code and kernel are not told apart\n{done.said}", err=True)
        return None
    return native(listed.splitlines())


def native(lines: Iterable[str]) -> Native:
    """From the lines of perf script: program, address, symbol, library in parentheses."""
    found = [match.groups() for line in lines if (match := SAMPLE.fullmatch(line))]
    layers = Counter(layer_of_code(*each) for each in found)
    symbols = Counter((symbol or "(no symbol)", Path(library).name, program) for program, symbol, library in found)
    top = [Symbol(*key, percent(count, len(found))) for key, count in symbols.most_common(TOP)]
    return Native(len(found), {layer: percent(count, len(found)) for layer, count in layers.most_common()}, top)
