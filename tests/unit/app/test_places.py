"""Each worker of a service has a place of its own, and a worker started anew gets its forerunner's."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memex.app.places import claim
from memex.service import Share

CLAIM = """
import sys
from memex.app.places import claim
share = claim(sys.argv[1], int(sys.argv[2]))
print(share.index, share.workers, flush=True)
sys.stdin.read()
"""


@contextmanager
def worker(directory: Path, workers: int) -> Iterator[Share]:
    """A process that holds a place until it is killed."""
    command = [sys.executable, "-c", CLAIM, str(directory), str(workers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        index, of = process.stdout.readline().split()
        yield Share(int(index), int(of))
        process.kill()


def test_a_single_worker_needs_no_place():
    assert claim(None, 1) == Share(0, 1)


def test_every_worker_has_its_own_and_a_successor_the_one_that_is_free(tmp_path: Path):
    with ExitStack() as living:
        shares = [living.enter_context(worker(tmp_path, 3)) for _ in range(2)]
        assert shares == [Share(0, 3), Share(1, 3)]
        with worker(tmp_path, 3) as third:
            assert third == Share(2, 3)
        # It was killed, without a word; its place is free at once.
        with worker(tmp_path, 3) as successor:
            assert successor == Share(2, 3)
            # One too many, for a moment: no error, and no more than a place's part.
            with worker(tmp_path, 3) as extra:
                assert extra == Share(2, 3)
    with worker(tmp_path, 3) as first:
        assert first == Share(0, 3)
