"""`Access`: who a request comes from, as whom it acts, and whether it may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kubewright.client import Request
from kubewright.cluster._answers import Answer, encode
from kubewright.cluster._calls import Call, User
from kubewright.cluster._failures import unauthorized
from kubewright.cluster._state import State
from kubewright.cluster.access._impersonation import Impersonation, impersonates
from kubewright.cluster.access._policies import Decision, Policies, RoleRef, Rules
from kubewright.cluster.access._questions import Question, question_of, refusal
from kubewright.cluster.access._reviews import review
from kubewright.cluster.access._rules import EVERYTHING, Rule
from kubewright.cluster.access._token_requests import request_token
from kubewright.cluster.access._tokens import ISSUER, InvalidToken, Tokens
from kubewright.cluster.access._users import ANONYMOUS

__all__ = ["Access", "Admission"]

_ALLOWED: Final = Decision(True)
_FORBIDDEN: Final = Decision(False)
_OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")


_ISSUER: Final = {
    "issuer": ISSUER,
    "jwks_uri": f"{ISSUER}/openid/v1/jwks",
    "response_types_supported": ["id_token"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["ES256"],
}


@dataclass(slots=True)
class Admission:
    """How a request came in, for the audit log: filled in as far as it came."""

    user: User | None = None
    """As whom it was authenticated."""
    impersonated: User | None = None
    constraint: str = ""
    """The verb that allows the impersonation, if it is a constrained one."""
    decision: Decision | None = None


class Access:
    """Authentication by token, impersonation and authorization of one server.

    Without `rbac` everyone who is let in may do everything, as on a real server in the mode AlwaysAllow, and that is
    what reviews say; then only health and version are open to those whom nobody knows.
    """

    def __init__(self, state: State, *, rbac: bool) -> None:
        self._state = state
        self.rbac = rbac
        self.tokens = Tokens(state)
        self._policies = Policies(state)
        self._impersonation = Impersonation(self.check)

    # Who

    def authenticate(self, request: Request) -> User:
        """The user of a request that came without a certificate: by its token, or anonymous. Raises 401."""
        user = self._bearer(request)
        if user is not None:
            return user
        if self.rbac or request.path.startswith(_OPEN_PATHS):
            return ANONYMOUS
        raise unauthorized()

    def _bearer(self, request: Request) -> User | None:
        given = next((value for name, value in request.headers.items() if name.lower() == "authorization"), "")
        scheme, _, token = given.strip().partition(" ")
        token = token.partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return None
        try:
            return self.tokens.authenticate(token)[0]
        except InvalidToken:
            raise unauthorized() from None

    def admit(self, request: Request, user: User, notes: Admission) -> User:
        """The user for whom a request is served: that of its token, if it has one, or the one it impersonates.

        Raises the refusal: 401 for a token that nobody knows, 403 for what may not be.
        """
        notes.user = user = self._bearer(request) or user
        notes.decision = _FORBIDDEN
        if impersonates(request):
            impersonated, mode = self._impersonation.user_of(request, user)
            if impersonated is not user:
                notes.impersonated, user = impersonated, impersonated
                notes.constraint = f"impersonate:{mode}" if mode else ""
        notes.decision = _ALLOWED
        if self.rbac:
            question = question_of(request, user)
            notes.decision = self._policies.decide(question)
            if not notes.decision.allowed:
                raise refusal(question, notes.decision.reason)
        return user

    # Whether

    def decide(self, question: Question) -> Decision:
        """Whether something may be done, and why."""
        return self._policies.decide(question) if self.rbac else _ALLOWED

    def check(self, question: Question) -> None:
        """Raise the refusal of what may not be done."""
        decision = self.decide(question)
        if not decision.allowed:
            raise refusal(question, decision.reason)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """All that a user may do in a namespace."""
        return self._policies.rules_for(user, namespace) if self.rbac else Rules(list(EVERYTHING), [])

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """What a role allows; None when there is none of that name."""
        return self._policies.rules_of(ref, namespace)

    # Its resources

    def document(self, request: Request) -> Answer | None:
        """What whoever wants to verify tokens reads: who issues them, and the keys. None for any other path."""
        if request.method not in ("GET", "HEAD"):
            return None
        if request.path == "/openid/v1/jwks":
            return Answer(encode(self.tokens.keys()), content_type="application/jwk-set+json")
        if request.path == "/.well-known/openid-configuration":
            return Answer(encode(_ISSUER))
        return None

    async def override(self, state: State, call: Call) -> Answer | None:
        """Serves reviews and token requests."""
        if call.subresource == "token":
            return request_token(state, call, self.tokens)
        if call.verb == "create" and call.type.kind.endswith("Review") and "get" not in call.type.verbs:
            return review(state, call, self)
        return None

    def now(self) -> str:
        """The time, as objects carry it."""
        return self._state.now()
