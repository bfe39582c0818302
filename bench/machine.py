"""What a figure was measured on."""

import platform
import re
from importlib.metadata import version
from pathlib import Path

import psutil

from memex._native import build_info

FLAGS = ("avx2", "avx512f", "avx512_vnni", "fma", "f16c")
PACKAGES = ("granian", "litestar", "msgspec", "numpy", "onnxruntime", "psycopg")


def describe() -> dict[str, object]:
    """Processor, versions and how the native module was built. Refuses a debug build."""
    build = build_info()
    if build["profile"] != "release":
        raise SystemExit("the native module is a debug build: run `make bench`, which builds it in release mode")
    return {
        "cpu": processor(),
        "cores": psutil.cpu_count(),
        "flags": [flag for flag in FLAGS if flag in flags()],
        "python": platform.python_version(),
        "native": build,
        "packages": {name: version(name) for name in PACKAGES},
    }


def processor() -> str:
    """The processor's name."""
    found = re.search(r"model name\s*: (.+)", cpuinfo())
    return found[1] if found else platform.processor()


def flags() -> set[str]:
    """The processor's feature flags, empty where the system does not tell."""
    found = re.search(r"flags\s*: (.+)", cpuinfo())
    return set(found[1].split()) if found else set()


def cpuinfo() -> str:
    """What Linux says of the processors, empty elsewhere."""
    file = Path("/proc/cpuinfo")
    return file.read_text() if file.exists() else ""
