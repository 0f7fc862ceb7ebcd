"""Executes a tutorial from its Markdown, in an empty folder, with only what the page says.

A tutorial consists of files, edits and terminal sessions:

    ```{code-block} python
    :caption: site.py              the content of a file; `diff` changes an existing one
    ```

    <!-- masks: time, duration -->
    ```console
    $ kubewright test -q           runs in bash; `cd` and variables last until the end of the page
    .              [100%]
    1 passed in 0.51s              compared with the output, standard error included
    ```

A line `…` in the output stands for any number of lines. A line `^C` interrupts the running command.
Notes before a block, separated by semicolons:

| note | meaning |
|---|---|
| `not run: why` | the block is skipped |
| `masks: time, port` | these parts of a line differ in each run; `MASKS` is the complete list |
| `exit: 4` | the exit code of the last command. Default: 0 |
| `terminal: operator` | runs in the terminal of that name. Each terminal is a shell. Default: `main` |
| `keeps running` | the last command continues. A later block of its terminal without a command shows further output |
| `retried` | the last command is repeated until it prints the shown output |
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.docs.markdown import Block, blocks
from tests.patience import PATIENCE, until

__all__ = ["MASKS", "Tutorial", "TutorialError", "steps"]

MASKS: Final[Mapping[str, str]] = {
    "time": r"\b(?:\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d(?:\.\d+)?Z?\b",
    # Also 1m9s, and pytest's 69.49s (0:01:09) on a busy machine.
    "duration": r"\b(?:\d+(?:\.\d+)?(?:e-\d+)? ?(?:ns|µs|ms|s|m|h|seconds|minutes))+\b(?: \(\d+:\d\d:\d\d\))?",
    "uid": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "hash": r"\b[0-9a-f]{10,64}\b|(?<=-)[bcdf-hj-np-tv-xz2456789]{5,10}\b",
    "port": r"(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+",
    "path": r"(?:/[\w.-]+)+/",
}
"""The parts of an output that a page may mask, by name."""

_NOTES: Final = {"masks", "exit", "terminal", "keeps running", "retried"}
_NAME: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


class TutorialError(AssertionError):
    """A page does not do what it says. The message names the page and the line."""


@dataclass(frozen=True)
class Command:
    """A command with the output that the page shows, or the output of a command that already runs (`text` is empty)."""

    text: str
    shown: str


@dataclass(frozen=True)
class Step:
    """A block of a tutorial, with its notes."""

    block: Block
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def masks(self) -> list[str]:
        return [mask.strip() for mask in self.notes["masks"].split(",")] if "masks" in self.notes else []

    def error(self, problem: str) -> TutorialError:
        return TutorialError(f"{self.block.place}: {problem}")

    def masked(self, text: str) -> str:
        """Replaces the masked parts, and the spaces that only align them."""
        for mask in self.masks:
            text = re.sub(MASKS[mask], f"<{mask}>", text)
        return re.sub(r"(?m)[ \t]+$", "", re.sub(r"(?<=>) +| +(?=<)", " ", text) if self.masks else text)

    def pattern(self, shown: str) -> re.Pattern[str]:
        """Returns a pattern for the masked output."""
        lines = self.masked(shown).splitlines(keepends=True)
        return re.compile("".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line) for line in lines))

    def commands(self) -> list[Command]:
        """Returns the commands of a terminal session. `> ` continues a command."""
        found: list[list[str]] = []
        for line in self.block.code.splitlines(keepends=True):
            if line.startswith("$ ") or line == "^C\n":
                found.append([line.removeprefix("$ "), ""])
            elif found and line.startswith("> ") and not found[-1][1]:
                found[-1][0] += line[2:]
            else:
                if not found:
                    found.append(["", ""])
                found[-1][1] += line
        return [Command(text, shown) for text, shown in found]


def steps(page: Path) -> list[Step]:
    """Returns the steps of a page. Raises `TutorialError` for a note or a mask that does not exist."""
    found = []
    for block in blocks(page):
        if block.note.startswith("not run: ") or not ("caption" in block.options or block.language == "console"):
            continue
        notes = dict(re.findall(r"([^:;]+)(?:: *([^;]*))?(?:; *|$)", block.note))
        step = Step(block, {key.strip(): value.strip() for key, value in notes.items()})
        if unknown := set(step.notes) - _NOTES:
            raise step.error(f"unknown notes: {', '.join(sorted(unknown))}; known are {', '.join(sorted(_NOTES))}")
        if unknown := set(step.masks) - set(MASKS):
            raise step.error(f"unknown masks: {', '.join(sorted(unknown))}; known are {', '.join(MASKS)}")
        found.append(step)
    return found


class Tutorial:
    """A run of a page in a folder. Leaving the block interrupts what still runs, and kills what does not end.

    `programs` are on the path, and `folders` appear in the folder of the page. `replaced` has strings of terminal
    sessions and their replacements, to run the page on another cluster.
    """

    def __init__(
        self,
        page: Path,
        folder: Path,
        *,
        programs: Mapping[str, Path] | None = None,
        folders: Mapping[str, Path] | None = None,
        variables: Mapping[str, str] | None = None,
        replaced: Mapping[str, str] | None = None,
    ) -> None:
        self.page, self.folder, self.home = page, folder / "work", folder / "home"
        self._replaced = replaced or {}
        self._terminals: dict[str, _Terminal] = {}
        programs_folder = folder / "programs"
        for each in (self.folder, self.home, programs_folder):
            each.mkdir()
        for program, path in (programs or {}).items():
            (programs_folder / program).symlink_to(path)
        for entry, path in (folders or {}).items():
            (self.folder / entry).symlink_to(path)
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{programs_folder}:{os.defpath}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",  # among the files of the page
        }
        if cache := os.environ.get("KUBEWRIGHT_CACHE_DIR"):  # of the tier: a plain test builds nothing
            self.environment["KUBEWRIGHT_CACHE_DIR"] = cache
        self.environment |= variables or {}

    async def __aenter__(self) -> Tutorial:
        return self

    async def __aexit__(self, *_: object) -> None:
        for terminal in self._terminals.values():
            await terminal.close()

    async def run(self) -> int:
        """Executes all steps; returns their number."""
        found = steps(self.page)
        for step in found:
            if "caption" in step.block.options:
                self._write(step)
            else:
                await self._execute(self._on_this_cluster(step))
        return len(found)

    def _on_this_cluster(self, step: Step) -> Step:
        code = step.block.code
        for old, new in self._replaced.items():
            code = code.replace(old, new)
        return replace(step, block=replace(step.block, code=code))

    def _write(self, step: Step) -> None:
        name = step.block.options["caption"]
        if not _NAME.fullmatch(name) or ".." in name:
            raise step.error(f"the caption {name!r} is not the name of a file below the folder")
        main = self._terminals.get("main")
        path = (main.folder if main else self.folder) / name
        content = step.block.code
        if step.block.language == "diff":
            lines = content.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if not line.startswith("+"))
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise step.error(f"the lines to change occur {text.count(old)} times in {name}, not once:\n{old}")
            content = text.replace(old, "".join(line[1:] for line in lines if not line.startswith("-")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    async def _execute(self, step: Step) -> None:
        name = step.notes.get("terminal", "main")
        terminal = self._terminals.get(name)
        if terminal is None:
            main = self._terminals.get("main")
            terminal = self._terminals[name] = _Terminal(self.environment)
            await terminal.open(main.folder if main else self.folder)
        commands = step.commands()
        for command in commands:
            last = command is commands[-1]
            if command.text == "^C\n":
                output, code = await terminal.interrupted()
                self._compare(step, command, output, code, last=last)
            elif not command.text or (last and "keeps running" in step.notes):
                if command.text:
                    await terminal.send(command.text)
                await self._follow(step, command, terminal)
            elif last and "retried" in step.notes:
                await self._retry(step, command, terminal)
            else:
                await terminal.send(command.text)
                output, code = await terminal.finished()
                self._compare(step, command, output, code, last=last)

    def _compare(self, step: Step, command: Command, output: str, code: int, *, last: bool) -> None:
        expected = int(step.notes.get("exit", 0)) if last else 0
        if code != expected:
            raise step.error(f"`{command.text.strip()}` exited with {code}, not {expected}:\n{output}")
        if not step.pattern(command.shown).fullmatch(step.masked(output)):
            raise step.error(
                f"`{command.text.strip()}` printed something else.\n"
                f"--- the page\n{step.masked(command.shown)}--- the run\n{step.masked(output)}"
            )

    async def _follow(self, step: Step, command: Command, terminal: _Terminal) -> None:
        """Waits until a command that keeps running has printed what the page shows.

        A block without a command may leave out what was printed since the last one.
        """
        pattern, output = step.pattern(command.shown if command.text else f"…\n{command.shown}"), ""
        try:
            async with asyncio.timeout(PATIENCE):
                while not pattern.fullmatch(step.masked(output)):
                    line = await terminal.line()
                    if line is None:
                        raise step.error(f"`{command.text.strip()}` ended:\n{output}")
                    output += line
        except TimeoutError:
            raise step.error(
                f"the running command did not print what the page shows.\n"
                f"--- the page\n{step.masked(command.shown)}--- the run\n{step.masked(output)}"
            ) from None

    async def _retry(self, step: Step, command: Command, terminal: _Terminal) -> None:
        last = ""

        async def matches() -> bool:
            nonlocal last
            await terminal.send(command.text)
            last, code = await terminal.finished()
            return not code and bool(step.pattern(command.shown).fullmatch(step.masked(last)))

        try:
            await until(matches, command.text.strip(), every=0.5)
        except AssertionError as error:
            raise step.error(f"{error}\n--- the page\n{command.shown}--- the last run\n{last}") from None


class _Terminal:
    """A shell that runs one command after another, with standard error in the output."""

    _END: Final = re.compile(r"(?P<rest>.*)\x1d(?P<code>\d+) (?P<folder>.*)\n")

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._code: int | None = 0
        self.folder = Path()

    async def open(self, folder: Path) -> None:
        self.folder = folder
        shell = shutil.which("bash") or "/bin/bash"
        self._process = await asyncio.create_subprocess_exec(
            *(shell, "--noprofile", "--norc"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env=self._environment,
            start_new_session=True,
            limit=2**22,
        )
        await self._write("trap : INT\n")  # an interrupt ends the command, not the shell

    async def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        await self._process.stdin.drain()

    async def send(self, command: str) -> None:
        """Starts a command. It runs in this shell, so that `cd` and `export` last."""
        assert self._code is not None, "a command still runs in this terminal"
        self._code = None
        await self._write(f"{{ {command.rstrip()}\n}} </dev/null\nprintf '\\x1d%d %s\\n' $? \"$PWD\"\n")

    async def line(self) -> str | None:
        """Returns the next line of output, or None at the end of the command."""
        if self._code is not None:
            return None
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode(errors="replace")
        end = self._END.fullmatch(line)
        if end is None and line:
            return line
        self._code = int(end["code"]) if end else 255
        if end:
            self.folder = Path(end["folder"])
        return end["rest"] + "\n" if end and end["rest"] else None

    async def finished(self) -> tuple[str, int]:
        """Waits for the end of the command; returns the rest of its output, and its exit code."""
        output = ""
        async with asyncio.timeout(PATIENCE):
            while (line := await self.line()) is not None:
                output += line
        assert self._code is not None
        return output, self._code

    async def interrupted(self) -> tuple[str, int]:
        os.killpg(self._process.pid, signal.SIGINT)
        return await self.finished()

    async def close(self) -> None:
        try:
            if self._code is None:
                await self.interrupted()
        finally:
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.communicate()
