"""The help of every command is complete: what it does, what each option is for, and an example that works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kubewright.cli import COMMANDS, cli
from kubewright.olm import DEFAULT_SUITES

_OTHERS = re.compile(r" (?:&&|&|\||;) ")
DOCS = Path(__file__).parents[2] / "docs"
LONGEST_SUMMARY = 64  # in the list of commands, on a terminal of 80


def commands(group: click.Group = cli, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All of them, with the words that name them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*above, name))


ALL = {" ".join(words): command for words, command in commands()}


def examples(command: click.Command) -> list[str]:
    """The lines below `Example:` that call the program, without what a shell takes away."""
    text = (command.help or "").replace("\b\n", "")
    _, _, shown = text.partition("Example")
    lines = [line.strip().removeprefix("$ ") for line in shown.splitlines()]
    calls = [part.strip() for line in lines for part in _OTHERS.split(line.partition(" #")[0])]
    return [call for call in calls if call.startswith("kubewright ")]


@pytest.mark.parametrize("name", ALL)
def test_every_command_says_what_it_does(name: str) -> None:
    help_ = ALL[name].help or ""
    first = help_.split("\n")[0]
    assert first.endswith((".", ":")), f"{name}: the first line is a sentence, not {first!r}"
    assert ALL[name].get_short_help_str(limit=200)


@pytest.mark.promise(
    "Projects",
    "The help of every command has an example that is understood, and a text for each option.",
)
@pytest.mark.parametrize("name", ALL)
def test_every_option_says_what_it_is_for(name: str) -> None:
    options = [parameter for parameter in ALL[name].params if isinstance(parameter, click.Option)]
    silent = [option.opts[0] for option in options if not option.help]
    assert silent == []


@pytest.mark.parametrize("name", ["bundle", "chart", "deploy", "installer", "manifests"])
def test_who_takes_the_image_of_the_last_build_says_so(name: str) -> None:
    [image] = [one for one in ALL[name].params if isinstance(one, click.Option) and one.name == "image"]
    assert "the image of the last build" in (image.help or "")


def test_page_and_help_name_the_default_suites() -> None:
    [suite] = [one for one in ALL["bundle"].params if isinstance(one, click.Option) and one.name == "suites"]
    assert DEFAULT_SUITES == ("format", "bundle")
    assert "Default: format and bundle." in (suite.help or "")
    assert "Default suites: `format` and `bundle`." in (DOCS / "olm.md").read_text()


@pytest.mark.promise(
    "Projects",
    "The help of every command has an example that is understood, and a text for each option.",
)
@pytest.mark.parametrize("name", ["", *ALL])
def test_every_command_has_an_example_that_is_understood(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = examples(ALL[name] if name else cli)
    assert any(example.startswith(f"kubewright {name}") for example in shown), f"{name} has no example of itself"
    for example in shown:
        parse(shlex.split(example)[1:])


def parse(arguments: list[str]) -> None:
    """As the program does it, up to where the command would begin."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        context = click.Context(command)
        found = command.get_command(context, arguments[0])
        assert found is not None, f"there is no command {arguments[0]!r}"
        command, arguments = found, arguments[1:]
    try:
        command.make_context(command.name, list(arguments)).close()
    except click.BadParameter as error:
        if "does not exist" not in error.message:  # the files of an example are the reader's
            raise


def test_a_wrong_example_would_be_noticed(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--imgae"):
        parse(["deploy", "--imgae", "x"])


def test_summaries_fit_their_line() -> None:
    assert [name for name, entry in COMMANDS.items() if len(entry.summary) > LONGEST_SUMMARY] == []


def test_the_list_of_commands_is_sorted() -> None:
    assert list(COMMANDS) == sorted(COMMANDS)
