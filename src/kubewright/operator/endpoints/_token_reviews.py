"""`TokenReviews`: lets the API server authenticate tokens and authorize their users."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from kubewright.client import ApiError, Client, ConfigError, Forbidden, RetryPolicy
from kubewright.operator.access import for_reviewing
from kubewright.operator.endpoints._authorization import ALLOWED, Decision
from kubewright.rbac import Permission

__all__ = ["TokenReviews", "missing_permissions", "without_reviews"]

logger = logging.getLogger("kubewright.operator")

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 5.0
_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_OWN_ACCESS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_INVALID: Final = Decision(401, "the API server does not accept this token: it is invalid, or it has expired")


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class TokenReviews:
    """Decides by a TokenReview and a SubjectAccessReview, each sent once, with a timeout of 5 s.

    `operator` is the operator's name, for messages. The first failed review is logged, further ones only after one
    succeeded.
    """

    def __init__(self, client: Client, operator: str) -> None:
        # Neither retried nor rate limited: a flood of tokens must not use up the rate limit of the controllers.
        self._client = client.through(
            lambda transport: transport, retry=RetryPolicy(attempts=1), timeout=_TIMEOUT_SECONDS, rate_limited=False
        )
        self._operator = operator
        self._failing = False

    async def __call__(self, token: str, path: str) -> Decision:
        """Decides whether the user of a token may get a path."""
        try:
            decision = await self._decide(token, path)
        except Forbidden as error:
            return self._failed(without_reviews(self._operator), error)
        except (ApiError, ConfigError, msgspec.MsgspecError) as error:
            return self._failed(
                "the API server cannot review tokens now; the reason is in the log of the operator", error
            )
        if self._failing:
            self._failing = False
            logger.info("token reviews for %s succeed again", path)
        return decision

    async def _decide(self, token: str, path: str) -> Decision:
        who = (await _post(self._client, _TOKENS, "TokenReview", {"token": token}, _TokenReview)).status
        if not who.authenticated or not who.user.username:
            return _INVALID
        spec = {
            "user": who.user.username,
            "uid": who.user.uid,
            "groups": who.user.groups or [],
            "extra": who.user.extra or {},
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        if (await _post(self._client, _ACCESS, "SubjectAccessReview", spec, _AccessReview)).status.allowed:
            return ALLOWED
        role = "" if path.startswith("/debug/") else f", such as {self._operator}-metrics-reader"
        return Decision(
            403,
            f"{who.user.username} may not get {path}: bind it to a ClusterRole with the verb get and the"
            f" nonResourceURL {path}{role}",
        )

    def _failed(self, message: str, error: Exception) -> Decision:
        """Logs the reason, which the client does not see: it is not authenticated yet."""
        if not self._failing:
            logger.warning("token reviews fail: %s (%s)", error, message)
        self._failing = True
        return Decision(503, message)


async def missing_permissions(client: Client) -> Sequence[Permission]:
    """Returns the permissions for reviews that this account lacks; empty if the API server does not respond."""

    async def lacks(one: Permission) -> bool:
        attributes = {"group": one.group, "resource": one.resource, "verb": one.verb}
        with contextlib.suppress(ApiError, ConfigError, msgspec.MsgspecError):
            spec = {"resourceAttributes": attributes}
            found = await _post(client, _OWN_ACCESS, "SelfSubjectAccessReview", spec, _AccessReview)
            return not found.status.allowed
        return False

    wanted = for_reviewing()
    return [one for one, lacking in zip(wanted, await asyncio.gather(*map(lacks, wanted)), strict=True) if lacking]


def without_reviews(operator: str) -> str:
    """Returns the message about an operator that may not review tokens, with the fix."""
    wanted = " and ".join(str(one) for one in for_reviewing())
    return (
        f"/metrics answers 503: this account may not {wanted}. Bind a ClusterRole that allows both, such as the"
        f" generated {operator}-metrics-auth; or serve plain HTTP to every client: --no-metrics-secure"
    )


async def _post(client: Client, path: str, kind: str, spec: Mapping[str, Any], answer: type[T]) -> T:
    version = path.removeprefix("/apis/").rpartition("/")[0]
    body = {"apiVersion": version, "kind": kind, "spec": spec}
    return msgspec.json.decode(await client.request("POST", path, body=body), type=answer)
