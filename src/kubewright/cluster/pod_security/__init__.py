"""Pod Security admission: the Pod Security Standards, enforced by the labels of a namespace.

`PodSecurity` reads `pod-security.kubernetes.io/enforce`, `warn` and `audit`, and their `-version` labels. It rejects
pods that violate the enforced level, adds warnings for pods and for the templates of workloads, and records violations
in the audit log. When a namespace gets a stricter level, the response warns about its existing pods. There are no
exemptions.

`_checks.py` has the checks as pure functions, `_standards.py` the table of checks by level and version.
"""

from __future__ import annotations

from kubewright.cluster.pod_security._admission import PodSecurity

__all__ = ["PodSecurity"]
