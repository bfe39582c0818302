"""Every behaviour of the manifest has a test through each of its surfaces, and a test of all surfaces a behaviour."""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.behaviour.manifest import BEHAVIOURS

TESTS = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef
DOORS = {"both": {"rest", "mcp"}, "rest": {"rest"}, "mcp": {"mcp"}}


class Proof(NamedTuple):
    test: str
    ids: tuple[str, ...]
    doors: frozenset[str]


def proofs() -> list[Proof]:
    """Of every test function: what it says that it proves, and through which surfaces it goes."""
    parsed = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("test_*.py"))}
    return [
        Proof(f"{path.relative_to(TESTS)} {node.name}", ids_of(node), doors_of(path, node))
        for path, module in parsed.items()
        for node in ast.walk(module)
        if isinstance(node, Function) and node.name.startswith("test_")
    ]


def ids_of(node: Function) -> tuple[str, ...]:
    calls = [one for one in node.decorator_list if isinstance(one, ast.Call) and ast.unparse(one.func) == "proves"]
    return tuple(ast.literal_eval(argument) for call in calls for argument in call.args)


def doors_of(path: Path, node: Function) -> frozenset[str]:
    """All surfaces, where it takes each of them; else the one that its module is about."""
    taken = {argument.arg for argument in node.args.args}
    named = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if "surface" in taken or "SURFACES" in named:
        return frozenset({"rest", "mcp"})
    return frozenset({"mcp" if "mcp" in str(path.relative_to(TESTS)) else "rest"})


PROOFS = proofs()


def test_ids_are_unique():
    ids = [behaviour.id for behaviour in BEHAVIOURS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.id)
def test_a_behaviour_is_proved_through_its_surfaces(behaviour):
    doors = [proof.doors for proof in PROOFS if behaviour.id in proof.ids]
    assert doors
    assert DOORS[behaviour.door] <= frozenset().union(*doors)
    assert bool(behaviour.because) is (behaviour.door != "both")


def test_a_test_of_every_surface_says_what_it_proves():
    assert [proof.test for proof in PROOFS if len(proof.doors) == 2 and not proof.ids] == []
