"""The Helm chart of a project.

`chart_files(project)` returns the files of the chart. The templates are made from the same objects that
`kubewright.manifests.objects` returns, so a chart with default values deploys exactly those.
"""

from __future__ import annotations

from kubewright.manifests.helm._chart import chart_files

__all__ = ["chart_files"]
