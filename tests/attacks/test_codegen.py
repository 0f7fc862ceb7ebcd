"""Definitions with hostile names: what is generated from them can be imported, or nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.attacks.payloads import definition
from tests.patience import PATIENCE

NAMES = [
    'a"b',
    "a'b",
    "a\\",
    'a"""b',
    "a\nimport os",
    "a\rb",
    "a\0b",
    "a\u2028b",
    "{a}",
    "a b",
    "class",
    "__class__",
    "",
    "1a",
    "a-b",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
]


def hostile_definitions() -> list[tuple[str, dict[str, Any]]]:
    """Definitions with a hostile string in each place where code could be made from it."""
    found = []
    for number, name in enumerate(NAMES):
        base = definition("things", {"description": name, "enum": [name], "default": name, "pattern": name})
        found.append((f"text-{number}", base))
        base = definition("things", {})
        version = base["spec"]["versions"][0]
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][name] = {"type": "string"}
        found.append((f"field-{number}", base))
        base = definition("things", {})
        base["spec"]["names"]["kind"] = name
        found.append((f"kind-{number}", base))
        base = definition("things", {})
        base["spec"]["group"] = name
        found.append((f"group-{number}", base))
        base = definition("things", {})
        base["spec"]["versions"][0]["subresources"] = {
            "scale": {"specReplicasPath": name, "statusReplicasPath": f".status.{name}"}
        }
        found.append((f"scale-{number}", base))
        base = definition("things", {})
        column = {"name": name, "type": "string", "jsonPath": name, "description": name}
        base["spec"]["versions"][0]["additionalPrinterColumns"] = [column]
        found.append((f"column-{number}", base))
    return found


def test_codegen_writes_modules_that_can_be_imported_or_none(tmp_path: Path) -> None:
    """One process for all of them: each is generated, and what was written is imported."""
    for name, content in hostile_definitions():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]


PROGRAM = """
import contextlib
import io
import os
import resource
import runpy
import sys
from pathlib import Path

resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
os.environ["KUBEWRIGHT_DEBUG"] = "1"  # an error that is not a refusal prints a traceback

from kubewright.cli import main

folder, wrong = Path(sys.argv[1]), []
for file in sorted(folder.glob("*.json")):
    made = folder / (file.stem.replace("-", "_") + "_made.py")
    sys.argv = ["kubewright", "codegen", str(file), "--out", str(made)]
    code, output = 0, io.StringIO()
    try:
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            main()
    except SystemExit as ended:
        code = ended.code
    if code:
        if "Traceback" in output.getvalue() or made.exists():
            wrong.append(f"{file.name}: {output.getvalue()[-500:]}")
        continue
    try:
        runpy.run_path(str(made))
    except Exception as error:
        wrong.append(f"{file.name}: {type(error).__name__}: {error}")
sys.exit("\\n".join(wrong) or 0)
"""
