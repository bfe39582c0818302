"""What the commands say of themselves."""

import click
import pytest
from click.testing import CliRunner

from memex.commands import main


def paths(group: click.Group, *before: str) -> list[list[str]]:
    """The words of every command."""
    found = []
    for name, command in group.commands.items():
        found.append([*before, name])
        if isinstance(command, click.Group):
            found += paths(command, *before, name)
    return found


@pytest.mark.parametrize("words", paths(main), ids=" ".join)
def test_a_command_has_a_help_without_marks(words: list[str]):
    said = CliRunner().invoke(main, [*words, "--help"])
    assert said.exit_code == 0
    assert len(said.output.splitlines()) > 5
    assert "\\" not in said.output


def test_lines_that_are_examples_stay_lines():
    said = CliRunner().invoke(main, ["mcp", "--help"]).output
    assert "  Codex:        codex mcp add memex -- memex mcp\n" in said


@pytest.mark.parametrize("words", [("check", "--data-dir", ""), ("backup", ""), ("restore", "")])
def test_an_empty_name_of_a_folder_is_not_the_working_directory(words: tuple[str, ...]):
    said = CliRunner().invoke(main, words)
    assert (said.exit_code, "name a folder" in said.output) == (2, True)
