import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub.constants
import pytest

from memex.embedder.models import hub, open_model
from memex.embedder.models.shelf import Shelf
from memex.errors import ModelMissing, SettingsInvalid
from tests.unit.embedder.models import published


def silent(name: str, done: int, whole: int) -> None:
    """No progress is shown."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library's cache, in a folder of ours, and no connection."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "cache"


@pytest.mark.parametrize("revision", ["", "@", "@main", "@5c38ec7", f"@{published.REVISION.upper()}"])
def test_a_hub_id_without_a_commit_is_refused(revision: str) -> None:
    with pytest.raises(SettingsInvalid, match="must pin a revision"):
        hub.parse(published.REPOSITORY + revision)


@pytest.mark.parametrize("text", ["e5-small-v2", "/opt/model", "a/b/c", "../x", "", "a/b c"])
def test_other_texts_are_no_hub_ids(text: str) -> None:
    assert hub.parse(text) is None


def test_without_a_connection_the_cache_is_taken_and_then_not_even_that(cache: Path, tmp_path: Path) -> None:
    published.write_cache(cache)
    shelf = Shelf(tmp_path / "home", silent)
    path = shelf.locate(published.HUB_ID)
    card = open_model(path).card
    assert (card.name, card.pooling, card.provenance["source"]) == ("tiny-encoder", "cls", published.HUB_ID)
    cache.rename(tmp_path / "gone")
    assert shelf.locate(published.HUB_ID) == path


def test_offline_and_missing_names_both_remedies(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="not on this machine") as caught:
        Shelf(tmp_path / "home", silent).locate(published.HUB_ID)
    assert "memex model add" in caught.value.message
    assert "directory" in caught.value.message
    assert not cache.exists()


def test_without_the_library_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelMissing, match="pip install 'huggingface-hub>"):
        Shelf(tmp_path / "home", silent).locate(published.HUB_ID)


class Hub(BaseHTTPRequestHandler):
    """As much of a hub as a download at a commit needs."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.folder = folder
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        resolve = f"/{published.REPOSITORY}/resolve/{published.REVISION}/"
        path = self.path.partition("?")[0]
        if path.startswith(f"/api/models/{published.REPOSITORY}/revision/{published.REVISION}"):
            self.answer(200, json.dumps(self.about()).encode())
        elif path.startswith(resolve) and (self.folder / path.removeprefix(resolve)).is_file():
            self.answer(200, (self.folder / path.removeprefix(resolve)).read_bytes())
        else:
            self.answer(404, b"{}", **{"X-Error-Code": "RepoNotFound"})

    def about(self) -> dict[str, object]:
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        siblings = [{"rfilename": f.relative_to(self.folder).as_posix(), "size": f.stat().st_size} for f in files]
        return {
            "id": published.REPOSITORY,
            "sha": published.REVISION,
            "siblings": siblings,
            "tags": [],
            "private": False,
        }

    def answer(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        known = {"ETag": f'"{len(body)}-{hash(body)}"', "X-Repo-Commit": published.REVISION}
        for name, value in (known | headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def connected(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub of this machine with one repository; its folder."""
    folder = published.write_repository(tmp_path / "hub")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with serving(folder) as endpoint:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
        url = f"{endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", url)
        yield folder


def test_a_download_takes_what_is_needed_and_tells_how_far_it_is(connected: Path, tmp_path: Path) -> None:
    (connected / "pytorch_model.bin").write_bytes(bytes(1000))
    (connected / "onnx" / "model_fp16.onnx").write_bytes(bytes(1000))
    seen: list[tuple[str, int, int]] = []
    folder = hub.fetch(hub.HubId(published.REPOSITORY, published.REVISION), None, lambda *step: seen.append(step))
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert "onnx/model.onnx" in names
    assert "1_Pooling/config.json" in names
    assert not names & {"pytorch_model.bin", "onnx/model_fp16.onnx"}
    size = (connected / "onnx" / "model.onnx").stat().st_size
    assert seen[-1] == ("onnx/model.onnx", size, size)
    assert Path(Shelf(tmp_path / "home", silent).locate(published.HUB_ID)).name == "tiny-encoder"


def test_what_the_hub_does_not_have_is_named(connected: Path) -> None:
    with pytest.raises(ModelMissing, match="The hub has no maker/other@"):
        hub.fetch(hub.HubId("maker/other", published.REVISION), None, silent)


def test_an_empty_repository_is_no_model(connected: Path) -> None:
    (connected / "onnx" / "model.onnx").unlink()
    with pytest.raises(ModelMissing, match=r"\.onnx"):
        hub.fetch(hub.HubId(published.REPOSITORY, published.REVISION), None, silent)
