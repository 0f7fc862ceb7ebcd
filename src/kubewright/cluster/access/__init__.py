"""Who may come in, and what they may do: authentication, impersonation and RBAC as the real server has them.

`Access` is asked once for each request, before anything else is known of it than its path: `admit` finds the user (by
a bearer token, by the headers of impersonation) and refuses what no rule allows. Rules are read from the storage as it
is at that moment, so a change of a role counts for the next request; a watch that has begun goes on. The defaults of
the real server are in every cluster with RBAC (`add_default_roles`): `cluster-admin`, `admin`, `edit`, `view` and those
of the system.

Writes of roles and bindings are checked against escalation by plugins of the admission chain (`NoEscalation`), creation
by PUT and apply by another (`CreationByUpdate`). Reviews and token requests are answered here, too.

Without RBAC everyone who is let in may do everything; tokens, reviews and impersonation work all the same.
"""

from __future__ import annotations

from kubewright.cluster.access._access import Access, Admission
from kubewright.cluster.access._bootstrap import add_default_roles
from kubewright.cluster.access._escalation import CreationByUpdate, NoEscalation
from kubewright.cluster.access._policies import Decision
from kubewright.cluster.access._questions import Question, question_of
from kubewright.cluster.access._tokens import Tokens
from kubewright.cluster.access._users import user_named

__all__ = [
    "Access",
    "Admission",
    "CreationByUpdate",
    "Decision",
    "NoEscalation",
    "Question",
    "Tokens",
    "add_default_roles",
    "question_of",
    "user_named",
]
