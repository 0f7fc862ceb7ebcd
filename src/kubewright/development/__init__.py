"""From file to running operator, and from there to an image: what `kubewright dev`, `test` and `build` do.

- `Development(plan, view)` runs a program on an embedded cluster, or on that of a kubeconfig: it defines the kinds,
  runs the operator in a process of its own, applies samples, and starts the operator again when a file of the program
  is saved. The cluster and its objects stay. What happens are messages (`_messages.py`), which a `View` shows: as
  lines, as lines above a live table on a terminal, or as JSON.
- `Build` is an image that docker, podman or buildah is to build: `commands` are the command lines of each, for one
  platform or several, `find_tool` says which tool this machine has, and `run_commands` runs them.
- `run_tests` runs a project's tests with pytest, on embedded clusters, on the real one, or on both.

Nothing here asks for a network: the cluster listens on loopback, behind certificates of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.development._development import Development, Plan
    from kubewright.development._images import TOOLS, Build, BuildError, Command, Tool, commands, find_containerfile
    from kubewright.development._samples import samples_beside
    from kubewright.development._targets import check_targets
    from kubewright.development._testing import TestClusters, has_pytest, run_tests
    from kubewright.development._tools import find_tool, has_buildx, run_commands, tool_to_show
    from kubewright.development._tracebacks import user_traceback
    from kubewright.development._views import JsonView, LinesView, LiveView, View, view_for

__all__ = [
    "TOOLS",
    "Build",
    "BuildError",
    "Command",
    "Development",
    "JsonView",
    "LinesView",
    "LiveView",
    "Plan",
    "TestClusters",
    "Tool",
    "View",
    "check_targets",
    "commands",
    "find_containerfile",
    "find_tool",
    "has_buildx",
    "has_pytest",
    "run_commands",
    "run_tests",
    "samples_beside",
    "tool_to_show",
    "user_traceback",
    "view_for",
]

# Behind a door that opens on first use: the process of the operator, which is started with each save, needs none of it.
_HOMES = {
    "TOOLS": "_images",
    "Build": "_images",
    "BuildError": "_images",
    "Command": "_images",
    "Development": "_development",
    "JsonView": "_views",
    "LinesView": "_views",
    "LiveView": "_views",
    "Plan": "_development",
    "TestClusters": "_testing",
    "Tool": "_images",
    "View": "_views",
    "check_targets": "_targets",
    "commands": "_images",
    "find_containerfile": "_images",
    "find_tool": "_tools",
    "has_buildx": "_tools",
    "has_pytest": "_testing",
    "run_commands": "_tools",
    "run_tests": "_testing",
    "samples_beside": "_samples",
    "tool_to_show": "_tools",
    "user_traceback": "_tracebacks",
    "view_for": "_views",
}

if not TYPE_CHECKING:  # who checks types is told of names that are not there
    __getattr__ = lazy_exports(__name__, _HOMES)
