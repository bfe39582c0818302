"""The wheel: what is in it, what it says, and that it works where there is no Rust.

Its dependencies are those of this environment: to install them anew takes longer than all else here, and an index.
`tests/soak/test_wheel.py` does that.
"""

import re
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from tests.fixtures.waiting import PATIENCE
from tests.fixtures.wheels import Machine

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parents[2]
ANA = {"agent_id": "assistant", "user_id": "ana"}
FOOD = "Ana is allergic to peanuts"
KINDS = {".py", ".pyi", ".typed", ".so", ".sql", ".md", ".txt", ".tsv", ".json", ".onnx", ".safetensors", ""}


@pytest.fixture
def archive(wheel: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel) as opened:
        yield opened


@pytest.fixture
def said(archive: zipfile.ZipFile) -> Message:
    """Its metadata."""
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(archive.read(name).decode())


def test_it_has_the_package_and_nothing_else(archive: zipfile.ZipFile):
    names = {name for name in archive.namelist() if ".dist-info/" not in name}
    here = (path.relative_to(ROOT) for path in (ROOT / "memex").rglob("*") if path.is_file())
    assert names == {path.as_posix() for path in here if "__pycache__" not in path.parts}
    assert {Path(name).suffix for name in names} <= KINDS
    assert {"memex/_native.abi3.so", "memex/py.typed"} <= names


def test_one_wheel_is_for_every_python_and_says_which_glibc_it_needs(wheel: Path):
    assert re.search(r"-cp311-abi3-manylinux_2_\d+_(x86_64|aarch64)\.whl$", wheel.name)


def test_it_says_its_version_its_pythons_and_what_it_is(said: Message):
    declared = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert (said["Name"], said["Version"]) == ("memex", declared["version"])
    assert said["Requires-Python"] == ">=3.11"
    assert str(said.get_payload()).strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_it_has_the_licences_of_all_that_is_in_it(archive: zipfile.ZipFile, said: Message):
    named = said.get_all("License-File") or []
    texts = [archive.read(f"memex-{said['Version']}.dist-info/licenses/{name}").decode() for name in named]
    assert [name for name in named if "/models/" in name]
    own, model, libraries = texts
    assert "All rights reserved" in own
    assert "Microsoft" in model
    licences = said["License-Expression"].split(" AND ")
    assert licences[:2] == ["LicenseRef-memex", "MIT"]
    assert {"MIT", "Apache License 2.0", "Zlib"} <= set(libraries.splitlines())


def test_what_the_tests_run_with_is_what_it_asks_for(said: Message):
    asked = [Requirement(line) for line in said.get_all("Requires-Dist") or []]
    assert asked
    found = {need.name: metadata.version(need.name) for need in asked}
    assert [str(need) for need in asked if not need.specifier.contains(found[need.name])] == []


async def says_what_it_stored(machine: Machine) -> None:
    """Over stdio, on a machine that has no data yet."""
    async with machine.agent() as agent:
        stored = await agent.call("store_memory", ANA | {"content": FOOD})
        assert not stored.failed
        found = await agent.call("search_memories", ANA | {"query": "what must she not eat?"})
        assert FOOD in found.text


def remembers(machine: Machine) -> None:
    """Its service has what was stored over stdio, and ends when it is told to."""
    process, url = machine.serving()
    try:
        question = ANA | {"query": "what must she not eat?"}
        answer = httpx.post(f"{url}/v1/memories/search", json=question, timeout=PATIENCE).raise_for_status()
        assert [hit["content"] for hit in answer.json()["results"]] == [FOOD]
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in output) == (0, False)


async def test_installed_without_rust_it_works(wheel: Path, machine: Machine):
    machine.install(wheel, "--no-deps", "--no-index")
    machine.borrow()
    where = machine.run(str(machine.python), "-c", "import memex._native; print(memex._native.__file__)")
    assert Path(where).is_relative_to(machine.place)
    await says_what_it_stored(machine)
    remembers(machine)
