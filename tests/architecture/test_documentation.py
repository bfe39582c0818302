"""What users and operators can meet is written down where they look."""

from pathlib import Path

import pytest

from memex import errors
from memex.metrics import Metrics
from memex.settings import LEGACY, names

ROOT = Path(__file__).parents[2]
READMES = "\n".join(
    path.read_text(encoding="utf-8") for path in ROOT.rglob("README.md") if not {".venv", "target"} & set(path.parts)
)


def tree(error: type[errors.MemexError]) -> list[type[errors.MemexError]]:
    """The public tree; a layer may have kinds of its own below it, which never leave that layer."""
    kinds = [kind for kind in error.__subclasses__() if kind.__module__ == errors.__name__]
    return [error, *(child for kind in kinds for child in tree(kind))]


@pytest.mark.parametrize("name", sorted([*names(), *LEGACY]))
def test_a_setting_is_in_a_readme(name: str):
    assert f"`{name}`" in READMES


@pytest.mark.parametrize("error", tree(errors.MemexError), ids=lambda error: error.code)
def test_an_error_code_is_in_a_readme(error: type[errors.MemexError]):
    assert f"`{error.code}`" in READMES


def test_error_codes_are_distinct():
    codes = [error.code for error in tree(errors.MemexError)]
    assert len(codes) == len(set(codes))


def test_every_error_is_in_the_picture_of_the_tree():
    assert [kind.__name__ for kind in tree(errors.MemexError) if kind.__name__ not in (errors.__doc__ or "")] == []


def test_a_metric_is_in_a_readme():
    families = [family.name for family in Metrics().registry.collect()]
    assert families
    assert [name for name in families if f"`{name}" not in READMES] == []
