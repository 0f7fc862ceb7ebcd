"""ID tokens: JSON Web Tokens that a provider has signed with RS256 or ES256.

A token is untrusted input until every check has passed. The algorithm comes from a fixed list, never from the token
alone: `none` and algorithms with a shared secret are rejected before any key is used.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

__all__ = ["Expected", "IDToken", "InvalidIDToken", "SigningKeys", "UnknownKey", "verify_id_token"]

_MAX_TOKEN_LENGTH: Final = 16_384
_LEEWAY_SECONDS: Final = 30.0
_MAX_KEYS: Final = 100
_RSA_BITS: Final = range(2_048, 8_193)  # longer keys take too long to verify
_RSA_EXPONENT: Final = 65_537
_P256_BYTES: Final = 32
_KEY_TYPES: Final = {"RS256": "RSA", "ES256": "EC"}


class InvalidIDToken(Exception):
    """The token is invalid. The message contains the reason and no part of the token."""


class UnknownKey(InvalidIDToken):
    """The token names a key that is not in the key set. The provider may have a new one."""


class _Header(msgspec.Struct):
    alg: str = ""
    kid: str | None = None
    crit: list[str] | None = None


class _Claims(msgspec.Struct):
    iss: str = ""
    sub: str = ""
    aud: str | list[str] = ""
    exp: float = 0.0
    iat: float = 0.0
    nbf: float = 0.0
    nonce: str | None = None
    azp: str | None = None


class _Key(msgspec.Struct):
    kty: str
    kid: str | None = None
    use: str = "sig"
    alg: str | None = None
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class _KeySet(msgspec.Struct):
    keys: list[msgspec.Raw]


@dataclass(frozen=True)
class Expected:
    """The values that a token must have. Without `nonce`, as after a renewal, a nonce is not required."""

    issuer: str
    audience: str
    nonce: str | None = None
    subject: str | None = None


@dataclass(frozen=True)
class IDToken:
    """The claims of a verified token that the console needs."""

    subject: str
    expires_at: float
    """Seconds since the epoch."""


class SigningKeys:
    """The public keys of a provider, from its JSON Web Key Set. Keys of other types and uses are ignored."""

    def __init__(self, keys: list[_Key]) -> None:
        self._keys = keys

    @classmethod
    def parse(cls, content: bytes) -> SigningKeys:
        """Reads a key set. Raises `ValueError` if it is not one."""
        try:
            found = msgspec.json.decode(content, type=_KeySet).keys[:_MAX_KEYS]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"the key set is invalid: {error}") from None
        return cls([*_readable(found)])

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, algorithm: str, key_id: str | None) -> RSAPublicKey | EllipticCurvePublicKey:
        """Returns the key of a token. Raises `UnknownKey` without one, and `InvalidIDToken` for one that is unsafe."""
        fitting = [
            key
            for key in self._keys
            if key.kty == _KEY_TYPES[algorithm] and key.use == "sig" and key.alg in (None, algorithm)
        ]
        named = [key for key in fitting if key_id is None or key.kid == key_id]
        if len(named) != 1:
            raise UnknownKey("the provider has no unambiguous key for it")
        try:
            return _rsa_key(named[0]) if algorithm == "RS256" else _ec_key(named[0])
        except ValueError as error:
            raise InvalidIDToken(f"the provider's key is unusable: {error}") from None


def _readable(found: list[msgspec.Raw]) -> Iterator[_Key]:
    for raw in found:
        try:
            yield msgspec.json.decode(raw, type=_Key)
        except msgspec.MsgspecError:
            continue  # another type of key, with other fields


def verify_id_token(token: str, keys: SigningKeys, expected: Expected, now: float) -> IDToken:
    """Returns the claims of a token that the provider issued for this client, and that is valid at `now`.

    Times may differ by 30 seconds. Raises `InvalidIDToken`, or `UnknownKey` if newer keys might help.
    """
    if len(token) > _MAX_TOKEN_LENGTH or not token.isascii() or token.count(".") != 2:
        raise InvalidIDToken("it is not a JSON Web Token")
    signed, _, signature = token.rpartition(".")
    head, _, payload = signed.partition(".")
    try:
        header = msgspec.json.decode(_decoded(head), type=_Header)
    except (ValueError, msgspec.MsgspecError):
        raise InvalidIDToken("its header is invalid") from None
    if header.alg not in _KEY_TYPES:
        raise InvalidIDToken("it is not signed with RS256 or ES256")
    if header.crit is not None:
        raise InvalidIDToken("its header has critical extensions")
    _verify_signature(keys, header, signed, signature)
    try:
        claims = msgspec.json.decode(_decoded(payload), type=_Claims)
    except (ValueError, msgspec.MsgspecError):
        raise InvalidIDToken("its claims are invalid") from None
    _check(claims, expected, now)
    return IDToken(claims.sub, claims.exp)


def _verify_signature(keys: SigningKeys, header: _Header, signed: str, signature: str) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

    key = keys.find(header.alg, header.kid)
    try:
        content = _decoded(signature)
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(content, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
            return
        if len(content) != 2 * _P256_BYTES:
            raise InvalidSignature
        numbers = (int.from_bytes(half, "big") for half in (content[:_P256_BYTES], content[_P256_BYTES:]))
        key.verify(utils.encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        raise InvalidIDToken("its signature is wrong") from None


def _check(claims: _Claims, expected: Expected, now: float) -> None:
    if claims.iss != expected.issuer:
        raise InvalidIDToken("it comes from another issuer")
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if expected.audience not in audiences:
        raise InvalidIDToken("it is for another client")
    if claims.azp != expected.audience and (claims.azp is not None or len(audiences) > 1):
        raise InvalidIDToken("it was issued to another client")
    if expected.nonce is not None and not _same(claims.nonce or "", expected.nonce):
        raise InvalidIDToken("it belongs to another sign-in")
    if not claims.sub or (expected.subject is not None and claims.sub != expected.subject):
        raise InvalidIDToken("it belongs to another user")
    if now >= claims.exp + _LEEWAY_SECONDS:
        raise InvalidIDToken("it has expired")
    if now < max(claims.iat, claims.nbf) - _LEEWAY_SECONDS:
        raise InvalidIDToken("it is not valid yet; are the clocks of this machine and the provider right?")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _rsa_key(key: _Key) -> RSAPublicKey:
    from cryptography.hazmat.primitives.asymmetric import rsa

    modulus, exponent = (int.from_bytes(_decoded(one), "big") for one in (key.n, key.e))
    if modulus.bit_length() not in _RSA_BITS or exponent != _RSA_EXPONENT:
        raise ValueError(f"expected 2,048 to 8,192 bits and the exponent {_RSA_EXPONENT}")
    return rsa.RSAPublicNumbers(exponent, modulus).public_key()


def _ec_key(key: _Key) -> EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    if key.crv != "P-256":
        raise ValueError("expected the curve P-256")
    x, y = (int.from_bytes(_decoded(one), "big") for one in (key.x, key.y))
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def _decoded(part: str) -> bytes:
    """Decodes base64url without padding. Raises `ValueError` for any other encoding."""
    if "=" in part:
        raise ValueError("padding")
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
