"""Each reader on a small file of its format."""

import json
import zipfile
from pathlib import Path
from typing import Any

import click
import pytest

from bench.quality import all as everything
from bench.quality import devbench, locomo, scifact, stsb, xquad
from bench.quality.dataset import Dataset, Memory, Question

TALK = {
    "speaker_a": "Ann",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Hello."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a photo of a boat"},
    ],
    "session_2_date_time": "12:05 am on 1 June, 2023",
    "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Nice boat."}],
    "session_3_date_time": "12:05 am on 2 June, 2023",
}
ASKED = [
    {"question": "What boat?", "evidence": ["D1:2; D2:1"], "category": 1},
    {"question": "When?", "evidence": ["D:2:1,D9:9"], "category": 2},
    {"question": "Nothing", "evidence": [], "category": 3},
    {"question": "No key", "category": 5},
    {"question": "Elsewhere", "evidence": ["D7:7"], "category": 4},
]
NOTES = {
    "memories": [
        {"id": "n1", "content": "We chose SQLite.", "tags": ["t1", "db"], "created_at_iso": "2025-06-12T09:15:00Z"},
        {"id": "n2", "content": "We fixed the lock.", "tags": ["t2", "db"]},
    ],
    "queries": [
        {"id": "q1", "category": "exact", "question": "Which database?", "expected_tags": ["t1"]},
        {"id": "q2", "category": "cross_type", "question": "Databases?", "expected_tags": ["t1", "t2"]},
        {"id": "q3", "category": "negative", "question": "Billing?", "expected_tags": []},
    ],
}
CORPUS = (
    "doc_id,title,abstract,structured\n"
    "11,A title.,\"['It\\'s one.'\n \"\"Two isn't.\"\" 'Three, [quoted].']\",False\n"
    "12,Other,['Only.'],False\n"
)


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def conversations(folder: Path) -> Path:
    return written(folder / "locomo-dev.json", [{"conversation": TALK, "qa": ASKED}, {"conversation": TALK, "qa": []}])


def paragraphs(folder: Path, language: str) -> Path:
    asked = [{"question": f"{language}?", "id": "1"}, {"question": f"{language}??", "id": "2"}]
    articles = [
        {"paragraphs": [{"context": f"{language} one", "qas": asked}, {"context": f"{language} two", "qas": []}]}
    ]
    return written(folder / f"xquad.{language}.json", {"data": articles})


def abstracts(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "scifact.zip", "w") as archive:
        archive.writestr("corpus_train.csv", CORPUS)
        archive.writestr("claims_validation.csv", "id,claim\n1,One is one.\n3,Not judged.\n")
        archive.writestr("claims_test.csv", "id,claim\n2,Two.\n")
    written(folder / "qrels_test.tsv", "query-id\tcorpus-id\tscore\n1\t11\t1\n2\t12\t2\n2\t11\t1\n")
    return folder


def pairs(folder: Path, language: str = "en") -> Path:
    rows = 'One girl.,"A girl, one.",2.5\nA,B,\nC,D,nan\nE,F\nG,H,5\n'
    return written(folder / f"stsb-{language}-test.csv", rows)


def test_locomo(tmp_path: Path):
    data = locomo.read(conversations(tmp_path))
    first = data.memories[:3]
    assert [(memory.name, memory.text, memory.session) for memory in first] == [
        ("conversation-0/D1:1", "Ann: Hello.", "session_1"),
        ("conversation-0/D1:2", "Ben: Look! [image: a photo of a boat]", "session_1"),
        ("conversation-0/D2:1", "Ann: Nice boat.", "session_2"),
    ]
    assert [memory.when for memory in first] == [
        "2023-05-08T13:56:00+00:00",
        "2023-05-08T13:56:01+00:00",
        "2023-06-01T00:05:00+00:00",
    ]
    boats = {"conversation-0/D1:2": 1.0, "conversation-0/D2:1": 1.0}
    assert data.questions == [
        Question("conversation-0", "What boat?", boats, "multi-hop"),
        Question("conversation-0", "When?", {"conversation-0/D2:1": 1.0}, "temporal"),
    ]
    assert data.users == {"conversation-0", "conversation-1"}
    assert data.left_out == {"questions without evidence": 3}


def test_devbench(tmp_path: Path):
    data = devbench.read(written(tmp_path / "devbench_dataset.json", NOTES))
    assert data.memories[0] == Memory("n1", "devbench", "We chose SQLite.", when="2025-06-12T09:15:00Z")
    assert [(q.category, q.relevant) for q in data.questions] == [
        ("exact", {"n1": 1.0}),
        ("cross_type", {"n1": 1.0, "n2": 1.0}),
        ("negative", {}),
    ]


def test_xquad(tmp_path: Path):
    for language in ("zh", "en"):
        paragraphs(tmp_path, language)
    data = xquad.read(tmp_path)
    assert (data.name, data.users) == ("xquad", {"en", "zh"})
    assert data.memories[:2] == [Memory("en/0", "en", "en one"), Memory("en/1", "en", "en two")]
    assert data.questions[0] == Question("en", "en?", {"en/0": 1.0}, "en")
    assert len(data.questions) == 4
    assert xquad.read(tmp_path, ("zh",)).name == "xquad-zh"
    with pytest.raises(click.UsageError, match=r"no xquad.\*.json"):
        xquad.read(tmp_path / "nothing")


def test_scifact(tmp_path: Path):
    data = scifact.read(abstracts(tmp_path))
    assert [(memory.name, memory.text) for memory in data.memories] == [
        ("11", "A title. It's one. Two isn't. Three, [quoted]."),
        ("12", "Other Only."),
    ]
    assert [(q.text, q.relevant) for q in data.questions] == [
        ("One is one.", {"11": 1.0}),
        ("Two.", {"12": 2.0, "11": 1.0}),
    ]


def test_stsb(tmp_path: Path):
    pairs(tmp_path)
    pairs(tmp_path, "zh")
    english, chinese = stsb.tasks(tmp_path)
    assert (english.dataset.name, chinese.dataset.name, english.k, english.mode) == (
        "stsb-en",
        "stsb-zh",
        1,
        "semantic",
    )
    assert english.dataset == Dataset(
        "stsb-en",
        [Memory("en-0", "en-0", "A girl, one."), Memory("en-4", "en-4", "H")],
        [Question("en-0", "One girl.", {"en-0": 2.5}, "en"), Question("en-4", "G", {"en-4": 5.0}, "en")],
        {"pairs without a judgement": 3},
    )
    assert [task.dataset.name for task in stsb.tasks(tmp_path, ("zh",))] == ["stsb-zh"]
    with pytest.raises(click.UsageError, match="no stsb"):
        stsb.tasks(tmp_path / "nothing")


def test_all_names_every_file_that_is_missing(tmp_path: Path):
    written(tmp_path / "devbench" / "devbench_dataset.json", NOTES)
    with pytest.raises(click.UsageError, match=r"locomo-dev/locomo-dev.json, xquad/xquad.en.json, stsb/.*, scifact/"):
        everything.tasks(tmp_path)


def test_all_has_every_data_set(tmp_path: Path):
    written(tmp_path / "devbench" / "devbench_dataset.json", NOTES)
    conversations(tmp_path / "locomo-dev").rename(tmp_path / "locomo-dev" / "locomo-dev.json")
    paragraphs(tmp_path / "xquad", "en")
    pairs(tmp_path / "stsb")
    abstracts(tmp_path / "scifact")
    names = [task.dataset.name for task in everything.tasks(tmp_path)]
    assert names == ["devbench", "locomo", "xquad", "stsb-en", "scifact"]
