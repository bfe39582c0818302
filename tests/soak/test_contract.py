"""REST under random requests, for long; other ones in every run."""

from collections.abc import Callable

import pytest

from tests.fixtures.process import Process
from tests.system.test_contract import explored

SECONDS = 600


@pytest.mark.soak
@pytest.mark.timeout(4 * SECONDS)
def test_no_request_is_answered_otherwise_than_the_document_says(serve: Callable[..., Process]):
    explored(serve("--log-level", "error").ready(), "--max-examples", "200", "--max-time", str(SECONDS))
