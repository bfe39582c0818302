"""What a figure was measured on: nothing that names the machine or a place on it."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from memex import __version__
from memex._native import build_info
from memex.embedder.cores import usable_cores
from memex.store.embedded import binaries

ROOT = Path(__file__).parent.parent
FLAGS = (
    "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
    "amx_int8", "amx_bf16", "asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "hypervisor",
)  # fmt: skip
"""What the kernels and the runtimes choose their code by, and whether others may share the processor."""
SERVED = ("granian", "litestar", "msgspec", "numpy", "onnxruntime", "psycopg", "tokenizers", "uvloop")
COMPARED = ("asyncpg", "fastapi", "locust", "numba", "pgvector", "uvicorn")
PROGRAM_SECONDS = 20.0
CHANGING = re.compile(r"(MEMEX|RATE_LIMIT|REFERENCE|OMP|OPENBLAS|TOKENIZERS|RAYON)_", re.IGNORECASE)
SECRET = re.compile(r"KEY|TOKEN$|PASSWORD|SECRET|URL", re.IGNORECASE)


def describe() -> dict[str, object]:
    """Processor, system, versions, and how the native module was built. Refuses a debug build."""
    build = release_build()
    present = flags(cpuinfo())
    return {
        "cpu": processor(cpuinfo()),
        "cores": psutil.cpu_count(),
        "usable_cores": usable_cores(),
        "flags": [flag for flag in FLAGS if flag in present],
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "memex": __version__,
        "commit": commit(),
        "native": build,
        "packages": packages(SERVED + COMPARED),
        "postgres": postgres(),
        "oha": oha(),
        "environment": environment(os.environ),
    }


def release_build() -> dict[str, str]:
    """How the native module was built. Ends the run for a debug build, whose figures would say nothing."""
    build = build_info()
    if build["profile"] != "release":
        raise SystemExit("the native module is a debug build, some hundred times slower: run `make bench-tools`")
    return build


def processor(text: str) -> str:
    """The processor's name, from Linux's `text` about it where that has one."""
    found = re.search(r"^model name\s*: (.+)", text, re.MULTILINE)
    return found[1] if found else platform.processor()


def flags(text: str) -> set[str]:
    """The feature flags in Linux's `text` about the processors (x86 and ARM name them differently)."""
    found = re.search(r"^(?:flags|Features)\s*: (.+)", text, re.MULTILINE)
    return set(found[1].split()) if found else set()


def cpuinfo() -> str:
    """What Linux says of the processors, empty elsewhere."""
    file = Path("/proc/cpuinfo")
    return file.read_text(encoding="utf-8") if file.exists() else ""


def packages(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def postgres() -> dict[str, str]:
    """The versions of the embedded server and of pgvector in it."""
    root = binaries.installed()
    control = (root / "share" / "postgresql" / "extension" / "vector.control").read_text(encoding="utf-8")
    found = re.search(r"^default_version\s*=\s*'(.+)'", control, re.MULTILINE)
    return {"postgresql": binaries.version_of(root), "pgvector": found[1] if found else "unknown"}


def oha() -> str | None:
    """The version of the open-loop load generator, None where `make bench-tools` has not built it."""
    said = output(str(Path(sys.executable).parent / "oha"), "--version")
    return said.removeprefix("oha ") if said else None


def commit() -> str | None:
    """The commit of the checkout, with `-dirty` behind it where a tracked file differs; None outside of one.

    Results do not count: they are written there by the very runs that ask.
    """
    git = ("git", "-C", str(ROOT))
    found = output(*git, "rev-parse", "--short=12", "HEAD")
    changed = output(*git, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)bench/results")
    return f"{found}-dirty" if found and changed else found


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """What changes a service that is started here, or the threads of its libraries; secrets by their name only."""
    told = {name: value for name, value in variables.items() if CHANGING.match(name)}
    return {name: "…" if SECRET.search(name) else Path(value).name for name, value in sorted(told.items())}


def output(*command: str) -> str | None:
    """What a program prints, without the white space around it; None where it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
