"""Runs, tests and builds operators under development: the code behind `kubewright dev`, `test` and `build`.

- `Development(plan, view)` runs a program on an embedded cluster, or on that of a kubeconfig. It installs the
  definitions, runs the operator in a separate process, applies samples, and restarts the operator whenever a file of
  the program is saved. The cluster and its objects stay. Events are messages (`messages`) that a `View` shows: as
  lines, as lines above a live table, or as JSON.
- `Build` describes an image. `commands` returns the command lines of docker, podman or buildah, for one platform or
  several. `find_tool` finds an installed tool, and `run_commands` runs it.
- `run_tests` runs a project's tests with pytest, on embedded clusters, a real one, or both.
- `Sources` notices saved files among `program_files`, and `shown_logs` turns log records into messages.

No network is needed: the cluster listens on loopback with its own certificates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.development._development import Development, Plan
    from kubewright.development._images import TOOLS, Build, BuildError, Command, Tool, commands, find_containerfile
    from kubewright.development._logs import shown_logs
    from kubewright.development._schemas import schema_changes
    from kubewright.development._sources import Sources, program_files
    from kubewright.development._targets import check_targets, folders_of, paths_of
    from kubewright.development._testing import TestClusters, has_pytest, run_tests
    from kubewright.development._tools import find_tool, has_buildx, run_commands, tool_to_show
    from kubewright.development._tracebacks import user_traceback
    from kubewright.development.views import JsonView, LinesView, LiveView, View, view_for

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
    "Sources",
    "TestClusters",
    "Tool",
    "View",
    "check_targets",
    "commands",
    "find_containerfile",
    "find_tool",
    "folders_of",
    "has_buildx",
    "has_pytest",
    "paths_of",
    "program_files",
    "run_commands",
    "run_tests",
    "schema_changes",
    "shown_logs",
    "tool_to_show",
    "user_traceback",
    "view_for",
]

# Imported on first use: the operator's process, which starts on every save, needs none of it.
_MODULES = {
    "folders_of": "_targets",
    "paths_of": "_targets",
    "Sources": "_sources",
    "program_files": "_sources",
    "TOOLS": "_images",
    "Build": "_images",
    "BuildError": "_images",
    "Command": "_images",
    "Development": "_development",
    "JsonView": "kubewright.development.views",
    "LinesView": "kubewright.development.views",
    "LiveView": "kubewright.development.views",
    "Plan": "_development",
    "TestClusters": "_testing",
    "Tool": "_images",
    "View": "kubewright.development.views",
    "check_targets": "_targets",
    "commands": "_images",
    "find_containerfile": "_images",
    "find_tool": "_tools",
    "has_buildx": "_tools",
    "has_pytest": "_testing",
    "run_commands": "_tools",
    "run_tests": "_testing",
    "schema_changes": "_schemas",
    "shown_logs": "_logs",
    "tool_to_show": "_tools",
    "user_traceback": "_tracebacks",
    "view_for": "kubewright.development.views",
}

if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, _MODULES)
