"""From file to running operator, and from there to an image: what `kubewright dev`, `test` and `build` do.

- `Development(plan, view)` runs a program on an embedded cluster, or on that of a kubeconfig: it defines the kinds,
  runs the operator in a process of its own, applies samples, and starts the operator again when a file of the program
  is saved. The cluster and its objects stay. What happens are messages (`_messages.py`), which a `View` shows: as
  lines, as lines above a live table on a terminal, or as JSON.
- `Build` is an image to be built with docker, podman or buildah: `commands` are the command lines, for one platform or
  several, and `find_tool` says which tool this machine has.

Nothing here asks for a network: the cluster listens on loopback, behind certificates of its own.
"""

from __future__ import annotations

from kubewright.development._development import Development, Plan
from kubewright.development._samples import samples_beside
from kubewright.development._targets import check_targets
from kubewright.development._views import JsonView, LinesView, LiveView, View, view_for

__all__ = [
    "Development",
    "JsonView",
    "LinesView",
    "LiveView",
    "Plan",
    "View",
    "check_targets",
    "samples_beside",
    "view_for",
]
