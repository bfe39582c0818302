import platform
from pathlib import Path

import msgspec
import psutil
import pytest

from bench import machine
from memex import _native

X86 = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nflags\t\t: fpu\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp\n"


def release(monkeypatch: pytest.MonkeyPatch, profile: str = "release") -> dict[str, str]:
    build = _native.build_info() | {"profile": profile}
    monkeypatch.setattr(machine, "build_info", lambda: build)
    return build


def test_flags_are_read_on_both_architectures():
    assert machine.flags(X86) == {"fpu", "avx2", "avx512f"}
    assert machine.flags(ARM) == {"fp", "asimd", "asimddp"}
    assert machine.flags("") == set()


def test_the_name_of_the_processor():
    assert machine.processor(X86) == "Some CPU @ 2 GHz"


def test_a_debug_build_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch):
    release(monkeypatch, "debug")
    with pytest.raises(SystemExit, match="debug build"):
        machine.describe()


def test_what_is_not_installed_is_left_out():
    assert list(machine.packages(("msgspec", "no-such-package-at-all"))) == ["msgspec"]


def test_a_program_that_is_missing_or_fails_has_no_output():
    assert machine.output("no-such-program-at-all") is None
    assert machine.output("git", "no-such-command") is None


def test_the_description_is_complete_and_names_neither_machine_nor_places(monkeypatch: pytest.MonkeyPatch):
    build = release(monkeypatch)
    found = machine.describe()
    assert found["native"] == build
    assert found["cores"] == psutil.cpu_count()
    assert isinstance(found["usable_cores"], int)
    assert 1 <= found["usable_cores"] <= psutil.cpu_count()
    assert isinstance(found["postgres"], dict)
    assert set(found["postgres"]) == {"postgresql", "pgvector"}
    text = msgspec.json.encode(found).decode()
    assert "/" not in text
    assert platform.node() not in text


def test_what_changes_a_service_is_told_without_places_and_secrets():
    told = {"MEMEX_EMBEDDING_ENGINE": "native", "MEMEX_HOME": "/some/place", "MEMEX_DATABASE_URL": "postgresql://u:p@h"}
    shown = {"MEMEX_EMBEDDING_ENGINE": "native", "MEMEX_HOME": "place", "MEMEX_DATABASE_URL": "…"}
    assert machine.environment(told | {"HOME": "/root", "PATH": "/bin"}) == shown


def checkout(folder: Path) -> None:
    """A repository with one commit of a source and a result."""
    (folder / "bench" / "results").mkdir(parents=True)
    for name in ("source.py", "bench/results/one.json"):
        (folder / name).write_text("1")
    author = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "--message", "first")):
        assert machine.output("git", "-C", str(folder), *command) is not None


def test_a_changed_result_does_not_make_a_checkout_dirty_and_a_changed_source_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    checkout(tmp_path)
    clean = machine.commit()
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "bench" / "results" / "one.json").write_text("2")
    assert machine.commit() == clean
    (tmp_path / "source.py").write_text("2")
    assert machine.commit() == f"{clean}-dirty"
