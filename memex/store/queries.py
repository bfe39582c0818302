"""Statements live in `queries/*.sql`: a line that says what for, then the text. `{{name}}` takes in a part by name."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "queries"
PART = re.compile(r"\{\{(\w+)\}\}")


def load(name: str) -> bytes:
    """The statement of one file, with its parts from `queries/parts/` and theirs; parameters are $1, $2, …."""
    return whole(FOLDER / f"{name}.sql").encode()


def whole(file: Path) -> str:
    """The text with its parts."""
    return PART.sub(lambda match: whole(FOLDER / "parts" / f"{match[1]}.sql"), body(file))


def body(file: Path) -> str:
    """The text without its comment lines, which every execution would carry to the server."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))
