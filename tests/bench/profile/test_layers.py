import pytest

from bench.profile.layers import KERNEL, OTHER, layer_of_file, layer_of_library, layer_of_stack


def test_the_innermost_known_file_decides():
    assert layer_of_stack(["asyncio/timeouts.py", "memex/store/pool.py", "memex/api/door.py"]) == "store"
    assert layer_of_stack(["threading.py", "selectors.py"]) == OTHER


def test_the_longest_beginning_counts():
    assert layer_of_file("bench/reference/application.py") == "service"
    assert layer_of_file("bench/reference/storage.py") == "store"
    assert layer_of_file("statistics.py") is None


@pytest.mark.parametrize(
    ("program", "library", "layer"),
    [
        ("python", "[kernel.kallsyms]", KERNEL),
        ("tokio-rt-worker", "/x/granian/_granian.cpython-311.so", "http server"),
        ("python", "/x/memex/_native.abi3.so", "native index"),
        ("python", "/x/site-packages/msgspec/_core.cpython-311.so", "JSON and structs"),
        ("python", "/x/libpython3.11.so.1.0", "interpreter"),
        ("python", "/x/numpy.libs/libscipy_openblas.so", "NumPy"),
        ("postgres", "/x/lib/libc.so.6", "PostgreSQL"),
        ("postgres", "[kernel.kallsyms]", "PostgreSQL, kernel"),
        ("python", "//anon", OTHER),
    ],
)
def test_libraries(program: str, library: str, layer: str):
    assert layer_of_library(program, library) == layer
