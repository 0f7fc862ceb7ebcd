"""Every client of client-go and controller-runtime gets the same answers from both servers."""

from __future__ import annotations

import fnmatch
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, RealCluster
from tests.cluster.differential.harness import differences
from tests.cluster.judge.program import BUILD_SECONDS, judged, samples
from tests.yaml_files import load_yaml

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(BUILD_SECONDS + 600)]
KNOWN: Final[list[dict[str, str]]] = load_yaml(Path(__file__).with_name("known_differences.yaml"))
_PROSE: Final = re.compile(r"\.description:")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A real control plane without the definitions of other tests, which discovery and lists would show."""
    with ControlPlane() as made:
        yield made


@pytest.mark.promise("The embedded cluster", "Go's clients get the answers of a real cluster.")
@pytest.mark.parametrize(
    ("part", "features"),
    [
        ("clientsets", {}),
        ("dynamic", {}),
        ("discovery", {}),
        ("informers", {"WatchListClient": "true"}),
        ("informers", {"WatchListClient": "false"}),
        ("election", {}),
        ("runtime", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(f"{k}={v}" for k, v in value.items()),
)
async def test_clients_of_go_get_the_same_answers(
    part: str, features: dict[str, str], plane: ControlPlane, tmp_path: Path
) -> None:
    namespace = f"judge-{secrets.token_hex(4)}"
    objects = samples(tmp_path, namespace)
    environment = {f"KUBE_FEATURE_{name}": value for name, value in features.items()}
    async with Cluster(controllers=False, rbac=True) as cluster:
        await cluster.serve()
        real = RealCluster(plane)
        answers = []
        for each in (cluster, real):
            await each.client().create(core.Namespace(metadata=ObjectMeta(name=namespace)))
            answers.append(await judged(part, each.kubeconfig(), namespace, objects, environment))
        await real.client().delete(core.Namespace, namespace)
        await real.stop()
    assert answers[1], "the program printed nothing"
    assert unknown(part, *answers) == []


def unknown(part: str, embedded: dict[str, Any], real: dict[str, Any]) -> list[str]:
    """The differences that no entry of the list describes, and the entries that describe none."""
    found = [
        f"{key}: {difference}"
        for key in sorted({*embedded, *real})
        for difference in differences(embedded.get(key, "not printed"), real.get(key, "not printed"))
        if not _PROSE.search(difference)
    ]
    entries = [entry for entry in KNOWN if entry["part"] == part]
    left = [each for each in found if not any(fnmatch.fnmatchcase(each, entry["difference"]) for entry in entries)]
    gone = [
        f"this difference is gone; remove it from known_differences.yaml: {entry}"
        for entry in entries
        if not fnmatch.filter(found, entry["difference"])
    ]
    return left + gone


def test_every_known_difference_has_a_reason() -> None:
    assert [entry for entry in KNOWN if not entry.get("reason")] == []
