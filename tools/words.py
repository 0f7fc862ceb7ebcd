"""Checks the prose of the project against a list of words and patterns that we do not use.

    python -m tools.words            # fails if a file has more of them than tools/words.toml allows
    python -m tools.words src/x.py   # lists them, with what to write instead
    python -m tools.words --update   # lowers the counts in tools/words.toml

Comments, docstrings, messages, names and pages are checked alike. `tools/words.toml` lists the files that still have to
be rewritten, with their counts. A count may only become lower; a file that is not listed has none.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
LEFT: Final = ROOT / "tools" / "words.toml"

REPLACEMENTS: Final[Mapping[str, str]] = {
    r"(?:is|are|was|were|be|been|being) told|tells? (?:of|so)|told": "is logged, reports, returns, raises, is notified",
    r"anew": "again, from scratch, a new",
    r"(?:becomes?|comes?|came) of": "happens to, results in",
    r"somebody|someone|anybody|nobody|everybody": "name the user, the client, the field manager, the process",
    r"whoever|whomever|whosoever|who ever|those who": "users, callers, clients",
    r"for ever": "indefinitely",
    r"meanwhile": "drop it, or say until when",
    r"unless (?:given|said)": "default: X",
    r"(?:time-out|time-outs)": "timeout",
    r"by hand": "manually",
    r"(?:stands?|stood|standing) still": "stalls, is stuck, is frozen",
    r"(?<!there )is no (?!longer|more|such)\w+": "is not a",
    r"in its own words|be it": "drop it",
    r"(?:behaviour|colour|honour|favour|neighbour|centre|licence)\w*": "American spelling",
    r"(?:recogni|initiali|seriali|organi|optimi|normali|minimi|summari)s(?:e|es|ed|ing|ation)": "American spelling",
}
_PATTERN: Final = re.compile("|".join(rf"(\b(?:{pattern})\b)" for pattern in REPLACEMENTS), re.IGNORECASE)
_WRITTEN_ELSEWHERE: Final = re.compile(
    r"src/kubewright/api/\w+/v\w+\.py|.*/versions/.*|tools/words\.(?:py|toml)|tests/tools/test_words\.py|docs/design/promises\.md"
)
_SUFFIXES: Final = {".py", ".md", ".toml", ".tmpl"}


class Hit(NamedTuple):
    """A word that we do not use."""

    line: int
    word: str
    instead: str


def hits_in(text: str) -> Iterator[Hit]:
    """Yields the words of a text. Names are read as words: `test_nobody_waits` has one."""
    instead = list(REPLACEMENTS.values())
    for number, line in enumerate(text.replace("_", " ").splitlines(), 1):
        for found in _PATTERN.finditer(line):
            yield Hit(number, found.group(), instead[(found.lastindex or 1) - 1])


def checked_files() -> list[Path]:
    """Returns the files that people write."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [ROOT / name for name in names if Path(name).suffix in _SUFFIXES and not _WRITTEN_ELSEWHERE.fullmatch(name)]


def counts() -> dict[str, int]:
    """Returns how many such words each file has, without those that have none."""
    found = {file: sum(1 for _ in hits_in(file.read_text(encoding="utf-8"))) for file in checked_files()}
    return {file.relative_to(ROOT).as_posix(): number for file, number in sorted(found.items()) if number}


def problems(now: Mapping[str, int], allowed: Mapping[str, int]) -> Iterator[str]:
    """Yields a line for each file whose count is not the one that is allowed."""
    for name in sorted({*now, *allowed}):
        if now.get(name, 0) > allowed.get(name, 0):
            yield f"{name}: {now[name]} such words, {allowed.get(name, 0)} allowed; list: python -m tools.words {name}"
        elif now.get(name, 0) < allowed.get(name, 0):
            yield f"{name}: fewer words than tools/words.toml allows; run: python -m tools.words --update"


def update(now: Mapping[str, int], allowed: Mapping[str, int]) -> None:
    """Writes the counts that have become lower. Does not raise one."""
    kept = {name: min(number, allowed[name]) for name, number in now.items() if name in allowed}
    lines = [f'"{name}" = {number}' for name, number in kept.items()]
    LEFT.write_text("# Files that still have to be rewritten: see tools/words.py.\n" + "\n".join(lines) + "\n")


def main(arguments: list[str]) -> int:
    if arguments and arguments != ["--update"]:
        for name in arguments:
            for hit in hits_in(Path(name).read_text(encoding="utf-8")):
                print(f"{name}:{hit.line}: {hit.word!r}: {hit.instead}")
        return 0
    now, allowed = counts(), tomllib.loads(LEFT.read_text(encoding="utf-8"))
    if arguments:
        update(now, allowed)
        return 0
    found = list(problems(now, allowed))
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
