"""Modules and functions stay small enough to be understood at once."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in (ROOT / "memex").rglob("*.py"))
MODULE_LINES = 300
FUNCTION_LINES = 40
LONG = 25
LONG_SHARE = 0.10


def functions(path: Path) -> list[tuple[str, int]]:
    """Each function of a module with its lines, the docstring aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", length(node)) for node in found]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    documentation = first.end_lineno - first.lineno + 1 if documented and first.end_lineno else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - documentation


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_fits_in_one_reading(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


def test_functions_are_short():
    sizes = [function for path in SOURCES for function in functions(path)]
    assert sizes
    assert [name for name, lines in sizes if lines > FUNCTION_LINES] == []
    assert sum(lines > LONG for _, lines in sizes) / len(sizes) <= LONG_SHARE


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "manager", "core", "base", "misc"])
def test_every_module_is_named_for_what_it_owns(word: str):
    assert [str(path) for path in SOURCES if word in path.stem.split("_")] == []
