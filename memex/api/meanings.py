"""What the fields of a struct mean: the docstrings below them, so that the model says it once, where people read it."""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any


def meanings(struct: type[Any]) -> dict[str, str]:
    """Field → docstring. Python keeps none of these; where there is no source, there are none."""
    body = [statement for kind in reversed(struct.__mro__) if is_own(kind) for statement in source(kind)]
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def is_own(kind: type[Any]) -> bool:
    """Whether it is written here, not in a library."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def source(struct: type[Any]) -> list[ast.stmt]:
    """The statements of a class."""
    try:
        (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    except OSError:
        return []
    return parsed.body if isinstance(parsed, ast.ClassDef) else []
