"""Requests generated from the OpenAPI schemas get the same answers from both servers; see the README above."""

from __future__ import annotations

from collections import Counter

import pytest

from kubewright.client import HttpTransport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster.registry import builtin_types
from kubewright.testing import ControlPlane
from tests.cluster.differential.generated.cases import cases, sample_of
from tests.cluster.differential.generated.kinds import UNSAMPLED, kinds
from tests.cluster.differential.generated.known import KNOWN_LIVES, grown, known, shortened
from tests.cluster.differential.generated.lifecycles import lifecycles, lived
from tests.cluster.differential.generated.running import Findings, causes, on_both

SAMPLE = 1500
MOST_DIFFERENCES = 4_989


def test_generates_at_least_20000_distinct_requests_for_all_kinds() -> None:
    distinct = {(case.kind, case.verb, case.rule) for case in cases()}
    assert len(distinct) == len(cases()) >= 20_000
    assert {kind.key for kind in kinds()} == {case.kind for case in cases()}
    served = {f"{type_.api_version}/{type_.plural}" for type_ in builtin_types()}
    assert served == {kind.key for kind in kinds()} | set(UNSAMPLED)


def test_generates_the_same_requests_in_every_run() -> None:
    first = cases()
    cases.cache_clear()
    assert first == cases()


def test_known_differences_do_not_grow() -> None:
    """Fixing a difference lowers this number; nothing raises it."""
    assert sum(kinds.total() for kinds in known().values()) <= MOST_DIFFERENCES


def test_names_a_difference_by_status_field_and_side() -> None:
    refused = {"status": 422, "body": {"details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec.a[3]"}]}}}
    assert dict(causes({"status": 201, "body": {}}, refused)).keys() == {"not rejected: FieldValueInvalid spec.a[]"}
    assert dict(causes(refused, {"status": 201, "body": {}})).keys() == {"rejected: FieldValueInvalid spec.a[]"}
    one, other = ({"status": 200, "body": {"spec": {"a": value}}} for value in (1, 2))
    assert dict(causes(one, other)).keys() == {"spec.a: value"}
    assert not dict(causes(one, one))


def test_shortens_the_list_of_a_kind_even_if_causes_change() -> None:
    before = {"accepted": Counter({"v1/a": 3, "v1/b": 1}), "gone": Counter({"v1/a": 5})}
    found = Findings(causes={"accepted": Counter({"v1/a": 1}), "wording": Counter({"v1/a": 2})})
    expected = {"accepted": Counter({"v1/a": 1, "v1/b": 1}), "wording": Counter({"v1/a": 2})}
    assert shortened(found, before, {"v1/a"}) == expected


def test_never_adds_differences_to_a_kind() -> None:
    before = {"kept": Counter({"v1/a": 2}), "gone": Counter({"v1/a": 1})}
    found = Findings(causes={"kept": Counter({"v1/a": 1}), "new": Counter({"v1/a": 3})})
    assert shortened(found, before, {"v1/a"}) == {"kept": Counter({"v1/a": 1})}


@pytest.mark.promise(
    "The embedded cluster",
    "Requests generated from the schemas of all kinds differ only where a committed list says so.",
)
@pytest.mark.timeout(400)
async def test_a_sample_of_generated_requests_has_only_known_differences(control_plane: ControlPlane) -> None:
    found = await on_both(control_plane, sample_of(SAMPLE))
    assert found.requests == SAMPLE
    assert "\n".join(grown(found, known())) == ""


@pytest.mark.timeout(400)
async def test_objects_of_every_kind_live_the_same_on_both_servers(control_plane: ControlPlane) -> None:
    real = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    try:
        chosen = [scenario for scenario in lifecycles() if scenario.name.endswith(": finalizer")]
        found = await lived(chosen, real)
    finally:
        await real.close()
    allowed = {name for name in KNOWN_LIVES if name.endswith(": finalizer")}
    assert {name: found[name][:20] for name in sorted(found.keys() - allowed)} == {}
    assert sorted(allowed - found.keys()) == [], "equal now: remove them from known_lifecycles.json"
