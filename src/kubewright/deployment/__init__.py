"""Deploys a program's objects to a cluster, and deletes them again.

- `install(client, kinds)` is `kubewright.crd.install`. `uninstall(client, definitions)` deletes definitions with all
  their objects, and waits until they are gone.
- `deploy(client, project)` applies every object of a `kubewright.manifests.Project`, in dependency order. Deploying
  again changes only what differs. Objects of other owners are not taken over: `NameTaken` names the owner. `NotServed`
  is raised before anything is written if the cluster lacks a kind, such as cert-manager's.
- `undeploy(client, project)` deletes them: first the definitions, while the operator can still finalize their objects,
  then the rest. Objects that do not exist are skipped. Objects that `deploy` did not create stay.
- `examine(client, operators, kinds)` returns `Finding`s: whether a program will work on a cluster.

Each function reports its steps to a callback. If a deletion takes too long, `StillThere` names the objects that block
it.
"""

from __future__ import annotations

from kubewright.deployment._deploy import ReportStep, deploy
from kubewright.deployment._examine import examine
from kubewright.deployment._finding import Finding
from kubewright.deployment._ownership import NameTaken, namespace_is_ours, object_title
from kubewright.deployment._remove import StillThere, undeploy, uninstall
from kubewright.deployment._serving import NotServed
from kubewright.deployment._webhooks import RUN_LOCALLY, has_only_simulated_nodes

__all__ = [
    "RUN_LOCALLY",
    "Finding",
    "NameTaken",
    "NotServed",
    "ReportStep",
    "StillThere",
    "deploy",
    "examine",
    "has_only_simulated_nodes",
    "namespace_is_ours",
    "object_title",
    "undeploy",
    "uninstall",
]
