"""What a process reads from its surroundings, and what it hands down to its workers."""

import os
from pathlib import Path

import pytest

from memex.app import environment
from memex.errors import SettingsInvalid
from memex.settings import Values

OWN = (
    "MEMEX_",
    "DATABASE_",
    "DB_",
    "RATE_LIMIT_",
    "EMBEDDING_",
    "DEFAULT_",
    "WORKER",
    "DEBUG",
    "APP_NAME",
    "PROMETHEUS_",
)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without anything of memex, undone after the test, and a working directory of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.upper().startswith(OWN)}
    monkeypatch.setattr(os, "environ", clean)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_environment_comes_before_env_and_options_before_both(surroundings: Path):
    (surroundings / ".env").write_text("DEFAULT_ALPHA=0.1\nDEFAULT_TOP_K=11\nWORKERS=3\nAPP_NAME='from file'\n")
    os.environ.update({"default_alpha": "0.2", "MEMEX_RANKING_TOP_K": "12"})
    settings = environment.read({"server": {"workers": 2}}, surroundings)
    assert (settings.ranking.alpha, settings.ranking.top_k) == (0.2, 12)
    assert (settings.server.workers, settings.app.name) == (2, "from file")


@pytest.mark.parametrize("content", [b"APP_NAME=\xff\n", b"\xff\xfeA\0"])
def test_an_env_file_that_is_no_text_is_refused(surroundings: Path, content: bytes):
    (surroundings / ".env").write_bytes(content)
    with pytest.raises(SettingsInvalid, match=r"^\.env cannot be read: "):
        environment.read()


@pytest.mark.parametrize("name", ["MEMEX_HOME", "memex_home"])
def test_the_home_is_named_by_the_environment(surroundings: Path, name: str):
    os.environ[name] = str(surroundings / "home")
    assert environment.read().home == surroundings / "home"
    assert environment.read(home=surroundings / "option").home == surroundings / "option"


def test_a_worker_reads_what_its_parent_decided(surroundings: Path):
    os.environ.update({"DATABASE_URL": "", "memex_ranking_alpha": "0.1", "memex_database_url": "other"})
    options: Values = {"ranking": {"alpha": 0.9, "top_k": "3"}, "server": {"allowed_hosts": "a.example,b.example"}}
    parent = environment.read(options, surroundings)
    environment.hand_down(options, surroundings, "postgresql://127.0.0.1/handed-down")
    worker = environment.read()
    assert worker.database.url == "postgresql://127.0.0.1/handed-down"
    assert (worker.home, worker.ranking, worker.server) == (surroundings, parent.ranking, parent.server)
    assert worker.ranking.alpha == 0.9


def test_the_shared_directory_is_there_only_with_several_workers(surroundings: Path):
    assert environment.shared_directory() is None
    environment.share_directory(str(surroundings))
    assert environment.shared_directory() == str(surroundings)
