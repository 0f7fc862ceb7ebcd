"""Makes the terminal recording of the README: `docs/images/start.svg`, an animated picture, from `start.session`.

    python -m tools.recording --record   # runs the commands, and writes what they print to start.session
    python -m tools.recording            # draws start.svg from start.session
    python -m tools.recording --check    # fails if start.svg is out of date

A session has a line for each line of the terminal: the second at which it appears, and the line. Lines that begin with
`$ ` are typed. Parts that differ in each run, such as ports, are kept as they were recorded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple
from xml.sax.saxutils import escape

__all__ = ["Line", "draw", "main", "parse", "record"]

ROOT: Final = Path(__file__).resolve().parents[1]
SESSION: Final = ROOT / "docs" / "images" / "start.session"
_TITLE: Final = "kubewright dev runs an operator on a private cluster, applies a sample, and follows each change"
_COLUMNS, _ROW, _TOP = 100, 19, 52
_CHARACTER: Final = 7.83  # of the font at 13 px
_PAUSE: Final = 6.0
_LONGEST: Final = 1.0
_COLORS: Final = {
    "$": "#ffffff",
    "#": "#8b9bb4",
    "object": "#7ee787",
    "event": "#d2a8ff",
    "failed": "#ff9492",
    "": "#c9d1d9",
}


class Line(NamedTuple):
    """A line of the terminal, and the second at which it appears."""

    at: float
    text: str


def parse(session: str) -> list[Line]:
    """Reads a session. Raises ValueError with the number of an invalid line."""
    lines: list[Line] = []
    for number, line in enumerate(session.splitlines(), 1):
        found = re.fullmatch(r"(\d+\.\d) ?(.*)", line)
        if found is None or (lines and float(found[1]) < lines[-1].at):
            raise ValueError(f"line {number}: expected seconds that grow, such as 1.5, and the line of the terminal")
        lines.append(Line(float(found[1]), found[2]))
    return lines


def draw(lines: Sequence[Line]) -> str:
    """Returns an SVG that shows the lines one after another, and begins again. Without motion, it shows all.

    Pauses of more than a second are shortened.
    """
    lines = list(_paced(lines))
    rows = [(line.at, part, _color(line.text)) for line in lines for part in _wrapped(line.text)]
    width, height = round(_COLUMNS * _CHARACTER + 40), _TOP + len(rows) * _ROW + 10
    whole = lines[-1].at + _PAUSE
    shown = [f"@keyframes r{number}{{0%,{at / whole:.2%}{{opacity:0}}{at / whole + 0.0001:.2%},100%{{opacity:1}}}}"
             for number, (at, _, _) in enumerate(rows)]  # fmt: skip
    animated = [f".r{number}{{animation:r{number} {whole:g}s infinite step-end}}" for number in range(len(rows))]
    dots = "".join(f'<circle cx="{22 + 18 * at}" cy="20" r="6" fill="#484f58"/>' for at in range(3))
    texts = (
        f'<text class="r{number}" x="20" y="{_TOP + number * _ROW}" fill="{color}">{escape(text)}</text>'
        for number, (_, text, color) in enumerate(rows)
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{_TITLE}">',
            f"<title>{_TITLE}</title>",
            "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}",
            *shown,
            "@media (prefers-reduced-motion: no-preference){",
            *animated,
            "}</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>{dots}',
            *texts,
            "</svg>\n",
        ]
    )


def _paced(lines: Sequence[Line]) -> Iterator[Line]:
    at = before = 0.0
    for line in lines:
        at, before = at + min(line.at - before, _LONGEST), line.at
        yield Line(at, line.text)


def _wrapped(text: str) -> Iterator[str]:
    yield text[:_COLUMNS]
    rest = text[_COLUMNS:]
    while rest:
        yield f"    {rest[: _COLUMNS - 4]}"
        rest = rest[_COLUMNS - 4 :]


def _color(text: str) -> str:
    words = text.split()
    if text[:1] in ("$", "#"):
        return _COLORS[text[0]]
    return _COLORS.get(words[1] if len(words) > 1 else "", _COLORS[""])


def record() -> list[Line]:
    """Runs the example on a private cluster, changes its sample, and returns what the terminal shows."""
    lines = [Line(0.2, "$ kubewright dev foo.py --no-console")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("foo.py", "example-foo.yaml"):
            shutil.copy(ROOT / "examples" / "foo" / each, folder)
        command = [sys.executable, "-m", "kubewright", "dev", "foo.py", "--no-console"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            began = time.monotonic() - 1.0
            lines += _until(process.stdout, r"object .*Available=1$", began)
            sample = folder / "example-foo.yaml"
            lines.append(Line(lines[-1].at + 1.5, "# save the sample with 3 replicas"))
            began = time.monotonic() - lines[-1].at - 0.5
            sample.write_text(re.sub(r"replicas: \d+", "replicas: 3", sample.read_text()))
            lines += _until(process.stdout, r"object .*Available=3$", began)
            lines.append(Line(lines[-1].at + 1.0, "# save the sample with 30 replicas: the schema allows 10"))
            began = time.monotonic() - lines[-1].at - 0.5
            sample.write_text(re.sub(r"replicas: \d+", "replicas: 30", sample.read_text()))
            lines += _until(process.stdout, r"failed ", began)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
    return lines


def _until(output: IO[str], pattern: str, began: float) -> Iterator[Line]:
    """Yields the lines until one matches, without those that a reader does not need."""
    for line in output:
        text = line.rstrip()
        if not re.search(r" (?:kubectl|hint|console|reconciled) |\(x\d+\)$", text):
            yield Line(round(time.monotonic() - began, 1), text)
        if re.search(pattern, text):
            return
    raise RuntimeError(f"the command ended before it printed {pattern}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Records, draws or compares. Returns 1 if the picture is out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.recording", description="Makes the recording of the README.")
    parser.add_argument("--record", action="store_true", help="run the commands, and save what they print")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the picture would change")
    given = parser.parse_args(arguments)
    if given.record:
        SESSION.write_text("".join(f"{line.at:.1f} {line.text}\n" for line in record()), encoding="utf-8")
    picture = SESSION.with_suffix(".svg")
    wanted = draw(parse(SESSION.read_text(encoding="utf-8")))
    if given.check:
        if not picture.is_file() or picture.read_text(encoding="utf-8") != wanted:
            print(f"{picture.name} is out of date; run: python -m tools.recording", file=sys.stderr)
            return 1
        return 0
    picture.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
