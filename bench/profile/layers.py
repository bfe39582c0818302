"""Which part of a service a Python file, or a library that the kernel loaded, belongs to."""

import re
from collections.abc import Iterable

FILES = (
    ("http server and event loop", ("granian/", "uvicorn/", "uvloop/", "h11/", "httptools/")),
    ("web framework", ("litestar/", "fastapi/", "starlette/", "pydantic/")),
    ("metrics and logs", ("memex/metrics.py", "memex/logs.py", "prometheus_client/", "logging/")),
    ("door", ("memex/api/",)),
    ("service", ("memex/service/", "bench/reference/")),
    ("embedder", ("memex/embedder/", "onnxruntime/", "tokenizers/", "bench/reference/encoding.py")),
    ("index", ("memex/index/", "bench/reference/ranking.py")),
    ("store", ("memex/store/", "psycopg/", "psycopg_binary/", "asyncpg/", "pgvector/", "bench/reference/storage.py")),
)
"""Of Python code, by the beginning of the file's path; the longest that fits counts."""
LIBRARIES = (
    ("onnxruntime", ("onnxruntime",)),
    ("tokenizer", ("tokenizers",)),
    ("http server", ("_granian", "httptools")),
    ("event loop", ("uvloop", "_asyncio")),
    ("PostgreSQL driver", ("psycopg", "libpq", "asyncpg", "_ssl", "libssl", "libcrypto")),
    ("JSON and structs", ("msgspec", "pydantic_core", "_json.")),
    ("NumPy", ("numpy", "openblas")),
    ("interpreter", ("libpython", "bin/python", "lib-dynload", "uuid")),
    ("C library", ("libc.so", "libc-", "libstdc++", "libgcc", "libm.so", "[vdso]", "ld-linux")),
)
"""Of native code, by a part of the library's path; the first that fits counts."""
NATIVE = "memex/_native"
MODULES = {"encoder": "native encoder", "terms": "native terms"}
"""Of our own library, by the first module in a function's name; everything else in it ranks."""
MODULE = re.compile(r"_native::(\w+)::")
INDEX = "native index"
OTHER = "other"
KERNEL = "kernel"
POSTGRES = "PostgreSQL"


def layer_of_stack(files: Iterable[str]) -> str:
    """The layer of the innermost file that has one: the standard library works for whoever calls it.

    `files` come innermost first.
    """
    return next((layer for file in files if (layer := layer_of_file(file))), OTHER)


def layer_of_file(file: str) -> str | None:
    """The layer of one Python file, None if it belongs to none."""
    fitting = [(len(start), layer) for layer, starts in FILES for start in starts if file.startswith(start)]
    return max(fitting)[1] if fitting else None


def layer_of_code(program: str, symbol: str, library: str) -> str:
    """The layer of native code. PostgreSQL's processes are told by the `program`'s name; the kernel's time is apart."""
    kernel = library.startswith("[kernel") or library == "[unknown]"
    if program.startswith("postgres"):
        return f"{POSTGRES}, kernel" if kernel else POSTGRES
    if kernel:
        return KERNEL
    if NATIVE in library:
        return layer_of_symbol(symbol)
    return next((layer for layer, parts in LIBRARIES if any(part in library for part in parts)), OTHER)


def layer_of_symbol(symbol: str) -> str:
    """The layer of a function of our own library."""
    found = MODULE.search(symbol)
    return MODULES.get(found[1], INDEX) if found else INDEX
