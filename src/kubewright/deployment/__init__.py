"""A program's objects into a cluster, and out of it again.

- `install(client, kinds)` is `kubewright.crd.install`; `uninstall(client, definitions)` removes definitions, with all
  objects of theirs, and waits until they are gone.
- `deploy(client, project)` applies every object of a `kubewright.manifests.Project`, in an order in which each finds
  what it needs; to do it again changes only what is different. What somebody else has made is not taken over:
  `NameTaken` says whose it is. A kind that the cluster does not serve (cert-manager's) raises `NotServed` before
  anything is written.
- `undeploy(client, project)` removes them: first the definitions, while the operator is still there to clean up after
  its objects, and then the rest. What is gone already is no error; what `deploy` has not made stays.

- `examine(client, operators, kinds)` says, `Finding` by `Finding`, whether a program will work on a cluster.

Each of them tells what it does as it goes, by a function that it is given. What takes too long raises
`StillThere`, which names what holds it up.
"""

from __future__ import annotations

from kubewright.deployment._deploy import ReportStep, deploy
from kubewright.deployment._examine import examine
from kubewright.deployment._finding import Finding
from kubewright.deployment._ownership import NameTaken, namespace_is_ours, object_title
from kubewright.deployment._remove import StillThere, undeploy, uninstall
from kubewright.deployment._serving import NotServed
from kubewright.deployment._webhooks import NOTHING_RUNS, runs_no_programs

__all__ = [
    "NOTHING_RUNS",
    "Finding",
    "NameTaken",
    "NotServed",
    "ReportStep",
    "StillThere",
    "deploy",
    "examine",
    "namespace_is_ours",
    "object_title",
    "runs_no_programs",
    "undeploy",
    "uninstall",
]
