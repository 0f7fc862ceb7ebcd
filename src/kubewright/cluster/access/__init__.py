"""Access control: authentication, impersonation and RBAC, as on the real server.

`Access.admit` runs once for each request, before the request is decoded. It finds the user (by bearer token and
impersonation headers) and rejects the request unless a rule allows it. Rules are read from the storage on each request,
so a changed role applies to the next request; a running watch continues. Every cluster with RBAC has the default roles
of the real server (`add_default_roles`): `cluster-admin`, `admin`, `edit`, `view` and the system roles.

Admission plugins check writes of roles and bindings for privilege escalation (`NoEscalation`), and objects created by
PUT or apply for the permission to create (`CreationByUpdate`). Reviews and token requests are served here as well.

Without RBAC every authenticated user may do everything; tokens, reviews and impersonation still work.
"""

from __future__ import annotations

from kubewright.cluster.access._access import Access, Admission
from kubewright.cluster.access._authorizer import Authorizer
from kubewright.cluster.access._bearer import subprotocols
from kubewright.cluster.access._bootstrap import add_default_roles
from kubewright.cluster.access._escalation import CreationByUpdate, NoEscalation
from kubewright.cluster.access._rbac import Decision
from kubewright.cluster.access._requests import AccessRequest, access_request_of, refusal
from kubewright.cluster.access._rules import EVERYTHING, Rule, describe, uncovered
from kubewright.cluster.access._tokens import Tokens
from kubewright.cluster.access._users import user_info, user_named

__all__ = [
    "EVERYTHING",
    "Access",
    "AccessRequest",
    "Admission",
    "Authorizer",
    "CreationByUpdate",
    "Decision",
    "NoEscalation",
    "Rule",
    "Tokens",
    "access_request_of",
    "add_default_roles",
    "describe",
    "refusal",
    "subprotocols",
    "uncovered",
    "user_info",
    "user_named",
]
