import pytest

from bench.profile.layers import KERNEL, OTHER, layer_of_code, layer_of_file, layer_of_stack


def test_the_innermost_known_file_decides():
    assert layer_of_stack(["asyncio/timeouts.py", "memex/store/pool.py", "memex/api/door.py"]) == "store"
    assert layer_of_stack(["threading.py", "selectors.py"]) == OTHER


def test_the_longest_beginning_counts():
    assert layer_of_file("bench/reference/application.py") == "service"
    assert layer_of_file("bench/reference/storage.py") == "store"
    assert layer_of_file("statistics.py") is None


@pytest.mark.parametrize(
    ("program", "symbol", "library", "layer"),
    [
        ("python", "[unknown]", "[kernel.kallsyms]", KERNEL),
        ("tokio-rt-worker", "[unknown]", "/x/granian/_granian.cpython-311.so", "http server"),
        ("python", "[unknown]", "/x/memex/_native.abi3.so", "native index"),
        ("python", "_native::index::rank::best", "/x/memex/_native.abi3.so", "native index"),
        ("python", "_native::encoder::kernel::avx512::compiled", "/x/memex/_native.abi3.so", "native encoder"),
        ("python", "_native::terms::fold", "/x/memex/_native.abi3.so", "native terms"),
        ("python", "[unknown]", "/x/site-packages/msgspec/_core.cpython-311.so", "JSON and structs"),
        ("python", "[unknown]", "/x/libpython3.11.so.1.0", "interpreter"),
        ("python", "[unknown]", "/x/numpy.libs/libscipy_openblas.so", "NumPy"),
        ("postgres", "[unknown]", "/x/lib/libc.so.6", "PostgreSQL"),
        ("postgres", "[unknown]", "[kernel.kallsyms]", "PostgreSQL, kernel"),
        ("python", "[unknown]", "//anon", OTHER),
    ],
)
def test_libraries(program: str, symbol: str, library: str, layer: str):
    assert layer_of_code(program, symbol, library) == layer
