import logging

import pytest

from memex.app.worker import ready_embedder
from memex.metrics import Metrics
from memex.settings import Embedding, Settings


def test_a_worker_without_a_model_ends_with_one_line(tmp_path, caplog):
    settings = Settings(home=tmp_path, embedding=Embedding(model="no-such-model"))
    with caplog.at_level(logging.ERROR), pytest.raises(SystemExit) as ended:
        ready_embedder(settings, Metrics())
    (record,) = caplog.records
    assert ended.value.code == 1
    assert "no-such-model" in record.getMessage()
    assert record.exc_info is None
