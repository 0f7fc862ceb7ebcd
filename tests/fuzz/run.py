"""Runs one fuzz target with Atheris: `python -m tests.fuzz.run TARGET [options of libFuzzer] [folders of a corpus]`.

`make fuzz` runs all of them. Needs the dependency group `fuzz`.
"""

from __future__ import annotations

import logging
import sys

import atheris  # type: ignore[import-untyped, unused-ignore]

with atheris.instrument_imports(include=["kubewright"]):
    from tests.fuzz.targets import TARGETS, opened

    for name in ("api", "api.cel", "client", "cluster", "codegen", "http", "webhook"):
        __import__(f"kubewright.{name}")


def main() -> None:
    """Fuzz until the time is over, or there is a finding."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"name a target: {', '.join(TARGETS)}")
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["kubewright"]):
        target, _ = opened(sys.argv[1])
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
