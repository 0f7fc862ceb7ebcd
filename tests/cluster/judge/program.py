"""The program in `module/`: runs it on a cluster, and normalizes what it prints."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.cluster.clients.processes import finished
from tests.cluster.differential.generated.kinds import kinds
from tests.cluster.differential.harness import normalized
from tests.go_programs import GoProgram

__all__ = ["BUILD_SECONDS", "JUDGE", "judged", "samples"]

BUILD_SECONDS: Final = 600
"""For the mark `timeout` of tests that may be the first to need it: a minute on a quiet machine."""

JUDGE: Final = GoProgram(
    name="judge", module=Path(__file__).parent / "module", version="v0.37.0", digest_of_sources=True
)
_SECONDS: Final = 300
_BY_CHANCE: Final = [
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "<address>"),
    (re.compile(r'("(?:healthCheckN|n)odePort":\s*)3\d{4}'), r'\1"<port>"'),
    (re.compile(r"\b127\.0\.0\.1:\d+\b"), "<local>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "<credential>"),
    (re.compile(r'(resourceVersion\\+":\s*\\+")\d+'), r"\1<revision>"),
]


def samples(folder: Path, namespace: str) -> Path:
    """Writes a valid object of every kind into a file, which it returns."""
    found = [
        {
            "group": kind.group,
            "version": kind.version,
            "resource": kind.plural,
            "kind": kind.kind,
            "namespaced": kind.namespaced,
            "fixed": "." in kind.name,
            "object": kind.object(),
        }
        for kind in kinds()
    ]
    path = folder / "samples.json"
    path.write_text(json.dumps(found).replace("$ns", namespace))
    return path


async def judged(
    part: str, kubeconfig: Path, namespace: str, objects: Path, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Runs a part of the program, and returns its answers by client, resource and step."""
    options = {"part": part, "cluster": kubeconfig, "namespace": namespace, "samples": objects}
    code, output, errors = await finished(
        JUDGE.binary_for_test(),
        *(f"--{name}={value}" for name, value in options.items()),
        environment={"HOME": str(objects.parent), **(environment or {})},
        seconds=_SECONDS,
    )
    assert code == 0, errors[-4000:]
    return _table(output.splitlines(), namespace)


def _table(lines: Iterable[str], namespace: str) -> dict[str, Any]:
    """Answers by key. Those of one client and resource are normalized together, so that revisions have an order."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for text in lines:
        for pattern, instead in _BY_CHANCE:
            text = pattern.sub(instead, text)
        line = json.loads(text)
        group = groups.setdefault(f"{line['client']} | {line['resource']}", [])
        group.append((line["step"], line.get("error", line.get("result"))))
    found: dict[str, Any] = {}
    for name, answers in groups.items():
        steps: Counter[str] = Counter()
        bodies = normalized([{"body": answer} for _, answer in answers], namespace)
        for (step, _), body in zip(answers, bodies, strict=True):
            steps[step] += 1
            key = f"{name} | {step}" + (f" {steps[step]}" if steps[step] > 1 else "")
            found[key.replace(namespace, "$ns")] = body["body"]
    return found
