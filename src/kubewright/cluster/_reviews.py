"""Questions that are asked by creating an object which is never stored: may I do this, and who am I?

Until there is RBAC everyone who is let in may do everything, as on a real server in the mode AlwaysAllow, and that is
what the answers say.
"""

from __future__ import annotations

from kubewright.cluster._answers import Answer
from kubewright.cluster._bodies import read_object
from kubewright.cluster._calls import Call
from kubewright.cluster._failures import unsupported
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._managing import manager_name_of, manager_of
from kubewright.cluster._state import State
from kubewright.cluster._views import view_of

__all__ = ["review"]


def review(state: State, call: Call) -> Answer:
    """POST of a review."""
    call.check_options()
    obj = read_object(state, call)
    kind = call.type.kind
    if kind.endswith("AccessReview"):
        obj = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
        obj["status"] = {"allowed": True}
    elif kind == "SelfSubjectRulesReview":
        everything: JSONObject = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        obj["status"] = {"resourceRules": [everything], "nonResourceRules": [paths], "incomplete": False}
    elif kind == "SelfSubjectReview":
        user: JSONObject = {"username": call.user.name}
        if call.user.uid:
            user["uid"] = call.user.uid
        user["groups"] = list(call.user.groups)
        obj["metadata"]["creationTimestamp"] = state.now()
        obj["status"] = {"userInfo": user}
    else:
        raise unsupported(f"{call.type.qualified}")
    return Answer(view_of(call).object(state, obj), status=201, warnings=call.warnings)
