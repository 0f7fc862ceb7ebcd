"""The page about the command line has every command, with its own words."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

from kubewright.cli import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
_ROW = re.compile(r"^\| `kubewright ([a-z-]+)` \| (.+) \| (yes|) ?\|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, bool]]:
    return {name: (summary, json == "yes") for name, summary, json in _ROW.findall(PAGE.read_text(encoding="utf-8"))}


def answers_json(command: click.Command) -> bool:
    if isinstance(command, click.Group):
        return any(answers_json(each) for each in command.commands.values())
    return any("--output" in parameter.opts for parameter in command.params)


def test_the_page_has_every_command_and_no_other() -> None:
    assert set(rows()) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_described_as_it_describes_itself(name: str) -> None:
    command: click.Command = importlib.import_module(COMMANDS[name].module).command
    assert rows()[name] == (COMMANDS[name].summary, answers_json(command))


def test_how_to_install_the_completion_is_said_in_the_help_too() -> None:
    command: click.Command = importlib.import_module(COMMANDS["completion"].module).command
    lines = re.findall(r"^\| (?:bash|zsh|fish) \| `([^`]*)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 3
    assert [line for line in lines if line not in (command.help or "")] == []
