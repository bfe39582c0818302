"""What the figures were measured on and how: machines, ceilings, noise, warm-up, date, command."""

import msgspec

from bench.report.blocks import Block, Cell, Table
from bench.report.numbers import ABSENT, listed, number
from bench.report.outline import shown, walk
from bench.results import Result

UNKNOWN = "not recorded"
CHANGING = ("commit", "environment")
"""What differs between runs on one machine."""
CEILINGS = (
    ("int8_gops", "int8, 10⁹ op/s"),
    ("fp32_gflops", "fp32, 10⁹ op/s"),
    ("read_gb_per_s", "read, GB/s"),
    ("read_all_cores_gb_per_s", "read by all cores, GB/s"),
    ("fsync_ms", "fsync, ms"),
)


def provenance(results: list[Result]) -> list[Block]:
    """How each of them came about."""
    return [runs(results), ceilings(results), settings(results)]


def runs(results: list[Result]) -> Table:
    """Date, command, warm-up and what disturbed the run."""
    rows = [
        [
            Cell(result.variant),
            Cell(result.taken or UNKNOWN),
            Cell(result.command or UNKNOWN, code=True),
            Cell(result.warm_up),
            Cell(disturbed(result), bool(result.noisy)),
        ]
        for result in results
    ]
    return Table("How to repeat it", ["variant", "taken", "command", "warm-up", "noise"], rows)


def disturbed(result: Result) -> str:
    """Reasons, or how quiet it was."""
    if result.noisy:
        return listed(result.noisy)
    blocks = len(result.noise)
    if not blocks:
        return UNKNOWN
    steal = max(noise.steal_percent for noise in result.noise)
    return f"quiet: {blocks} block{'s' if blocks > 1 else ''}, steal at most {number(steal)} %"


def ceilings(results: list[Result]) -> Table:
    """What the machine could do at most in each run, of one core unless it says otherwise."""
    rows = []
    for result in results:
        values = [getattr(result.ceilings, name, None) for name, _ in CEILINGS]
        texts = [ABSENT if value is None else number(float(value)) for value in values]
        rows.append([Cell(result.variant), *map(Cell, texts), Cell(machine_name(result))])
    head = ["variant", *(title for _, title in CEILINGS), "machine"]
    return Table("What the machine could do at most, measured in the same run", head, rows)


def settings(results: list[Result]) -> Table:
    """Every setting of every variant."""
    names = list(dict.fromkeys(name for result in results for name in result.settings))
    rows = [[Cell(r.variant), *(Cell(shown(r.settings.get(name))) for name in names)] for r in results]
    return Table("Settings", ["variant", *names], rows)


def machine_name(result: Result) -> str:
    """The processor and where its code stood."""
    commit = result.machine.get("commit")
    cpu = str(result.machine.get("cpu", UNKNOWN))
    return f"{cpu}, {commit}" if commit else cpu


def machines(results: list[Result]) -> Table:
    """One column for each machine with its versions; the commits that ran on it stand in one cell."""
    flat = [described(found) for found in same(results)]
    names = list(dict.fromkeys(name for machine in flat for name in machine))
    rows = [[Cell(name), *(Cell(machine.get(name, ABSENT)) for machine in flat)] for name in names]
    head = ["", *(f"machine {at}" if len(flat) > 1 else "value" for at in range(1, len(flat) + 1))]
    return Table("Processor, versions, and how the native module was built", head, rows)


def same(results: list[Result]) -> list[list[Result]]:
    """Results by machine: what changes from run to run does not make another one."""
    found: dict[bytes, list[Result]] = {}
    for result in results:
        kind = {name: value for name, value in result.machine.items() if name not in CHANGING}
        found.setdefault(msgspec.json.encode(kind, order="deterministic"), []).append(result)
    return list(found.values())


def described(results: list[Result]) -> dict[str, str]:
    """One machine's lines, with every value that they have of what changes."""
    lines: dict[str, list[str]] = {}
    for result in results:
        for path, value in walk(result.machine):
            seen = lines.setdefault(" · ".join(path), [])
            seen += [text] if (text := shown(value)) not in seen else []
    return {name: ", ".join(sorted(seen)) for name, seen in lines.items()}
