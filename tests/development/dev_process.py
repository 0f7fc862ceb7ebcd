"""Runs `kubewright dev` as a process, and reads its messages."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from kubewright.client import BlockingClient
from tests.patience import PATIENCE

PROGRAM = '''
import os

import kubewright as kw

print("process", os.getpid())


class NoteSpec(kw.Model):
    text: str = ""


class NoteStatus(kw.Model):
    said: str = ""


@kw.resource("dev.example.com/v1", columns={"Said": ".status.said"})
class Note(kw.Resource[NoteSpec, NoteStatus]):
    """A note."""


operator = kw.Operator("notes")
seen = []


@operator.reconciles(Note)
async def sync(note: Note, ctx: kw.Context[Note]) -> None:
    seen.append(note.metadata.name)
    await ctx.set_status(NoteStatus(said=f"first {note.spec.text}"))
'''

SAMPLE = """
apiVersion: dev.example.com/v1
kind: Note
metadata:
  name: sample
spec:
  text: hello
"""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Waits for a condition that no message reports."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        threading.Event().wait(0.02)


class Dev:
    """One run of the command with `--output json`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.messages: list[dict[str, Any]] = []
        self.errors = ""
        self._heard = threading.Condition()
        self._since = 0
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    @classmethod
    def start(cls, folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Self:
        command = [sys.executable, "-m", "kubewright", "dev", *arguments, "--output", "json"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
        return cls(
            subprocess.Popen(
                command,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**clean, **(environ or {})},
            )
        )

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._heard:
                self.messages.append(json.loads(line))
                self._heard.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    def wait_for(self, type_: str, /, **fields: Any) -> dict[str, Any]:
        """Waits for the first message of that type with these fields since the last save, and returns it.

        Messages of different sources have no defined order.
        """

        def found() -> dict[str, Any] | None:
            for message in self.messages[self._since :]:
                if message["type"] == type_ and all(message.get(name) == value for name, value in fields.items()):
                    return message
            return None

        with self._heard:
            if not self._heard.wait_for(lambda: found() is not None, PATIENCE):
                recent = "\n".join(map(str, self.messages[-30:]))
                raise AssertionError(f"no {type_} with {fields} came:\n{recent}\n{self.errors}")
            message = found()
        assert message is not None
        return message

    def saves(self, path: Path, text: str, changed_at: float | None = None) -> None:
        """Saves a file. Later calls of `wait_for` see only messages after that; for Python files, of the new run."""
        with self._heard:
            self._since = len(self.messages)
        save(path, text, changed_at)
        if path.suffix == ".py":
            starting = self.wait_for("starting")  # until then, the old run reports
            with self._heard:
                self._since = self.messages.index(starting, self._since)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stops the process with a signal, and returns its exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Waits until the process has ended and its output was read. Returns its exit code."""
        code = self.process.wait(timeout=PATIENCE)
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code

    @contextlib.contextmanager
    def client(self) -> Iterator[BlockingClient]:
        """Connects as administrator, with the kubeconfig that the process reported."""
        ready = next(message for message in self.messages if message["type"] == "cluster")
        with BlockingClient.connect(kubeconfig=ready["kubeconfig"]) as client:
            yield client


@contextlib.contextmanager
def developing(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[Dev]:
    """Runs the command during the block. Afterwards stops it and checks its exit code, unless the block did."""
    dev = Dev.start(folder, *arguments, environ=environ)
    try:
        yield dev
        if dev.process.poll() is None:
            assert dev.end() == 0, dev.errors
        assert dev.errors == "", dev.errors
    finally:
        if dev.process.poll() is None:
            dev.process.kill()
        dev.ended()


def save(path: Path, text: str, changed_at: float | None = None) -> None:
    """Saves a file as editors do: replaces it by a new one."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text)
    if changed_at is not None:
        os.utime(fresh, (changed_at, changed_at))
    fresh.replace(path)
