"""`python -m tools.generate_protobuf`: rewrites the descriptions of the messages."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src/kubewright/cluster/protobuf/messages.bin"
GO_MODULE = ROOT / "src/kubewright/testing/binaries/_gomodule"


def main() -> None:
    DATA.write_bytes(packed(messages()))


def messages() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(GO_MODULE / name, Path(folder, name))
        shutil.copyfile(Path(__file__).with_name("messages.go"), Path(folder, "main.go"))
        made = subprocess.run(["go", "run", "-mod=mod", "."], cwd=folder, capture_output=True, check=True)
    facts: dict[str, Any] = json.loads(made.stdout)
    return facts


def packed(facts: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode(), 9)


if __name__ == "__main__":
    main()
