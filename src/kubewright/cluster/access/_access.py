"""`Access`: authentication, impersonation and authorization of requests."""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.client import Request
from kubewright.cluster._state import State
from kubewright.cluster.access._authorizer import ALLOWED, Authorizer
from kubewright.cluster.access._bearer import header_token, subprotocol_token
from kubewright.cluster.access._impersonation import Impersonation, impersonates
from kubewright.cluster.access._rbac import Decision
from kubewright.cluster.access._requests import access_request_of, refusal
from kubewright.cluster.access._reviews import review
from kubewright.cluster.access._token_requests import request_token
from kubewright.cluster.access._tokens import ISSUER, InvalidToken, Tokens
from kubewright.cluster.access._users import ANONYMOUS
from kubewright.cluster.machinery._calls import Call, User
from kubewright.cluster.machinery._failures import unauthorized
from kubewright.cluster.machinery._responses import ApiResponse, encode

__all__ = ["Access", "Admission"]

_FORBIDDEN: Final = Decision(False)
_OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")
_ISSUER: Final = {
    "issuer": ISSUER,
    "jwks_uri": f"{ISSUER}/openid/v1/jwks",
    "response_types_supported": ["id_token"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["ES256"],
}


class Admission(msgspec.Struct):
    """The result of access control, for the audit log. A rejected request leaves the later fields empty."""

    user: User | None = None
    """The authenticated user."""
    impersonated: User | None = None
    constraint: str = ""
    """The verb that allows a constrained impersonation."""
    decision: Decision | None = None


class Access:
    """Authentication by token, impersonation and authorization of one server.

    Without `rbac` every authenticated user may do everything, and reviews say so; anonymous users then only reach the
    health and version paths.
    """

    def __init__(self, state: State, *, rbac: bool) -> None:
        self.authorizer = Authorizer(state, rbac=rbac)
        self.tokens = Tokens(state)
        self._impersonation = Impersonation(self.authorizer.check)

    def authenticate(self, request: Request) -> User:
        """Returns the user of a request without a client certificate: by token, or anonymous. Raises a 401."""
        user = self._bearer(request)
        if user is not None:
            return user
        if self.authorizer.rbac or request.path.startswith(_OPEN_PATHS):
            return ANONYMOUS
        raise unauthorized()

    def _bearer(self, request: Request) -> User | None:
        """Returns the user of the first valid token; None without a token. Raises a 401 if all are invalid."""
        invalid = False
        for token_of in (header_token, subprotocol_token):
            try:
                if token := token_of(request):
                    return self.tokens.authenticate(token)[0]
            except InvalidToken:
                invalid = True
        if invalid:
            raise unauthorized()
        return None

    def admit(self, request: Request, user: User, notes: Admission) -> User:
        """Returns the user that a request acts as: the impersonated user, that of its token, or `user`.

        Raises a 401 for an invalid token and a 403 for a request that is not allowed.
        """
        notes.user = user = self._bearer(request) or user
        notes.decision = _FORBIDDEN
        if impersonates(request):
            impersonated, mode = self._impersonation.user_of(request, user)
            if impersonated is not user:
                notes.impersonated, user = impersonated, impersonated
                notes.constraint = f"impersonate:{mode}" if mode else ""
        notes.decision = ALLOWED
        if self.authorizer.rbac:
            access_request = access_request_of(request, user)
            notes.decision = self.authorizer.decide(access_request)
            if not notes.decision.allowed:
                raise refusal(access_request, notes.decision.reason)
        return user

    def document(self, request: Request) -> ApiResponse | None:
        """Serves the OpenID documents for verifiers of tokens: issuer and keys. None for any other path."""
        if request.method not in ("GET", "HEAD"):
            return None
        if request.path == "/openid/v1/jwks":
            return ApiResponse(encode(self.tokens.keys()), content_type="application/jwk-set+json")
        if request.path == "/.well-known/openid-configuration":
            return ApiResponse(encode(_ISSUER))
        return None

    async def override(self, state: State, call: Call) -> ApiResponse | None:
        """Serves reviews and token requests."""
        if call.subresource == "token":
            return request_token(state, call, self.tokens)
        if call.verb == "create" and call.type.kind.endswith("Review") and "get" not in call.type.verbs:
            return review(state, call, self.authorizer, self.tokens)
        return None
