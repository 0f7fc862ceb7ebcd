"""TokenRequest: the subresource `token` of service accounts."""

from __future__ import annotations

from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from kubewright.api import format_time
from kubewright.cluster._state import State
from kubewright.cluster.access._tokens import AUDIENCES
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, bad_request, invalid, not_found
from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._field_errors import invalid as invalid_field
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.registry._decoding import read_object
from kubewright.cluster.registry._field_managers import manager_name_of
from kubewright.cluster.registry._store import NAMESPACE_MISMATCH
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy

if TYPE_CHECKING:
    from kubewright.cluster.access._tokens import Tokens
    from kubewright.cluster.merge import FieldManager

__all__ = ["request_token"]

_GROUP: Final = "authentication.k8s.io"
_KIND: Final = "TokenRequest"
_DEFAULT_SECONDS: Final = 3600
_SHORTEST: Final = 600
_MAX_EXPIRATION_SECONDS: Final = 1 << 32
_BOUND: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
# the expirationSeconds that kubelets request; such a token is valid for a year, for clients that do not reload it
_KUBELET_SECONDS: Final = 3607
_YEAR_SECONDS: Final = 365 * 24 * 3600


class _Strategy(BuiltinStrategy):
    def default(self, obj: JSONObject) -> None:
        """Defaults the expiration to one hour."""
        if obj["spec"].get("expirationSeconds") is None:
            obj["spec"]["expirationSeconds"] = _DEFAULT_SECONDS


def _schema() -> Any:
    from kubewright.cluster.schema import builtin_schema

    return builtin_schema(f"{_GROUP}/v1", _KIND)


@cache
def _type() -> ResourceType:
    """Returns the type of the request body, which is not a resource."""
    return ResourceType(
        group=_GROUP,
        version="v1",
        kind=_KIND,
        plural="tokenrequests",
        singular="tokenrequest",
        namespaced=True,
        make_strategy=partial(_Strategy, f"{_GROUP}/v1", _KIND, f"tokenrequests.{_GROUP}"),
    )


@cache
def _manager() -> FieldManager:
    from kubewright.cluster.merge import FieldManager

    return FieldManager(f"{_GROUP}/v1", _KIND, schema_of=lambda _: _schema(), subresource="token")


def request_token(state: State, call: Call, tokens: Tokens) -> ApiResponse:
    """Serves the POST of a TokenRequest: issues a token for the service account in the path."""
    call.check_options()
    type_ = _type()
    asked = read_object(state, call, type_)
    if asked["metadata"].get("namespace", call.namespace) != call.namespace:
        raise bad_request(NAMESPACE_MISMATCH)
    name = asked["metadata"].get("name") or call.name
    if name != call.name:
        error = invalid_field("metadata.name", name, "must match the service account name if specified")
        raise invalid(type_, call.name, [error])
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        raise not_found(call.type, call.name)
    uid = found.decode()["metadata"]["uid"]
    asked = _manager().update(None, asked, manager_name_of(call), state.now())
    metadata = asked["metadata"]
    if metadata.get("uid") and metadata["uid"] != uid:
        text = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
        raise _conflict(_GROUP, _KIND, call.name, text)
    spec = asked["spec"] = {**asked["spec"], "audiences": asked["spec"].get("audiences") or list(AUDIENCES)}
    errors = _errors(spec)
    if errors:
        raise invalid(type_, "", errors)
    made: JSONObject = {"name": call.name, "namespace": call.namespace, "uid": uid, "creationTimestamp": state.now()}
    asked["metadata"] = {**metadata, **made}
    now = state.clock.now()
    claims = _claims(state, call, spec, uid, int(now.timestamp()))
    ends = format_time(now + timedelta(seconds=spec["expirationSeconds"]))
    asked["status"] = {"token": tokens.issue(claims), "expirationTimestamp": ends}
    return ApiResponse(output_format(call).encode_object(state, asked), status=201, warnings=call.warnings)


def _errors(spec: JSONObject) -> list[FieldError]:
    seconds = spec["expirationSeconds"]
    if seconds < _SHORTEST:
        text = "may not specify a duration less than 10 minutes"
    elif seconds > _MAX_EXPIRATION_SECONDS:
        text = "may not specify a duration larger than 2^32 seconds"
    else:
        return []
    return [invalid_field("spec.expirationSeconds", seconds, text)]


def _claims(state: State, call: Call, spec: JSONObject, uid: str, now: int) -> JSONObject:
    bound: JSONObject = {"namespace": call.namespace, "serviceaccount": {"name": call.name, "uid": uid}}
    seconds = spec["expirationSeconds"]
    if spec.get("boundObjectRef"):
        bound |= _bound(state, call, spec["boundObjectRef"])
        if "pod" in bound and seconds == _KUBELET_SECONDS and set(spec["audiences"]) <= set(AUDIENCES):
            bound["warnafter"] = now + seconds
            seconds = _YEAR_SECONDS
    return {
        "aud": spec["audiences"],
        "exp": now + seconds,
        "iat": now,
        "jti": state.uid(),
        "kubernetes.io": bound,
        "nbf": now,
        "sub": f"system:serviceaccount:{call.namespace}:{call.name}",
    }


def _bound(state: State, call: Call, reference: JSONObject) -> JSONObject:
    """Returns the claims for the object that the token is bound to."""
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    kind, name = reference.get("kind", ""), reference.get("name", "")
    plural = _BOUND.get(kind) if not group else None
    type_ = None if plural is None else state.types.find("", "v1", plural)
    if type_ is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    found = state.storage.get(type_.storage, call.namespace if type_.namespaced else "", name)
    if found is None:
        raise not_found(type_, name)
    obj = found.decode()
    if kind == "Pod" and obj["spec"].get("serviceAccountName") != call.name:
        text = f'cannot bind token for serviceaccount "{call.name}" to pod running with different serviceaccount name.'
        raise bad_request(text)
    uid = obj["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        text = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise _conflict(group, kind, name, text)
    made: JSONObject = {kind.lower(): {"name": name, "uid": uid}}
    if kind == "Pod" and (node := obj["spec"].get("nodeName")):
        made["node"] = {"name": node}
        if (running := state.storage.get("/nodes", "", node)) is not None:
            made["node"]["uid"] = running.decode()["metadata"]["uid"]
    return made


def _conflict(group: str, kind: str, name: str, problem: str) -> Failure:
    what = f"{kind}.{group}" if group else kind
    details = {"name": name, "group": group, "kind": kind}
    shown = {field: value for field, value in details.items() if value}
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {what} "{name}": {problem}', shown)
