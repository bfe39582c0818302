"""Samples of Python code, taken by py-spy: threads that wait are left out."""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.profile.layers import layer_of_stack
from bench.profile.sampling import Work, sampled

RATE = 100
"""Samples a second of each thread."""
TOP = 25
FRAME = re.compile(r"(.+) \((.+?)(?::\d+)?\)")
READY = b"Sampling process"
REFUSED = "py-spy may not look into the service: run as root, or as a user with ptrace rights (CAP_SYS_PTRACE)"

Frame = tuple[str, str]
"""Function and file."""
WAITING = {
    ("Condition.wait", "threading.py"),
    ("_PollLikeSelector.select", "selectors.py"),
    ("EpollSelector.select", "selectors.py"),
    ("Popen._try_wait", "subprocess.py"),
    ("Popen.poll", "multiprocessing/popen_fork.py"),
    ("Process.wait", "memex/store/embedded/process.py"),
    ("_worker", "concurrent/futures/thread.py"),
}
"""Innermost frames of threads that do nothing. Being looked at wakes them, so that py-spy takes some for busy."""


class Function(msgspec.Struct, frozen=True):
    """What was seen of one function, in percent of the samples."""

    name: str
    file: str
    own: float
    """Itself, or C code that it calls."""
    total: float
    """Also what it calls in Python."""


class Profile(msgspec.Struct, frozen=True):
    """What the threads that hold or release the interpreter were seen at."""

    samples: int
    layers: dict[str, float]
    """Percent, the largest first."""
    functions: list[Function]
    """The TOP by own time."""


async def spied(pid: int, seconds: float, folder: Path, work: Work) -> Profile:
    """The profile of a process and its children while `work` runs; ends the run where that is not allowed.

    Without --native, which halts the service for seconds while it reads symbols, so that requests time out, and
    without --nonblocking, which loses the stacks that change fast and so counts system calls for too much.
    """
    file = folder / "stacks.txt"
    program = str(Path(sys.executable).parent / "py-spy")
    command = [
        program,
        "record",
        "--subprocesses",
        "--format",
        "raw",
        "--rate",
        str(RATE),
        "--output",
        str(file),
    ]
    done = await sampled([*command, "--duration", f"{seconds:.0f}", "--pid", str(pid)], READY, work)
    if done.failed or not file.exists():
        raise SystemExit(f"{REFUSED}\n{done.said}")
    return profile(file.read_text(encoding="utf-8").splitlines())


def profile(lines: Iterable[str]) -> Profile:
    """From py-spy's folded stacks: frames between semicolons, outermost first, then a blank and a count."""
    own: Counter[Frame] = Counter()
    total: Counter[Frame] = Counter()
    layers: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        frames = [frame for part in stack.split(";") if (frame := frame_of(part))]
        if frames and frames[-1] not in WAITING:
            own[frames[-1]] += int(count)
            total.update(dict.fromkeys(frames, int(count)))
            layers[layer_of_stack(file for _, file in reversed(frames))] += int(count)
    return summary(own, total, layers)


def frame_of(part: str) -> Frame | None:
    """Function and file of `name (path/file.py:12)`; None for what names processes and threads."""
    found = FRAME.fullmatch(part)
    return (found[1], shown(found[2])) if found else None


def shown(path: str) -> str:
    """py-spy shortens to what an import names; of any other path only the end says something to a reader elsewhere."""
    return "/".join(Path(path).parts[-3:]) if path.startswith("/") else path


def summary(own: Counter[Frame], total: Counter[Frame], layers: Counter[str]) -> Profile:
    """Counts as percent."""
    samples = own.total()
    top = own.most_common(TOP)
    functions = [Function(*frame, percent(count, samples), percent(total[frame], samples)) for frame, count in top]
    return Profile(samples, {layer: percent(count, samples) for layer, count in layers.most_common()}, functions)


def percent(part: int, whole: int) -> float:
    """With one decimal."""
    return round(100 * part / whole, 1)
