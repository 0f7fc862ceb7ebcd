"""LimitRanges and ResourceQuotas, enforced as the real server's admission plugins enforce them.

`LimitRanger` sets default requests and limits, and rejects pods and claims outside the allowed range. `QuotaAdmission`
rejects writes that would exceed a quota, based on the quota's `status`, and adds admitted writes to `status.used`.
`QuotaController` maintains that status: `hard` from the spec, `used` by counting. Without controllers `status.hard`
stays empty and nothing is enforced, as on a real kube-apiserver without kube-controller-manager.

Quotas count pods with their requests and limits, Services with their node ports and load balancers, claims with their
storage, and any other kind by `count/...`. The supported scopes are Terminating, NotTerminating, BestEffort,
NotBestEffort and PriorityClass; a quota with another scope is rejected.

`ClaimResize` lets claims grow only if their storage class allows it.
"""

from __future__ import annotations

from kubewright.cluster.limits._admission import QuotaAdmission
from kubewright.cluster.limits._claim_resize import ClaimResize
from kubewright.cluster.limits._controller import QuotaController
from kubewright.cluster.limits._limit_ranger import LimitRanger

__all__ = ["ClaimResize", "LimitRanger", "QuotaAdmission", "QuotaController"]
