"""Limits: LimitRanges and ResourceQuotas, enforced as the real server's admission plugins enforce them.

`LimitRanger` fills in what containers ask for and refuses pods and claims that ask for too little or too much.
`QuotaAdmission` refuses what would exceed a quota, by the quota's `status`, and adds to `status.used` what it lets in.
`QuotaController` keeps that status right: `hard` as the spec has it, `used` as it is counted. Without controllers
nobody sets `status.hard`, and nothing is enforced, as on a real kube-apiserver without kube-controller-manager.

Counted are pods with what they ask for, Services with their node ports and load balancers, claims with their storage,
and any other kind by `count/...`. The scopes are Terminating, NotTerminating, BestEffort, NotBestEffort and
PriorityClass; a quota with another one is refused.
"""

from __future__ import annotations

from kubewright.cluster.limits._admission import QuotaAdmission
from kubewright.cluster.limits._controller import QuotaController
from kubewright.cluster.limits._ranger import LimitRanger

__all__ = ["LimitRanger", "QuotaAdmission", "QuotaController"]
