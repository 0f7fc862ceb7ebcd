"""`explore`, `replay` and the command, on an operator that leaves a child behind."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from kubewright.cli import run
from kubewright.explore import ExploreError, Report, explore, replay, run_exploration
from kubewright.explore.model import Fault, Finding, Plan, Story, Wait
from kubewright.explore.reports import (
    html_report,
    json_report,
    junit_report,
    load_plan,
    pytest_source,
    save_plan,
    summary_lines,
)
from kubewright.operator import Operator

OPERATORS = Path(__file__).parent / "operators"
SAMPLE = OPERATORS / "sample.yaml"
FINDING = Finding(
    "orphans",
    "a <child> exists",
    ("configmaps default/web",),
    "configmaps",
    Plan(Story("create", (Wait(),)), (Fault("crash", 2, after=True, seconds=60),)),
    ("1. the user creates",),
)


@pytest.mark.explore("operators/generation_broken.py", samples=["operators/sample.yaml"], runs=1, workers=1)
def test_marker_explores_an_operator(explored: Report) -> None:
    assert [finding.oracle for finding in explored.findings] == ["observed-generation"]
    assert any("the user creates Site" in line for line in explored.findings[0].story)


def test_command_reports_findings_and_replays_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, html, junit = tmp_path / "saved", tmp_path / "report.html", tmp_path / "junit.xml"
    arguments = ["explore", str(OPERATORS / "generation_broken.py"), "--samples", str(SAMPLE), "--budget", "1"]
    reports = ["--workers", "1", "--save", str(saved), "--html", str(html), "--junit", str(junit)]
    assert run([*arguments, *reports]) == 4
    shown = capsys.readouterr().out
    assert "1. observed-generation: status.observedGeneration is 1, but the generation is 2" in shown
    assert "observed-generation" in html.read_text()
    assert ET.parse(junit).getroot().get("failures") == "1"
    plan = saved / "1-observed-generation.json"
    assert [finding.oracle for finding in replay(plan)] == ["observed-generation"]
    assert replay(plan, target=str(OPERATORS / "generation_correct.py")) == []


async def test_explores_an_operator_of_an_imported_module() -> None:
    name = "explored_generation"
    spec = importlib.util.spec_from_file_location(name, OPERATORS / "generation_broken.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        report = await explore(module.operator, samples=[SAMPLE], runs=1, workers=1)
    finally:
        del sys.modules[name]
    assert [finding.oracle for finding in report.findings] == ["observed-generation"]
    with pytest.raises(ExploreError, match="is not a variable of an imported module"):
        await explore(Operator("local"), samples=[SAMPLE])


def test_explores_an_operator_that_deletes_its_object(tmp_path: Path) -> None:
    sample = tmp_path / "preview.yaml"
    sample.write_text("apiVersion: explored.example.com/v1\nkind: Preview\nmetadata: {name: pr}\nspec: {minutes: 10}\n")
    report = run_exploration(OPERATORS / "expiring.py", [sample], runs=1, workers=1)
    assert report.error == ""
    assert report.findings == []


def test_rejects_samples_without_a_reconciled_kind(tmp_path: Path) -> None:
    sample = tmp_path / "other.yaml"
    sample.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    with pytest.raises(ExploreError, match="no object that the operator reconciles; its kinds are: Site of explored"):
        run_exploration(OPERATORS / "rest_correct.py", [sample])


def test_saved_plans_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, "foo.py", ("foo.yaml",), FINDING)
    assert load_plan(path).plan == FINDING.plan
    path.write_text("{}")
    with pytest.raises(ValueError, match="is not a plan of kubewright explore"):
        load_plan(path)


def test_reports_describe_faults_in_words() -> None:
    report = Report(findings=[FINDING], runs=3)
    words = "the operator is killed after its write 2 and restarted after 1m"
    assert msgspec.json.decode(msgspec.json.encode(json_report(report)))["findings"][0]["faults"] == [words]
    assert "a &lt;child&gt; exists" in html_report(report, "foo")
    assert ET.fromstring(junit_report(report, "foo")).get("tests") == "1"
    assert words in pytest_source(FINDING, Path("plan.json"))


@pytest.mark.parametrize("minutes", ["0", "-1"])
def test_command_rejects_a_time_in_which_nothing_runs(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(OPERATORS / "rest_correct.py")
    assert run(["explore", target, "--samples", str(SAMPLE), "--minutes", minutes]) == 2
    assert "is not in the range x>0" in capsys.readouterr().err


def test_command_names_a_missing_sample_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", str(OPERATORS / "rest_correct.py"), "--samples", "nope.yaml"]) == 2
    assert capsys.readouterr().err == "Error: there is no sample nope.yaml; name an existing YAML file or folder\n"


def test_command_rejects_samples_without_a_kind_of_the_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}}")
    assert run(["explore", str(OPERATORS / "rest_correct.py"), "--samples", str(tmp_path)]) == 2
    assert "the samples contain no object that the operator reconciles" in capsys.readouterr().err


@pytest.mark.parametrize(("executed", "planned", "warns"), [(0, 404, True), (1, 404, False), (0, 0, False)])
def test_summary_says_that_no_fault_was_injected(executed: int, planned: int, warns: bool) -> None:
    lines = summary_lines(Report(executed=executed, planned=planned))
    assert any(line.startswith("no fault was injected: ") for line in lines) is warns
