"""The Helm chart of a project.

`chart_files(project)` returns the files of the chart. The templates are made from the same objects that
`kubewright.manifests.objects` returns, so a chart with default values deploys exactly those. `template` writes a
Helm template from plain dicts and lists, in which Helm fills in a `hole`, a `Value`, a `Structure`, a `Splice` or the
branch of a condition (`When`).
"""

from __future__ import annotations

from kubewright.manifests.helm._chart import chart_files
from kubewright.manifests.helm._template import Splice, Structure, Value, When, hole, template

__all__ = [
    "Splice",
    "Structure",
    "Value",
    "When",
    "chart_files",
    "hole",
    "template",
]
