"""Templates are written from trees; Helm gives back what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.manifests.helm import Splice, Structure, Value, When, hole, template
from tests.manifests.helm import BUILD_SECONDS, helm

HOLES = {"namespace": ".Release.Namespace", "name": ".Release.Name"}


def test_members_are_sorted_and_what_is_left_to_helm_stands_in_its_place() -> None:
    conditional = When(".Values.metrics", ["--metrics", f"--name={hole('name')}"])
    tree = {
        "metadata": {"namespace": hole("namespace"), "name": f"{hole('name')}-metrics"},
        "kind": "Service",
        "spec": {
            "replicas": Value(".Values.replicas"),
            "resources": Structure(".Values.resources"),
            "args": ["--always", conditional, Splice(".Values.args")],
            "ports": When(".Values.metrics", [{"port": 1}], otherwise=[]),
        },
    }
    assert (
        template(tree, HOLES, when=".Values.on")
        == """\
{{- if .Values.on }}
kind: Service
metadata:
  name: "{{ .Release.Name }}-metrics"
  namespace: "{{ .Release.Namespace }}"
spec:
  args:
  - '--always'
  {{- if .Values.metrics }}
  - '--metrics'
  - "--name={{ .Release.Name }}"
  {{- end }}
  {{- with .Values.args }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if .Values.metrics }}
  ports:
  - port: 1
  {{- else }}
  ports: []
  {{- end }}
  replicas: {{ .Values.replicas }}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
{{- end }}
"""
    )


def test_an_element_cannot_begin_with_something_that_may_be_absent() -> None:
    with pytest.raises(ValueError, match="the first member of an element of a list cannot be left to Helm"):
        template({"list": [{"a": When(".Values.a", 1), "b": 2}]}, {})


def test_a_hole_that_no_user_knows_is_an_error() -> None:
    with pytest.raises(KeyError, match="unknown"):
        template({"name": hole("unknown")}, HOLES)


VALUES = {
    "number": 3,
    "text": "1.10",
    "empty": [],
    "list": [{"a": 1}, {"b": "two\nlines\n"}],
    "mapping": {"cpu": "1", "deep": {"er": None}},
    "yes": True,
}
CASES: list[tuple[Any, Any]] = [
    (Value(".Values.number"), 3),
    (Value(".Values.text | quote"), "1.10"),
    (Structure(".Values.mapping"), VALUES["mapping"]),
    (Structure(".Values.list"), VALUES["list"]),
    (Structure(".Values.empty"), []),
    (["first", Splice(".Values.list")], ["first", *VALUES["list"]]),  # type: ignore[misc]
    (["first", Splice(".Values.empty"), "last"], ["first", "last"]),
    (["first", Splice(".Values.absent")], ["first"]),
    (["first", When(".Values.yes", [{"a": hole("name")}, {"b": [1]}])], ["first", {"a": "release"}, {"b": [1]}]),
    (["first", When(".Values.no", ["second"]), "third"], ["first", "third"]),
    ({"a": When(".Values.yes", {"b": hole("name")}), "c": When(".Values.no", 1)}, {"a": {"b": "release"}}),
    ({"a": When(".Values.no", 1, otherwise={"x": [hole("name")]})}, {"a": {"x": ["release"]}}),
    ([{"a": [1], "b": When(".Values.yes", Structure(".Values.list"))}], [{"a": [1], "b": VALUES["list"]}]),
    ([{"z": hole("name")}, {"y": {"x": hole("name")}}], [{"z": "release"}, {"y": {"x": "release"}}]),
    (hole("namespace"), "42"),
    (f'"{hole("name")}" \\ {{{{ x }}}}: #', '"release" \\ {{ x }}: #'),
    ("{{ .Values.number }} and {{- /* this */ -}}", "{{ .Values.number }} and {{- /* this */ -}}"),
    ("several\n  {{ lines }}\n\nof it\n", "several\n  {{ lines }}\n\nof it\n"),
    (["{{", "}}", "{{{{", "{ {"], ["{{", "}}", "{{{{", "{ {"]),
    ("\ue000nothing of ours\ue001", "\ue000nothing of ours\ue001"),
]


@pytest.mark.promise("Packaging", "Text that looks like a template stays text.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_helm_renders_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: cases, version: 1.0.0}")
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES))
    (tmp_path / "templates").mkdir()
    for number, (node, _) in enumerate(CASES):
        tree = {"apiVersion": "v1", "kind": "Case", "metadata": {"name": str(number)}, "value": {"it": node}}
        (tmp_path / "templates" / f"{number}.yaml").write_text(template(tree, HOLES))
    done = helm("template", "release", tmp_path, "--namespace", "42")
    assert done.returncode == 0, done.stderr
    found = {int(one["metadata"]["name"]): one["value"]["it"] for one in yaml.safe_load_all(done.stdout)}
    assert found == {number: expected for number, (_, expected) in enumerate(CASES)}
