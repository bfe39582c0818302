"""What the figures were measured on and how: machines, ceilings, noise, warm-up, date, command."""

import msgspec

from bench.report.blocks import Block, Cell, Table
from bench.report.numbers import ABSENT, listed, number
from bench.report.outline import shown, walk
from bench.results import Result

UNKNOWN = "not recorded"
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
    """One column for each machine and state of the code that anything was measured on."""
    kinds = {msgspec.json.encode(result.machine, order="deterministic"): result.machine for result in results}
    flat = [{" · ".join(path): shown(value) for path, value in walk(machine)} for machine in kinds.values()]
    names = list(dict.fromkeys(name for machine in flat for name in machine))
    rows = [[Cell(name), *(Cell(machine.get(name, ABSENT)) for machine in flat)] for name in names]
    head = ["", *(f"machine {at}" if len(flat) > 1 else "value" for at in range(1, len(flat) + 1))]
    return Table("Processor, versions, and how the native module was built", head, rows)
