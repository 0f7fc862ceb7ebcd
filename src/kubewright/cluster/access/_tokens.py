"""Bearer tokens: signed tokens of service accounts, and static tokens of users.

A service account token is a JSON Web Token, signed with ES256 by a key that is created on first use and lives as long
as the cluster. It contains its audiences, its expiration, and the objects it depends on: the account, and the pod,
secret or node that it is bound to. `authenticate` checks all of them, so deleting one invalidates the token
immediately.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubewright.api import parse_time
from kubewright.cluster._state import State
from kubewright.cluster.access._requests import quoted_list
from kubewright.cluster.access._users import account_user
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._resources import JSONObject

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = ["AUDIENCES", "ISSUER", "InvalidToken", "Tokens"]

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
AUDIENCES: Final = (ISSUER,)
_LEGACY_ISSUER: Final = "kubernetes/serviceaccount"
_LEEWAY_SECONDS: Final = 60
_NUMBER_BYTES: Final = 32  # the size of each of the two integers of a signature
_EXTRA: Final = "authentication.kubernetes.io/"


_UNKNOWN: Final = "invalid bearer token"


class InvalidToken(Exception):
    """The token is invalid. The message says why and contains nothing of the token."""

    def __str__(self) -> str:
        """Returns the real server's message, which combines the errors of several authenticators."""
        own = super().__str__()
        return own if own == _UNKNOWN else f"[{_UNKNOWN}, {own}]"


class _Reference(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Bound(msgspec.Struct):
    namespace: str = ""
    serviceaccount: _Reference = msgspec.field(default_factory=_Reference)
    pod: _Reference | None = None
    secret: _Reference | None = None
    node: _Reference | None = None


class _Claims(msgspec.Struct):
    iss: str = ""
    sub: str = ""
    aud: list[str] = []
    exp: int | None = None
    nbf: int | None = None
    iat: int | None = None
    jti: str = ""
    bound: _Bound | None = msgspec.field(default=None, name="kubernetes.io")
    legacy_name: str = msgspec.field(default="", name="kubernetes.io/serviceaccount/service-account.name")
    legacy_uid: str = msgspec.field(default="", name="kubernetes.io/serviceaccount/service-account.uid")
    legacy_secret: str = msgspec.field(default="", name="kubernetes.io/serviceaccount/secret.name")
    legacy_namespace: str = msgspec.field(default="", name="kubernetes.io/serviceaccount/namespace")


class Tokens:
    """Issues and verifies tokens."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._private_key: EllipticCurvePrivateKey | None = None
        self._secrets: dict[str, User] = {}

    def add(self, token: str, user: User) -> None:
        """Registers a static token for a user."""
        self._secrets[token] = user

    def issue(self, claims: JSONObject, issuer: str = ISSUER) -> str:
        """Returns a signed token with these claims and the issuer."""
        header = {"alg": "ES256", "kid": self._key_id}
        text = f"{_text(_json(header))}.{_text(_json({**claims, 'iss': issuer}))}"
        return f"{text}.{_text(self._sign(text.encode()))}"

    def issue_legacy(self, namespace: str, account: str, uid: str, secret: str) -> str:
        """Returns a token for a Secret. It is valid while the Secret contains it and the account exists."""
        prefix = "kubernetes.io/serviceaccount"
        claims = {
            f"{prefix}/namespace": namespace,
            f"{prefix}/secret.name": secret,
            f"{prefix}/service-account.name": account,
            f"{prefix}/service-account.uid": uid,
            "sub": f"system:serviceaccount:{namespace}:{account}",
        }
        return self.issue(claims, issuer=_LEGACY_ISSUER)

    def authenticate(self, token: str, audiences: tuple[str, ...] = AUDIENCES) -> tuple[User, list[str]]:
        """Returns the user of a token and the audiences that it is valid for. Raises `InvalidToken`."""
        for secret, user in self._secrets.items():
            # A header may contain surrogates.
            if hmac.compare_digest(secret.encode(), token.encode(errors="surrogatepass")):
                return user, [each for each in audiences if each in AUDIENCES]
        claims = self._verified(token)
        meant = [each for each in audiences if each in (claims.aud or AUDIENCES)]
        if not meant:
            given, wanted = quoted_list(claims.aud), quoted_list(audiences)
            raise InvalidToken(f"token audiences {given} is invalid for the target audiences {wanted}")
        return (self._legacy_user(token, claims) if claims.bound is None else self._user(claims, claims.bound)), meant

    def keys(self) -> JSONObject:
        """Returns the public key for verifiers of tokens, as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        x, y = (_text(number.to_bytes(_NUMBER_BYTES, "big")) for number in (numbers.x, numbers.y))
        return {
            "keys": [{"use": "sig", "kty": "EC", "kid": self._key_id, "crv": "P-256", "alg": "ES256", "x": x, "y": y}]
        }

    # Signatures

    @property
    def _key(self) -> EllipticCurvePrivateKey:
        if self._private_key is None:
            from cryptography.hazmat.primitives.asymmetric import ec

            self._private_key = ec.generate_private_key(ec.SECP256R1())
        return self._private_key

    @property
    def _key_id(self) -> str:
        from cryptography.hazmat.primitives import serialization

        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _text(hashlib.sha256(public).digest())

    def _sign(self, content: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        numbers = utils.decode_dss_signature(self._key.sign(content, ec.ECDSA(hashes.SHA256())))
        return b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)

    def _verified(self, token: str) -> _Claims:
        """Returns the claims of a token that this server signed."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        content, _, signature = token.rpartition(".")
        try:
            header, payload = (msgspec.json.decode(_bytes(part), type=dict) for part in content.split("."))
            signed = _bytes(signature)
        except (ValueError, msgspec.DecodeError, RecursionError):
            raise InvalidToken(_UNKNOWN) from None
        if payload.get("iss") not in (ISSUER, _LEGACY_ISSUER):
            raise InvalidToken(_UNKNOWN)
        if header.get("kid") != self._key_id:
            raise InvalidToken("invalid signature, no keys found")
        half = len(signed) // 2
        numbers = int.from_bytes(signed[:half], "big"), int.from_bytes(signed[half:], "big")
        try:
            verifier = self._key.public_key()
            verifier.verify(utils.encode_dss_signature(*numbers), content.encode(), ec.ECDSA(hashes.SHA256()))
            return msgspec.convert(payload, _Claims)
        except (InvalidSignature, ValueError, msgspec.ValidationError, RecursionError):
            text = "go-jose/go-jose: error in cryptographic primitive"
            raise InvalidToken(text) from None

    # Objects that tokens depend on

    def _user(self, claims: _Claims, bound: _Bound) -> User:
        now = self._state.clock.now().timestamp()
        if claims.exp is not None and now - _LEEWAY_SECONDS > claims.exp:
            raise InvalidToken("service account token has expired")
        if claims.nbf is not None and now + _LEEWAY_SECONDS < claims.nbf:
            raise InvalidToken("service account token is not valid yet")
        namespace, account = bound.namespace, bound.serviceaccount
        self._check_account(namespace, account)
        extra = {f"{_EXTRA}credential-id": (f"JTI={claims.jti}",)} if claims.jti else {}
        if bound.secret is not None:
            self._check_bound("/secrets", namespace, bound.secret, "secret")
        if bound.pod is not None:
            self._check_bound("/pods", namespace, bound.pod, "pod")
            extra |= {f"{_EXTRA}pod-name": (bound.pod.name,), f"{_EXTRA}pod-uid": (bound.pod.uid,)}
        elif bound.node is not None:
            self._check_bound("/nodes", "", bound.node, "node")
        if bound.node is not None:
            extra[f"{_EXTRA}node-name"] = (bound.node.name,)
            if bound.node.uid:
                extra[f"{_EXTRA}node-uid"] = (bound.node.uid,)
        return account_user(namespace, account.name, account.uid, extra)

    def _check_account(self, namespace: str, account: _Reference) -> None:
        metadata = self._metadata("/serviceaccounts", namespace, account.name)
        if metadata is None:
            raise InvalidToken(f'serviceaccounts "{account.name}" not found')
        if metadata["uid"] != account.uid:
            text = f"service account UID ({metadata['uid']}) does not match claim ({account.uid})"
            raise InvalidToken(text)
        if self._ended(metadata):
            raise InvalidToken(f"service account {namespace}/{account.name} has been deleted")

    def _check_bound(self, storage: str, namespace: str, reference: _Reference, kind: str) -> None:
        metadata = self._metadata(storage, namespace, reference.name)
        if metadata is None or (metadata["uid"] == reference.uid and self._ended(metadata)):
            raise InvalidToken("service account token has been invalidated")
        if metadata["uid"] != reference.uid:
            claim = f"service account {kind} ref claim ({reference.uid})"
            raise InvalidToken(f"{kind} UID ({metadata['uid']}) does not match {claim}")

    def _metadata(self, storage: str, namespace: str, name: str) -> JSONObject | None:
        found = self._state.storage.get(storage, namespace, name)
        metadata: JSONObject | None = None if found is None else found.decode()["metadata"]
        return metadata

    def _ended(self, metadata: JSONObject) -> bool:
        """Returns whether the object was deleted, allowing for clock skew, and only waits for its finalizers."""
        deleted = metadata.get("deletionTimestamp")
        if deleted is None:
            return False
        return parse_time(deleted).timestamp() < self._state.clock.now().timestamp() - _LEEWAY_SECONDS

    def _legacy_user(self, token: str, claims: _Claims) -> User:
        """Returns the account of a token that a Secret holds. It is valid while the Secret contains it."""
        namespace, name = claims.legacy_namespace, claims.legacy_name
        found = self._state.storage.get("/secrets", namespace, claims.legacy_secret)
        secret = None if found is None else found.decode()
        if secret is None or "deletionTimestamp" in secret["metadata"]:
            raise InvalidToken("Token has been invalidated")
        held = base64.b64decode((secret.get("data") or {}).get("token", ""))
        if not hmac.compare_digest(held, token.encode()):
            raise InvalidToken("Token does not match server's copy")
        self._check_account(namespace, _Reference(name, claims.legacy_uid))
        return account_user(namespace, name, claims.legacy_uid)


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError("not base64") from None
