"""A folder of results, some of which are none, and the command over it."""

from pathlib import Path

import msgspec
from click.testing import CliRunner

from bench.report.__main__ import main
from bench.report.collection import collect
from bench.report.questions import QUESTIONS
from tests.bench.report.examples import closed_loop, startup


def filled(folder: Path) -> Path:
    for result in (closed_loop(), startup()):
        (folder / f"{result.question}-{result.variant}.json").write_bytes(msgspec.json.encode(result))
    (folder / "broken.json").write_text("{")
    (folder / "foreign.json").write_text('{"name": "package"}')
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    (folder / "folder.json").mkdir()
    (folder / "notes.txt").write_text("not JSON at all")
    return folder


def test_broken_and_foreign_files_are_named(tmp_path: Path):
    found = collect(filled(tmp_path))
    assert sorted(found.questions) == ["closed-loop", "startup"]
    assert [file.name for file in found.skipped] == ["binary.json", "broken.json", "folder.json", "foreign.json"]
    assert all(file.reason for file in found.skipped)


def test_the_command_writes_both_documents_and_says_what_it_left_out(tmp_path: Path):
    answer = CliRunner().invoke(main, ["--results", str(filled(tmp_path))])
    assert answer.exit_code == 0
    assert "left out broken.json" in answer.output
    for name in ("report.html", "report.md"):
        document = (tmp_path / name).read_text("utf-8")
        assert "foreign" in document
        assert "1,746" in document
        assert str(tmp_path) not in document, "no path of this machine"


def test_an_empty_folder_is_told_what_to_run(tmp_path: Path):
    answer = CliRunner().invoke(main, ["--results", str(tmp_path)])
    assert answer.exit_code == 1
    assert [question.command for question in QUESTIONS.values() if question.command not in answer.output] == []
    assert list(tmp_path.iterdir()) == []
