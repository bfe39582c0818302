"""Model hubs: what a hub id is, and its files on this machine. The only module that names huggingface_hub."""

import io
import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from memex.embedder.models.sources import BESIDE, CONFIGURATIONS, LICENCES, PAPERS, TOKENIZER, choose
from memex.errors import ModelMissing, SettingsInvalid

ID = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>.*))?")
REVISION = re.compile(r"[0-9a-f]{40}")
SMALL = (TOKENIZER, *CONFIGURATIONS, *LICENCES, *PAPERS)
OFFLINE = (
    "Connect this machine to the hub, or run `memex model add {id}` on one that is and copy its model directory here; "
    "or set EMBEDDING_MODEL to a bundled model or to a directory with the model's files."
)

Progress = Callable[[str, int, int], None]
"""A file, its bytes that are here, and all its bytes."""


class HubId(msgspec.Struct, frozen=True):
    """A repository of a hub at one commit."""

    repository: str
    revision: str

    def __str__(self) -> str:
        """As it is written in EMBEDDING_MODEL."""
        return f"{self.repository}@{self.revision}"

    @property
    def name(self) -> str:
        """The repository without its owner."""
        return self.repository.partition("/")[2]


def parse(text: str) -> HubId | None:
    """The hub id that a text is, None where it has another shape.

    Raises SettingsInvalid for one without a commit: stored vectors are of one revision, and a branch moves.
    """
    shape = ID.fullmatch(text)
    if shape is None:
        return None
    revision = shape["revision"] or ""
    if not REVISION.fullmatch(revision):
        raise SettingsInvalid(
            f"'{text}' is no directory here, and as a hub id it must pin a revision, because stored vectors depend on "
            f"it: write {shape['repository']}@ and the 40 hex digits of a commit, not a branch."
        )
    return HubId(shape["repository"], revision)


def fetch(hub_id: HubId, graph: str | None, progress: Progress) -> Path:
    """The folder with the id's files, downloaded into the hub's own cache where they are not there yet.

    Without a connection what is in the cache is taken. Raises ModelMissing saying what to do.
    """
    hub = library(hub_id)
    try:
        return download(hub, hub_id, graph, progress)
    except (hub.errors.RepositoryNotFoundError, hub.errors.RevisionNotFoundError) as error:
        raise ModelMissing(
            f"The hub has no {hub_id}, or it needs a token: look for typing errors, or log in with `hf auth login`."
        ) from error
    except (OSError, hub.errors.HTTPError) as error:
        return cached(hub, hub_id, error)


def library(hub_id: HubId) -> Any:
    """The module, loaded only where a hub is asked. Raises ModelMissing naming what is missing."""
    try:
        import huggingface_hub  # noqa: PLC0415 (optional)
        import huggingface_hub.errors  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModelMissing(
            f"To fetch {hub_id} memex needs {error.name}, which is missing: `pip install 'huggingface-hub>=2.4,<3'` "
            "brings it. Or set EMBEDDING_MODEL to a bundled model or to a directory."
        ) from error
    return huggingface_hub


def download(hub: Any, hub_id: HubId, graph: str | None, progress: Progress) -> Path:
    """Fetches the small files and one graph."""
    about = hub.HfApi(library_name="memex").model_info(hub_id.repository, revision=hub_id.revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in about.siblings}
    folder = Path()
    wanted = selected(sorted(sizes), graph)
    for name in wanted:
        progress(name, 0, sizes[name])
        options = {"revision": hub_id.revision, "library_name": "memex", "tqdm_class": reporter(name, progress)}
        file = Path(hub.hf_hub_download(hub_id.repository, name, **options))
        folder = file.parents[name.count("/")]
        progress(name, sizes[name], sizes[name])
    return folder


def selected(names: list[str], graph: str | None) -> list[str]:
    """Of a repository's files those that memex needs: not the weights for other frameworks, not other precisions."""
    chosen = choose([name for name in names if fnmatch(name, "*.onnx")], graph)
    beside = [name for name in names if name.startswith(tuple(chosen + ending for ending in BESIDE))]
    if TOKENIZER not in names:
        raise ModelMissing(f"The repository has no {TOKENIZER}.")
    return [*(name for name in SMALL if name in names), *beside, chosen]


def cached(hub: Any, hub_id: HubId, cause: Exception) -> Path:
    """What an earlier download left on this machine."""
    try:
        return Path(hub.snapshot_download(hub_id.repository, revision=hub_id.revision, local_files_only=True))
    except hub.errors.IncompleteSnapshotError as error:
        # The cache knows what else the repository holds, most of which is not needed; what is will be looked for.
        return Path(error.snapshot_path)
    except (OSError, hub.errors.HTTPError):
        missing(hub_id, cause)


def missing(hub_id: HubId, cause: Exception) -> NoReturn:
    """Raises ModelMissing: not here, and not to be had."""
    raise ModelMissing(
        f"The model {hub_id} is not on this machine, and the hub cannot be reached. {OFFLINE.format(id=hub_id)}"
    ) from cause


def reporter(name: str, progress: Progress) -> type:
    """What the library reports a download to: its own kind of bar, which shows nothing and tells `progress`."""
    from tqdm import tqdm  # noqa: PLC0415 (comes with the library)

    class Reporter(tqdm):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **(options | {"file": io.StringIO()}))

        def update(self, count: float | None = 1) -> bool | None:
            done: bool | None = super().update(count)
            progress(name, int(self.n), int(self.total or 0))
            return done

    return Reporter
