"""May this user do this? What a request asks for, in the authorizer's words, and the refusal when it may not be."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

import msgspec

from kubewright.client import Request
from kubewright.cluster._calls import User
from kubewright.cluster._failures import Failure
from kubewright.cluster._kinds import JSONObject
from kubewright.names import path_segment_problems

__all__ = ["Question", "forbidden_resource", "question_of", "quoted", "quoted_list", "refusal"]

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_VERBS_IN_PATHS: Final = ("watch", "proxy")
_FALSE: Final = ("false", "0")
_NAME: Final = re.compile(r"(?:^|,)metadata\.name==?([^,=!]+)(?=,|$)")
_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a user wants to do. `path` is set, and nothing else but the verb, for what is about no resource."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None

    @property
    def combined(self) -> str:
        """The resource as rules name it: with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def to(self, verb: str) -> Question:
        """The same with another verb."""
        return replace(self, verb=verb)


def question_of(request: Request, user: User) -> Question:
    """What a request asks for, by its path alone: whether there is such a resource is not looked at."""
    path = unquote(request.path)
    parts = path.strip("/").split("/")
    group = ""
    if parts[0] == "api":
        rest = parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        rest = []
    if not rest:
        return Question(user=user, verb=request.method.lower(), path=path)
    verb = _VERBS.get(request.method, "")
    if rest[0] in _VERBS_IN_PATHS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]  # of a namespace itself, too: a role in it may allow to read it
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _of_collection(request)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Question(
        user=user, verb=verb, group=group, resource=rest[0], subresource=subresource, namespace=namespace, name=name
    )


def _of_collection(request: Request) -> tuple[str, str]:
    """List or watch, and the name of the only object that is wanted, if the field selector names one."""
    query = dict(reversed(request.query))  # the first of each name counts
    verb = "watch" if "watch" in query and query["watch"].lower() not in _FALSE else "list"
    found = _NAME.search(query.get("fieldSelector", ""))
    return verb, found[1] if found is not None and not path_segment_problems(found[1]) else ""


def refusal(question: Question, reason: str = "") -> Failure:
    """403, word for word as the real server says it."""
    user, verb = quoted(question.user.name), question.verb
    if question.path is not None:
        text = f"User {user} cannot {verb} path {quoted(question.path)}"
    else:
        place = f"in the namespace {quoted(question.namespace)}" if question.namespace else "at the cluster scope"
        what = f"resource {quoted(question.combined)} in API group {quoted(question.group)}"
        text = f"User {user} cannot {verb} {what} {place}"
    text = text.translate(_HTML)
    return forbidden_resource(question.group, question.resource, question.name, f"{text}: {reason}" if reason else text)


def forbidden_resource(group: str, resource: str, name: str, problem: str) -> Failure:
    """403 about a resource that need not exist."""
    qualified = f"{resource}.{group}" if group else resource
    named = f"{qualified} {quoted(name)} is " if name else f"{qualified} is " if qualified else ""
    details: JSONObject = {"name": name, "group": group, "kind": resource}
    shown = {field: value for field, value in details.items() if value}
    return Failure(403, "Forbidden", f"{named}forbidden: {problem}", shown)


def quoted(text: str) -> str:
    """A text in quotes, as Go writes it."""
    return msgspec.json.encode(text).decode()


def quoted_list(texts: tuple[str, ...] | list[str]) -> str:
    """Several texts in quotes, as Go writes a list of them."""
    return f"[{' '.join(quoted(text) for text in texts)}]"
