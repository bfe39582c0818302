"""`memex model` as people call it, on a tiny model laid out as publishers do."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.process import Process, run
from tests.fixtures.waiting import PATIENCE
from tests.unit.embedder.models import published

pytestmark = pytest.mark.xdist_group("system")
AGENT = {"agent_id": "a", "user_id": "u"}


def called(process: "subprocess.Popen[str]") -> tuple[int, str]:
    output = process.communicate(timeout=PATIENCE)[0]
    assert "Traceback" not in output
    return process.returncode, output


def test_a_model_is_added_listed_and_checked(home: Path, tmp_path: Path) -> None:
    jar = published.write_jar(tmp_path / "any.jar")
    code, said = called(run("model", "add", str(jar), "--name", "tiny", "--data-dir", str(home)))
    assert code == 0
    assert "EMBEDDING_MODEL=tiny" in said
    assert str(home) not in said
    code, said = called(run("model", "list", "--data-dir", str(home), EMBEDDING_MODEL="tiny"))
    assert code == 0
    assert [line[:13].split() for line in said.splitlines()] == [["e5-small-v2"], ["*", "tiny", "added"]]
    (home / "models" / "tiny" / "tokenizer.json").write_text("{}")
    code, said = called(run("model", "check", "tiny", "--data-dir", str(home)))
    assert code == 1
    assert said.startswith("FAULT  tokenizer.json of the model 'tiny' does not have the SHA-256")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maker/tiny-encoder", "must pin a revision"),
        (published.HUB_ID, "memex model add"),
        ("no-such-model", "There is no model 'no-such-model'"),
    ],
)
def test_a_service_without_its_model_says_what_to_do(
    serve: Callable[..., Process], tmp_path: Path, name: str, words: str
) -> None:
    process = serve(EMBEDDING_MODEL=name, HF_HUB_OFFLINE="1", HF_HUB_CACHE=str(tmp_path))
    assert process.popen.wait(PATIENCE) == 1
    (line,) = [line for line in process.output().splitlines() if " INFO " not in line]
    assert line.startswith("memex: ")
    assert words in line


def test_a_folder_as_published_serves_and_check_says_what_it_cannot_read(
    serve: Callable[..., Process], home: Path, tmp_path: Path
) -> None:
    folder = published.write_repository(tmp_path / "tiny-encoder")
    process = serve(EMBEDDING_MODEL=str(folder)).ready()
    with process.client() as client:
        for content in ("abc", "Дети пошли домой", "Они читали книгу"):
            assert client.post("/v1/memories", json=AGENT | {"content": content}).status_code == 201
        found = client.post("/v1/memories/search", json=AGENT | {"query": "abc"}).json()["results"]
        assert len(found) == 3
        # Its vocabulary is single letters: it cannot read Latin either.
        assert "memex_embedding_unread_share 1.0" in client.get("/metrics").text
    options = ("--port", str(process.port), "--data-dir", str(home))
    code, said = called(run("check", *options[2:], EMBEDDING_MODEL="tiny-encoder", MEMEX_SERVER_PORT=options[1]))
    assert code == 0, said
    assert "of the 3 newest memories 100% are in scripts that the model cannot read, most of them Cyrillic" in said
