"""How much processor this process may use: the scheduler's mask and the control group, not the machine."""

import os
from collections.abc import Iterator
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def usable_cores(root: Path = CGROUP, membership: Path = MEMBERSHIP) -> int:
    """Whole cores, at least 1. More threads than the quota has cores are slower than fewer."""
    return max(1, int(min([float(affinity()), *quotas(root, membership)])))


def affinity() -> int:
    """Cores that the scheduler may put this process on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def quotas(root: Path, membership: Path) -> Iterator[float]:
    """The limits, in cores, of the process's control groups and of all that hold them."""
    for line in lines(membership):
        _, controllers, path = line.split(":", 2)
        version1 = "cpu" in controllers.split(",")
        if controllers and not version1:
            continue
        base = root / controllers if version1 else root
        group = base / path.lstrip("/")
        # In a container the path may be the host's, and what is mounted is the container's own group.
        for place in (group, *group.parents):
            if place.is_relative_to(base):
                yield from quota_1(place) if version1 else quota_2(place)


def quota_2(group: Path) -> Iterator[float]:
    """`cpu.max` of version 2: "max 100000" or "150000 100000", both in µs."""
    for line in lines(group / "cpu.max"):
        quota, period = line.split()
        if quota != "max":
            yield int(quota) / int(period)


def quota_1(group: Path) -> Iterator[float]:
    """The two files of version 1; -1 is no limit."""
    for quota, period in zip(lines(group / "cpu.cfs_quota_us"), lines(group / "cpu.cfs_period_us"), strict=False):
        if int(quota) > 0:
            yield int(quota) / int(period)


def lines(file: Path) -> list[str]:
    """The lines of a small file, none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
