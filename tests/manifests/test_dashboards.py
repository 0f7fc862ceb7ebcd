"""The dashboard and the alerts use only metrics that a running operator exposes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

import kubewright as kw
from kubewright.api import ObjectMeta, core
from kubewright.cli import run
from kubewright.cluster import Cluster
from kubewright.manifests import Project, is_generated, write
from kubewright.manifests.dashboards import alerts, dashboard_files, panels
from tests.manifests.projects import FULL, PROJECTS
from tests.manifests.promql import names_in

PAGE = Path(__file__).parents[2] / "docs" / "observability.md"
TARGET_LABELS = {"job", "namespace", "pod", "instance", "service", "endpoint", "container"}
"""Labels that Prometheus adds to everything that it scrapes from a ServiceMonitor."""
OF_PROMETHEUS = {"up"}


class LampSpec(kw.Model):
    bright: bool = True


@kw.resource("dashboards.example.com/v1")
class Lamp(kw.Resource[LampSpec, None]):
    """A kind with a reconciler and webhooks."""


def lamps() -> kw.Operator:
    operator = kw.Operator("lamps", leader_elect=True, lease_namespace="default", metrics_bind="127.0.0.1:0")

    @operator.reconciles(Lamp, owns=[core.ConfigMap])
    async def sync(lamp: Lamp, ctx: kw.Context[Lamp]) -> None:
        ctx.record("Synced", "the lamp is on")
        if lamp.metadata.name == "broken":
            raise kw.TerminalError("it is broken")

    @operator.defaults(Lamp)
    def default(lamp: Lamp) -> None:
        lamp.spec.bright = True

    return operator


def expressions(project: Project) -> Iterator[tuple[str, str]]:
    """All expressions in the files, with the name of their panel or alert."""
    files = {file.path: file.text for file in dashboard_files(project)}
    for panel in json.loads(files["dashboard.json"])["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"].replace("$__rate_interval", "5m")
    for group in yaml.safe_load(files["alerts.yaml"])["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]


async def exposed() -> dict[str, set[str]]:
    """The samples of a running operator, each with its labels; those without a sample have none."""
    operator = lamps()
    async with Cluster() as cluster, cluster.client() as client, operator.running(client) as running:
        await running.wait_for_leadership()
        for name in ("fine", "broken"):
            await client.create(Lamp(metadata=ObjectMeta(name=name, namespace="default"), spec=LampSpec()))
        await running.settled()
        text = await scrape(running.servers[-1].port)
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for suffix in ("", "_total", "_bucket", "_count", "_sum"):
            found.setdefault(f"{family.name}{suffix}", set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


async def scrape(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer.partition("\r\n\r\n")[2]


def documented() -> dict[str, set[str]]:
    """The labels of each metric in the tables of the page."""
    found, before = {}, ""
    for names, _, labels in re.findall(r"^\| (`[^|]+`) \| (\w+) \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE):
        before = before if labels.strip() == "same" else labels
        for name in re.findall(r"`(\w+)`", names):
            found[name] = set(re.findall(r"`(\w+)`", before))
    return found


@pytest.mark.promise("Watching an operator", "Dashboards and alerts use only metrics and labels that exist.")
async def test_every_metric_and_label_is_exposed() -> None:
    real, page = await exposed(), documented()
    seen = 0
    for where, expression in expressions(FULL):
        names = names_in(expression)
        assert names.metrics, where
        known: set[str] = set()
        for metric, labels in names.metrics.items():
            if metric not in OF_PROMETHEUS:
                assert metric in real, f"{where}: the operator does not expose {metric}"
                # A counter without a sample has no labels yet: then the documentation, which other tests check.
                of_metric = real[metric] or page.get(re.sub("_(bucket|count|sum)$", "", metric), set())
                assert labels - TARGET_LABELS <= of_metric, f"{where}: {metric} has no label {labels - of_metric}"
                known |= of_metric
            seen += 1
        assert names.groupings - TARGET_LABELS - {"le"} <= known, f"{where}: no metric has {names.groupings - known}"
    assert seen > 40


async def test_most_metrics_have_samples() -> None:
    """Otherwise the labels above would come from the documentation only."""
    real = await exposed()
    used = {metric for _, expression in expressions(FULL) for metric in names_in(expression).metrics} - OF_PROMETHEUS
    without = sorted(metric for metric in used if not real[metric])
    assert len(without) < len(used) / 3, without


def test_a_misspelled_metric_would_be_found() -> None:
    names = names_in('sum by (pod, le) (rate(foo_bucket{job="a", code=~"5..|<x>"}[5m] offset 1h)) / on (pod) bar > 0.5')
    assert names.metrics == {"foo_bucket": {"job", "code"}, "bar": set()}
    assert names.groupings == {"pod", "le"}
    assert names.functions == {"sum", "rate"}
    for wrong in ("rate(foo[5m]", "foo)", "foo ? bar"):
        with pytest.raises(ValueError):
            names_in(wrong)


def test_rule_for_the_prometheus_operator_has_the_same_alerts() -> None:
    files = {file.path: yaml.safe_load(file.text) for file in dashboard_files(FULL) if file.path.endswith(".yaml")}
    rule = files["prometheus-rule.yaml"]
    assert rule["spec"] == files["alerts.yaml"]
    assert (rule["metadata"]["name"], rule["metadata"]["namespace"]) == ("foo-operator", "foo-operator-system")
    for one in rule["spec"]["groups"][0]["rules"]:
        assert one.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert one["labels"]["severity"] in ("critical", "warning")
        assert 'job="foo-operator-metrics"' in one["expr"]


def test_parts_that_are_missing_have_neither_panels_nor_alerts() -> None:
    def text(of: Project) -> str:
        return "".join(expression for _, expression in expressions(of))

    assert "webhook" in text(FULL)
    assert "leader_election" in text(FULL)
    assert "webhook" not in text(PROJECTS["one replica"])
    assert "leader_election" not in text(PROJECTS["no election"])


def test_dashboard_has_unique_ids_and_no_overlapping_panels() -> None:
    [file] = [file for file in dashboard_files(FULL) if file.path == "dashboard.json"]
    board: dict[str, Any] = json.loads(file.text)
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in board["panels"])
    assert {variable["name"] for variable in board["templating"]["list"]} == {"datasource", "namespace", "job"}
    titles = [panel.title for row in panels(FULL) for panel in row.panels]
    assert [panel["title"] for panel in board["panels"] if panel["type"] != "row"] == titles
    assert len({alert.name for alert in alerts(FULL, "x")}) == len(alerts(FULL, "x"))


def test_files_are_generated_and_stable(tmp_path: Path) -> None:
    assert dashboard_files(FULL) == dashboard_files(FULL)
    write(tmp_path, dashboard_files(FULL))
    assert all(is_generated(path) for path in tmp_path.iterdir())
    assert write(tmp_path, dashboard_files(FULL)).written == []


PROGRAM = """\
import kubewright as kw

class Spec(kw.Model):
    size: int = 1

@kw.resource("example.com/v1")
class Foo(kw.Resource[Spec, None]): ...

operator = kw.Operator("foo-operator")

@operator.reconciles(Foo)
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None: ...
"""


def test_command_writes_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dashboards_of_a_test.py").write_text(PROGRAM)
    assert run(["dashboards", "dashboards_of_a_test.py", "--out", "monitoring", "--job", "mine"]) == 0
    assert "wrote monitoring/dashboard.json" in capsys.readouterr().out
    assert 'job="mine"' in (tmp_path / "monitoring" / "alerts.yaml").read_text()
    (tmp_path / "monitoring" / "alerts.yaml").write_text("groups: []\n")
    assert run(["dashboards", "dashboards_of_a_test.py", "--out", "monitoring"]) == 1
    assert "--overwrite" in capsys.readouterr().err
