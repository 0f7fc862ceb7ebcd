"""Runs the steps of `kubectl.yaml` with the real kubectl and normalizes its output; see README.md in this folder."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.patience import PATIENCE
from tests.yaml_files import load_yaml

HERE: Final = Path(__file__).parent
_KEYS: Final = {"kubectl", "stdin", "editor", "until", "fields", "rows", "setup", "between"}
_NAME: Final = "[bcdfghjklmnpqrstvwxz2456789]"  # the letters of generated names


@dataclass(frozen=True)
class Section:
    """Commands that belong together, in a namespace of their own."""

    name: str
    steps: list[dict[str, Any]]


@dataclass(frozen=True)
class Printed:
    """What a command left: how it ended, and what it said on both streams."""

    command: str
    code: int
    output: str
    errors: str

    def __str__(self) -> str:
        return f"$ kubectl {self.command}\n{self.output}{self.errors}(ended with {self.code})"


def sections() -> list[Section]:
    """The script."""
    found = []
    for entry in load_yaml(HERE / "kubectl.yaml"):
        for step in entry["steps"]:
            assert set(step) <= _KEYS, f"{entry['section']}: {step}"
        found.append(Section(entry["section"], entry["steps"]))
    assert len({section.name for section in found}) == len(found), "two sections have one name"
    return found


@dataclass
class Kubectl:
    """kubectl, with one cluster and one namespace."""

    program: Path
    kubeconfig: Path
    namespace: str
    home: Path

    async def step(self, step: dict[str, Any]) -> Printed:
        """Runs a step, repeatedly if it waits for a condition, and normalizes its output."""
        arguments = shlex.split(step["kubectl"])
        async with asyncio.timeout(PATIENCE):
            while True:
                if "between" in step:
                    printed = await self._watch(arguments, step["between"])
                else:
                    printed = await self.run(*arguments, stdin=step.get("stdin"), editor=step.get("editor"))
                if step.get("setup"):
                    assert printed.code == 0, printed
                    return Printed(printed.command, 0, "", "")
                if "until" not in step or re.search(step["until"], printed.output):
                    break
                await asyncio.sleep(0.1)  # real: between looks at a condition that nothing announces
        output = self._normalized(printed.output)
        if step.get("fields"):
            output = fields(output)
        lines = output.splitlines(keepends=True)
        match step.get("rows"):
            case "last":
                output = "".join(lines[-1:])
            case "any order":
                output = "".join(sorted(lines))
        return Printed(printed.command, printed.code, output, self._normalized(printed.errors))

    def _normalized(self, text: str) -> str:
        return normalized(text.replace(str(self.home), "HOME"))

    async def run(self, *arguments: str, stdin: Any = None, editor: str | None = None) -> Printed:
        """Run kubectl once; what it prints, as it is."""
        body = "" if stdin is None else stdin if isinstance(stdin, str) else yaml.safe_dump(stdin, sort_keys=False)
        process = await self._start(arguments, editor)
        try:
            output, errors = await process.communicate(body.encode())
        except BaseException:
            process.kill()
            await process.wait()
            raise
        assert process.returncode is not None
        return Printed(shlex.join(arguments), process.returncode, output.decode(), errors.decode())

    async def _watch(self, arguments: list[str], between: list[str]) -> Printed:
        """Runs a command that does not end; after each line that it prints, one of the others. Then stops it."""
        process = await self._start(arguments)
        assert process.stdout is not None
        try:
            lines = [await process.stdout.readline()]
            for command in between:
                done = await self.run(*shlex.split(command))
                assert done.code == 0, done
                lines.append(await process.stdout.readline())
        finally:
            process.terminate()
            await process.communicate()
        return Printed(shlex.join(arguments), 0, b"".join(lines).decode(), "")

    async def _start(self, arguments: Sequence[str], editor: str | None = None) -> asyncio.subprocess.Process:
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "PATH": "/usr/bin:/bin",  # sed, for edit; diff, for diff
            "TZ": "UTC",
        }
        if editor is not None:
            environment["KUBE_EDITOR"] = editor
        return await asyncio.create_subprocess_exec(
            self.program,
            "--namespace",
            self.namespace,
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


_RULES: Final = [
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "TOKEN"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "TIME"),  # of a file, as diff says it
    (re.compile(r"^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ .*\n", re.MULTILINE), ""),  # kubectl's own log: how fast it all was
    (re.compile(r'((?:resourceVersion"?|Resource Version): +)"?\d+"?'), r"\1RV"),
    (re.compile(r"https://[\w.]+:\d+"), "https://SERVER"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b"), "IP"),
    (re.compile(r"\S*/(?:LIVE|MERGED)-\d+/\S+"), "FILE"),  # what diff compares
    (re.compile(rf"-{_NAME}{{6,10}}-{_NAME}{{5}}\b"), "-HASH-NAME"),
    (re.compile(rf"-{_NAME}{{6,10}}\b"), "-HASH"),
    (re.compile(rf"(?<=[a-z0-9])-{_NAME}{{5}}(?=\s|$|\")"), "-NAME"),
    (re.compile(rf"((?:pod-template-hash|controller-revision-hash)[=:] ?\"?){_NAME}+\"?"), r"\1HASH"),
    # Ages, in columns of their own: `5s`, `2m3s`, also `3s (x2 over 5s)`.
    (re.compile(r"(?<=\s)(\d+[smhd])+( ago)?( \(x(\d+) over (\d+[smhd])+\))?(?=\s|$)"), "AGE"),
    (re.compile(r"<invalid>|<unknown>(?= {2,}\w)"), "AGE"),
    # Columns are as wide as what stands in them.
    (re.compile(r"(?<=\S)(?: {2,}|\t+)"), "  "),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]


def normalized(text: str) -> str:
    """The text without what differs between any two clusters: uids, times, ages, addresses, names made by chance."""
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return _MANAGED_FIELDS.sub(_in_one_order, text)


# Entries stand in the order of their times, of which the server keeps the seconds: two writes within one second stand
# in the order of their managers, and whether they are within one second is chance.
_MANAGED_FIELDS: Final = re.compile(r"(?<=^  managedFields:\n)(?:  [- ] .*\n)+", re.MULTILINE)


def _in_one_order(entries: re.Match[str]) -> str:
    return "".join(sorted(re.split(r"^(?=  - )", entries[0], flags=re.MULTILINE)))


def fields(text: str) -> str:
    """Of what `explain` prints, the fields and their types: descriptions are prose, which is not carried."""
    kept = re.compile(r"^(GROUP|KIND|VERSION|FIELD):|^\s*\S+\t?\s*<\S+>|^FIELDS:")
    return "".join(line for line in text.splitlines(keepends=True) if kept.search(line))
